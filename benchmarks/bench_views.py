"""Questions about a large fleet.

    python -m benchmarks.bench_views [--scale 0.1]

3,500 clusters. `explain` of one application, `simulate` of one Placement and `diff` read a
repository of 100 scorers and 200 applications, and 350,000 scores from the state branch. `status`
and `doctor` ask a hub of 300 scorers, 300 Placements and 1,050,000 scores of 1.2 kB, which is a
process of its own. Everything is made here. Seconds are those of the clock; where other programs
share the machine, the CPU column is what counts. Exits with 1 when a target is missed.
"""

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain
from multiprocessing import Process
from pathlib import Path

from benchmarks import fleet
from benchmarks.bench_reconciler import wide_hub
from benchmarks.measure import Figure, best, options, shown
from dsf_wire.dimension import LABELS
from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.hub.raw_results import ByCluster, ClusterResults, RawResult
from gitops_dsf.hub.scores import PublishedScore, score_of
from gitops_dsf.hub.snapshots.file_format import files
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from tests.support.agent.hub import kubeconfig

PROGRAM = (sys.executable, "-m", "gitops_dsf")
CLUSTERS = 3500
SCORERS = 100
APPLICATIONS = 200
HUB_SCORERS = 300
HUB_APPLICATIONS = 300
NOW = datetime.now(UTC).replace(microsecond=0)


def git(directory: Path, *arguments: str) -> None:
    # A machine that builds a release may have no identity, without which git does not commit.
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True)


def build(
    root: Path,
    clusters: int,
    scorers: int,
    *,
    applications: int = APPLICATIONS,
    paced: bool = False,
    raw: bool = False,
) -> None:
    """`raw`: whether the state branch has raw scores, and every scorer gets another range."""
    rng = random.Random(1)
    names = [fleet.cluster_name(number) for number in range(clusters)]
    fleet.write(root, clusters=clusters, scorers=scorers, applications=applications, paced=paced)
    git(root, "init", "--quiet", "--initial-branch", "state")
    state_files = state(root, names, scorers, applications, rng, raw=raw)
    git(root, "add", *state_files)
    git(root, "commit", "--quiet", "--message", "state")
    # They must be in no other branch.
    for path in state_files:
        (root / path).unlink()
    for folder in {Path(path).parent for path in state_files} - {Path()}:
        (root / folder).rmdir()
    # The state branch has no history in common with main, as on a forge. A new branch without a
    # history begins with the index of the old one, which is emptied.
    git(root, "checkout", "--quiet", "--orphan", "main")
    git(root, "rm", "-r", "--quiet", "--cached", ".")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "base")
    # The change: one scorer with another range, one with another query, and one cluster less.
    changes = [(0, "max: 1\n", "max: 0.6\n"), (2, "[5m]", "[10m]")]
    # Raw scores are used where the scale of a scorer changes.
    if raw:
        changes = [(number, "max: 1\n", "max: 0.6\n") for number in range(scorers)]
    for number, before, after in changes:
        changed = root / f"scorers/{fleet.scorer_name(number)}.yaml"
        changed.write_text(changed.read_text().replace(before, after))
    # The fleet would not be valid if a mask named a cluster that is gone.
    masked = {cluster for cluster, _ in fleet.masks(clusters, scorers)}
    removed = next(name for name in reversed(names) if name not in masked)
    # With `git rm`, because a file that is only deleted counts as lost.
    git(root, "rm", "--quiet", f"clusters/{removed}.yaml")


def state(
    root: Path,
    names: list[str],
    scorers: int,
    applications: int,
    rng: random.Random,
    *,
    raw: bool = False,
) -> list[str]:
    """The snapshot as the reconciler writes it: one line per score."""
    until = NOW + timedelta(hours=1)
    published: dict[str, dict[str, PublishedScore]] = {}
    for number in range(scorers):
        resource = fleet.scorer_name(number)
        published[resource] = {}
        for name in names:
            score = score_of({resource: rng.randint(1, 100)}, valid_until=until)
            published[resource][name] = score
    decisions: list[PlacementDecision] = []
    for number in range(applications):
        decision = decision_of(
            namespace="argocd",
            name=f"app-{number:04}-decision-1",
            placement=f"app-{number:04}",
            clusters=sorted(rng.sample(names, 3)),
        )
        decisions.append(decision)
    snapshot = Snapshot(
        origin="",
        observed_at=NOW,
        scores=published,
        raw_scores=_raw_scores(names, scorers, rng) if raw else {},
        decisions=tuple(decisions),
    )
    paths: list[str] = []
    for path, content in files(snapshot, hub="hub"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_bytes(content)
        paths.append(path)
    return paths


def _raw_scores(names: list[str], scorers: int, rng: random.Random) -> dict[str, ByCluster]:
    """One result of each scorer on each cluster, a minute old."""
    measured = NOW.timestamp() - 60
    labels = ("",) * len(LABELS)
    raw_scores: dict[str, ByCluster] = {}
    for number in range(scorers):
        by_cluster: dict[str, ClusterResults] = {}
        for name in names:
            value = rng.random()
            result = RawResult(labels=labels, low=value, high=value)
            by_cluster[name] = ClusterResults(results=(result,), measured=measured)
        raw_scores[fleet.scorer_name(number)] = by_cluster
    return raw_scores


def build_apart(
    root: Path,
    clusters: int,
    scorers: int,
    *,
    applications: int = APPLICATIONS,
    raw: bool = False,
) -> None:
    """`build` in a process of its own: a program's peak is never counted below its parent's."""
    sizes = {"applications": applications, "raw": raw}
    maker = Process(target=build, args=(root, clusters, scorers), kwargs=sizes)
    maker.start()
    maker.join()


def repository(scale: float, repeats: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as scratch:
        build_apart(Path(scratch), int(CLUSTERS * scale), SCORERS)
        source = [scratch, "--state-branch", "state"]
        simulate = [*PROGRAM, "simulate", *source]
        cost = best(
            [*PROGRAM, "explain", "app-0007", fleet.cluster_name(11), *source], repeats=repeats
        )
        yield from cost.figures("explain of one application", seconds=1.2, megabytes=110)
        cost = best([*simulate, "--placement", "app-0007"], repeats=repeats)
        yield from cost.figures("simulate of one Placement", seconds=1.2, megabytes=110)
        yield from best(simulate, repeats=repeats).figures("simulate of all Placements")
        cost = best(
            [*PROGRAM, "diff", *source, "--base", "main", "-o", "markdown"], repeats=repeats
        )
        yield from cost.figures("diff against the base", seconds=4, megabytes=400)


def hub(scale: float, repeats: int) -> Iterator[Figure]:
    clusters = int(CLUSTERS * scale)
    with (
        tempfile.TemporaryDirectory() as scratch,
        wide_hub(clusters, HUB_SCORERS, HUB_APPLICATIONS) as wide,
    ):
        file = kubeconfig(Path(scratch) / "kubeconfig", server=wide.url)
        status = [*PROGRAM, "status", "--kubeconfig", str(file)]
        cost = best(status, repeats=repeats)
        yield from cost.figures("status", seconds=10, megabytes=400)
        # As benchmarks.widehub names it.
        cluster = f"cluster-{clusters // 2:04}.region-{clusters // 2 % 7}"
        cost = best([*status, "--cluster", cluster], repeats=repeats)
        yield from cost.figures("status of one cluster")
        cost = best([*status, "--scorer", "scorer-007-headroom"], repeats=repeats)
        yield from cost.figures("status of one scorer")
        # It ends with 1, because it finds errors, and `best` takes that for a run that failed. So
        # its exit code is thrown away.
        code = (
            f"from gitops_dsf.cli.main import main; main(['doctor', '--kubeconfig', {str(file)!r}])"
        )
        cost = best([sys.executable, "-c", code], repeats=repeats)
        yield from cost.figures("doctor", seconds=12, megabytes=400)


def main() -> int:
    sizes = vars(options(__doc__, scale=1.0, repeats=3))
    return shown(chain(repository(**sizes), hub(**sizes)))


if __name__ == "__main__":
    sys.exit(main())
