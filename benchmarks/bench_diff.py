"""How long a preview takes: `python -m benchmarks.bench_diff`.

Target: 2,000 clusters in at most 4 s, as a pipeline runs it: a process of its own, both sides rendered, the
base from git objects, a snapshot with raw scores from the state branch, every Placement simulated twice. The
floor is `git ls-tree` of the same commit. Exits with 1 when the target is missed.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.scores import score_of
from gitops_dsf.hub.snapshot import Snapshot
from gitops_dsf.hub.snapshotfile import files

REGIONS = ("eu", "us", "ap")
NOW = datetime.now(UTC).replace(microsecond=0)

SETTINGS = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: FleetRepository
metadata: {name: bench}
spec:
  git: {url: https://git.example.com/fleet.git, targetRevision: main}
  output: {shards: 8}
"""

CLUSTER_SET = """\
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: fleet}
spec: {clusterSelector: {selectorType: ExclusiveClusterSetLabel}}
"""


def cluster(name: str, region: str) -> str:
    return f"""\
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: {name}
  labels: {{cluster.open-cluster-management.io/clusterset: fleet, region: {region}}}
spec: {{hubAcceptsClient: true}}
"""


def scorer(number: int, maximum: int, window: str) -> str:
    return f"""\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {{name: score-{number:02}}}
spec:
  description: bench
  configURL: http://api.scoring.svc:8000/config
  configSyncMode: None
  source:
    type: Prometheus
    host: http://prometheus.monitoring.svc:9090
    params: {{query: "avg(rate(metric_{number}[{window}]))", range: 3600, step: 60}}
  scoring:
    host: http://api.scoring.svc:8000
    params: {{name: score-{number:02}, interval: 60}}
  scoreRange: {{min: 0, max: {maximum}}}
"""


def application(number: int, scorers: int) -> str:
    first, second = number % scorers, (number * 7 + 3) % scorers
    region = REGIONS[number % len(REGIONS)]
    return f"""\
---
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredApplication
metadata: {{name: app-{number:03}}}
spec:
  application:
    source: {{repoURL: https://git.example.com/apps.git, path: app-{number}, targetRevision: main}}
    destinationNamespace: app-{number}
  placement: {{numberOfClusters: 3, clusterSets: [fleet], clusterSelector: {{matchLabels: {{region: {region}}}}}}}
  scores: [{{scorer: score-{first:02}}}{f", {{scorer: score-{second:02}}}" if second != first else ""}]
"""  # noqa: E501


def git(directory: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True)


def build(root: Path, *, clusters: int, scorers: int, applications: int) -> None:
    rng = random.Random(1)
    names = [f"cluster-{number:05}" for number in range(clusters)]
    for folder in ("clusters", "scorers", "apps"):
        (root / folder).mkdir()
    (root / "gitops-dsf.yaml").write_text(SETTINGS)
    (root / "clusters/sets.yaml").write_text(CLUSTER_SET)
    for name in names:
        (root / f"clusters/{name}.yaml").write_text(cluster(name, rng.choice(REGIONS)))
    for number in range(scorers):
        (root / f"scorers/score-{number:02}.yaml").write_text(scorer(number, 100, "5m"))
    (root / "apps/all.yaml").write_text(
        "".join(application(number, scorers) for number in range(applications))
    )
    git(root, "init", "--quiet", "--initial-branch", "state")
    write_state(root, names, scorers, applications, rng)
    git(root, "checkout", "--quiet", "--orphan", "main")
    git(root, "rm", "-r", "--quiet", "--cached", ".")
    git(root, "add", "gitops-dsf.yaml", "clusters", "scorers", "apps")
    git(root, "commit", "--quiet", "--message", "base")
    # The change: one scorer with another range, one with another query, and one cluster less.
    (root / "scorers/score-00.yaml").write_text(scorer(0, 60, "5m"))
    (root / "scorers/score-01.yaml").write_text(scorer(1, 100, "10m"))
    (root / f"clusters/{names[-1]}.yaml").unlink()


def write_state(root: Path, names: list[str], scorers: int, applications: int, rng: random.Random) -> None:
    until = NOW + timedelta(minutes=15)
    scores = {}
    for number in range(scorers):
        resource = f"score-{number:02}"
        raws = {name: round(rng.uniform(0, 100), 2) for name in names}
        scores[resource] = {
            name: score_of({resource: int(1 + raw * 0.99)}, raw={resource: raw}, valid_until=until)
            for name, raw in raws.items()
        }
    decisions = tuple(
        decision_of(
            namespace="argocd",
            name=f"app-{number:03}-decision-1",
            placement=f"app-{number:03}",
            clusters=tuple(rng.sample(names, 3)),
        )
        for number in range(applications)
    )
    snapshot = Snapshot(origin="bench", observed_at=NOW, scores=scores, decisions=decisions)
    for path, content in files(snapshot, hub="bench").items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_bytes(content)
        git(root, "add", path)
    git(root, "commit", "--quiet", "--message", "state")
    for path in files(snapshot, hub="bench"):
        (root / path).unlink()


def measured(command: list[str], root: Path, repeats: int) -> float:
    """Median seconds of a command."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        done = subprocess.run(command, cwd=root, capture_output=True, check=False)
        taken.append(time.perf_counter() - start)
        assert done.returncode == 0, done.stderr.decode()
    return statistics.median(taken)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the sizes, for a quick look")
    parser.add_argument("--scorers", type=int, default=10)
    parser.add_argument("--applications", type=int, default=100)
    args = parser.parse_args()
    clusters = int(2000 * args.scale)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        build(root, clusters=clusters, scorers=args.scorers, applications=args.applications)
        diff = [
            sys.executable,
            "-m",
            "gitops_dsf",
            "diff",
            "--base",
            "main",
            "--state-branch",
            "state",
            "--format",
            "markdown",
        ]
        seconds = measured(diff, root, 3)
        base = measured(["git", "ls-tree", "-r", "main"], root, 3)
    print(
        f"{clusters} clusters, {args.scorers} scorers, {args.applications} applications, snapshot from git:"
        f" {seconds:.2f} s (target 4 s)"
    )
    print(f"floor, git ls-tree: {base:.3f} s; ratio {seconds / base:.0f}")
    return int(seconds > 4.0)


if __name__ == "__main__":
    sys.exit(main())
