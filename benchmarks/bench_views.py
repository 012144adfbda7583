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

from benchmarks.measure import HEAD, Row, best

ROOT = Path(__file__).resolve().parents[1]
CLUSTERS, SCORERS, APPLICATIONS = 3500, 100, 200
HUB_SCORERS, HUB_APPLICATIONS = 300, 300
NOW = datetime.now(UTC).replace(microsecond=0)
REGIONS = ("eu", "us", "ap")

SETTINGS = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: FleetRepository
metadata: {name: bench}
spec:
  git: {url: https://git.example.com/fleet.git, targetRevision: main}
  output: {shards: 64}
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


def build(root: Path, clusters: int, scorers: int) -> None:
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
        "".join(application(number, scorers) for number in range(APPLICATIONS))
    )
    git(root, "init", "--quiet", "--initial-branch", "state")
    written = state(root, names, scorers, rng)
    git(root, "add", *written)
    git(root, "commit", "--quiet", "--message", "state")
    for path in written:
        (root / path).unlink()
    (root / "scores").rmdir()
    git(root, "checkout", "--quiet", "--orphan", "main")
    git(root, "rm", "-r", "--quiet", "--cached", ".")
    git(root, "add", "gitops-dsf.yaml", "clusters", "scorers", "apps")
    git(root, "commit", "--quiet", "--message", "base")
    # The change: one scorer with another range, one with another query, and one cluster less.
    (root / "scorers/score-00.yaml").write_text(scorer(0, 60, "5m"))
    (root / "scorers/score-01.yaml").write_text(scorer(1, 100, "10m"))
    (root / f"clusters/{names[-1]}.yaml").unlink()


def state(root: Path, names: list[str], scorers: int, rng: random.Random) -> list[str]:
    """The snapshot as the reconciler writes it: one line per score."""
    head = '{"apiVersion": "gitops-dsf.io/v1alpha1",\n"kind": "HubSnapshot",\n"metadata": {"name":"hub"}'
    until = (NOW + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    files = {"snapshot.json": f'{head},\n"observedAt": "{NOW.strftime("%Y-%m-%dT%H:%M:%SZ")}"}}\n'}
    for number in range(scorers):
        resource = f"score-{number:02}"
        rows = []
        for name in names:
            raw = round(rng.uniform(0, 100), 2)
            rows.append(
                f'"{name}":'
                f' {{"values":{{"{resource}":{int(1 + raw * 0.99)}}},"validUntil":"{until}","raw":{{"{resource}":{raw}}}}}'  # noqa: E501
            )
        files[f"scores/{resource}.json"] = (
            f'{head},\n"scores": {{"{resource}": {{\n' + ",\n".join(rows) + "\n}}}\n"
        )
    decisions = [
        {
            "namespace": "argocd",
            "name": f"app-{n:03}-decision-1",
            "placement": f"app-{n:03}",
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
        one = best([*program, "explain", "app-007", "cluster-00010", *source], repeats=repeats)
        yield Row(what="explain of one application", cost=one, seconds=1.5, megabytes=200)
        placed = best([*program, "simulate", *source, "--placement", "app-007"], repeats=repeats)
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
