"""Questions about a large fleet: `python -m benchmarks.bench_views [--only repository|hub] [--scale 0.1]`.

3,500 clusters. `explain` of one application, `simulate` of one Placement and `diff` read a repository of 100
scorers and 200 applications, and 350,000 scores with raw ones from the state branch. `status` and `doctor`
ask a hub of 300 scorers, 300 Placements and 1,050,000 scores of 1.2 kB in pages of 500, which is a process of
its own. Everything is made here. Seconds are those of the clock; where other programs share the machine, the
CPU column is what counts. Exits with 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks import fleet
from benchmarks.measure import HEAD, Row, best

ROOT = Path(__file__).resolve().parents[1]
CLUSTERS, SCORERS, APPLICATIONS = 3500, 100, 200
HUB_SCORERS, HUB_APPLICATIONS = 300, 300
NOW = datetime.now(UTC).replace(microsecond=0)


def git(directory: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True)


def build(root: Path, clusters: int, scorers: int) -> None:
    rng = random.Random(1)
    names = [fleet.cluster_name(number) for number in range(clusters)]
    fleet.write(root, clusters=clusters, scorers=scorers, applications=APPLICATIONS)
    git(root, "init", "--quiet", "--initial-branch", "state")
    written = state(root, names, scorers, rng)
    git(root, "add", *written)
    git(root, "commit", "--quiet", "--message", "state")
    for path in written:
        (root / path).unlink()
    (root / "scores").rmdir()
    git(root, "checkout", "--quiet", "--orphan", "main")
    git(root, "rm", "-r", "--quiet", "--cached", ".")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "base")
    # The change: one scorer with another range, one with another query, and one cluster less.
    for number, before, after in ((0, "max: 1\n", "max: 0.6\n"), (2, "[5m]", "[10m]")):
        changed = root / f"scorers/{fleet.scorer_name(number)}.yaml"
        changed.write_text(changed.read_text().replace(before, after))
    (root / f"clusters/{names[-1]}.yaml").unlink()


def state(root: Path, names: list[str], scorers: int, rng: random.Random) -> list[str]:
    """The snapshot as the reconciler writes it: one line per score."""
    head = '{"apiVersion": "gitops-dsf.io/v1alpha1",\n"kind": "HubSnapshot",\n"metadata": {"name":"hub"}'
    until = (NOW + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    files = {"snapshot.json": f'{head},\n"observedAt": "{NOW.strftime("%Y-%m-%dT%H:%M:%SZ")}"}}\n'}
    for number in range(scorers):
        resource = fleet.scorer_name(number)
        rows = []
        for name in names:
            raw = round(rng.random(), 4)
            rows.append(
                f'"{name}":'
                f' {{"values":{{"{resource}":{int(1 + raw * 99)}}},"validUntil":"{until}","raw":{{"{resource}":{raw}}}}}'  # noqa: E501
            )
        files[f"scores/{resource}.json"] = (
            f'{head},\n"scores": {{"{resource}": {{\n' + ",\n".join(rows) + "\n}}}\n"
        )
    decisions = [
        {
            "namespace": "argocd",
            "name": f"app-{n:04}-decision-1",
            "placement": f"app-{n:04}",
            "clusters": sorted(rng.sample(names, 3)),
        }
        for n in range(APPLICATIONS)
    ]
    files["decisions.json"] = f'{head},\n"decisions": {json.dumps(decisions)}}}\n'
    for path, text in files.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    return list(files)


def repository(scale: float, repeats: int) -> Iterator[Row]:
    clusters, scorers = int(CLUSTERS * scale), SCORERS
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        build(root, clusters, scorers)
        source = [str(root), "--state-branch", "state"]
        program = [sys.executable, "-m", "gitops_dsf"]
        one = best([*program, "explain", "app-0007", fleet.cluster_name(11), *source], repeats=repeats)
        yield Row(what="explain of one application", cost=one, seconds=1.5, megabytes=200)
        placed = best([*program, "simulate", *source, "--placement", "app-0007"], repeats=repeats)
        yield Row(what="simulate of one Placement", cost=placed, seconds=1.5, megabytes=200)
        yield Row(
            what="simulate of all Placements", cost=best([*program, "simulate", *source], repeats=repeats)
        )
        diff = best([*program, "diff", *source, "--base", "main", "-o", "markdown"], repeats=repeats)
        yield Row(what="diff against the base", cost=diff, seconds=6.0, megabytes=400)


@contextmanager
def served(clusters: int, scorers: int) -> Iterator[str]:
    sizes = [str(number) for number in (clusters, scorers, HUB_APPLICATIONS)]
    command = [sys.executable, "-m", "benchmarks.viewhub", *sizes]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def hub(scale: float, repeats: int) -> Iterator[Row]:
    clusters = int(CLUSTERS * scale)
    with tempfile.TemporaryDirectory() as scratch, served(clusters, HUB_SCORERS) as url:
        entry = {"clusters": {"server": url}, "users": {}, "contexts": {"cluster": "hub", "user": "hub"}}
        content = {kind: [{"name": "hub", kind.removesuffix("s"): part}] for kind, part in entry.items()}
        kubeconfig = Path(scratch) / "kubeconfig"
        kubeconfig.write_text(
            json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "hub", **content})
        )
        where = ["--context", "hub", "--kubeconfig", str(kubeconfig)]
        program = [sys.executable, "-m", "gitops_dsf"]
        yield Row(
            what="status",
            cost=best([*program, "status", *where], repeats=repeats),
            seconds=12.0,
            megabytes=400,
        )
        one = f"cluster-{clusters // 2:04}.region-{clusters // 2 % 7}"
        yield Row(
            what="status of one cluster",
            cost=best([*program, "status", *where, "--cluster", one], repeats=repeats),
        )
        name = "scorer-007-headroom"
        yield Row(
            what="status of one scorer",
            cost=best([*program, "status", *where, "--scorer", name], repeats=repeats),
        )
        checks = [sys.executable, "-c", f"from gitops_dsf.cli.main import main; main(['doctor', *{where!r}])"]
        yield Row(what="doctor", cost=best(checks, repeats=repeats), seconds=12.0, megabytes=400)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the clusters, for a quick look")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=("repository", "hub"))
    args = parser.parse_args()
    print(HEAD)
    missed = False
    for name, rows in (("repository", repository), ("hub", hub)):
        if args.only in {None, name}:
            for row in rows(args.scale, args.repeats):
                print(row.line(), flush=True)
                missed = missed or row.missed
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
