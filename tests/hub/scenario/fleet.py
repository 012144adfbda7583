"""A fleet repository in git, as a platform team has it, and the commands they run on it."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hub.controlplane.api import Object, manifest
from tests.hub.controlplane.gitrepository import GitRepository, git
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import SPOKES
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf

SCORER = "cpu-headroom"
SCORE = "cpu_headroom"
RESOURCE = "cpu-headroom"
APPLICATION = "guestbook"
PROMETHEUS = "prometheus.monitoring.svc:9090"
SCORING = "headroom.scoring.svc:8000"
FLEET_LABEL = "fleet.example.com/name"
SYNC_WAVE = "argocd.argoproj.io/sync-wave"
OURS = "gitops-dsf.io/v1alpha1"
DYNAMIC_SCORER = "dynamic-scoring.open-cluster-management.io/v1alpha1/DynamicScorer"


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The clone that a person edits; ``publish`` is their commit and push."""

    repository: GitRepository
    name: str
    clusters: Sequence[str] = SPOKES

    @property
    def root(self) -> Path:
        return self.repository.clone

    @property
    def rendered(self) -> Path:
        return self.root / "rendered"

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """``gitops-dsf`` in the repository's folder."""
        return gitops_dsf(*arguments, cwd=self.root)

    def render(self) -> None:
        """validate, then render: what a pull request's checks do."""
        for arguments in (("validate",), ("render", "--allow-shrink"), ("render", "--check")):
            ran = self.run(*arguments)
            assert ran.returncode == 0, (
                f"gitops-dsf {' '.join(arguments)}: {ran.stdout}{ran.stderr}"
            )

    def write(self, path: str, *documents: Object) -> None:
        """One file of YAML documents."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(yamlfast.dump(*documents), encoding="utf-8")

    def remove(self, path: str) -> None:
        """Removes a file as people do, with `git rm`. Without it the file counts as lost."""
        (self.root / path).unlink()
        git("rm", "--quiet", "--cached", "--ignore-unmatch", "--", path, folder=self.root)

    def configure(self, **spec: Any) -> None:
        """Writes gitops-dsf.yaml with these fields of its spec.

        Of two shards one is empty when its last cluster leaves, and Argo CD never prunes to nothing
        by itself.
        """
        source = {"url": self.repository.url, "targetRevision": "main"}
        whole = {"git": source, "output": {"shards": 1}, **spec}
        self.write("gitops-dsf.yaml", manifest(f"{OURS}/FleetRepository", self.name, spec=whole))

    def join(self, name: str, **labels: str) -> None:
        """Writes the file of a cluster with these labels."""
        self.write(f"clusters/{name}.yaml", cluster(name, fleet=self.name, **labels))

    def publish(self, message: str) -> str:
        """Commit everything and push; the commit's id."""
        return self.repository.publish(message=message)

    def objects(self, directory: str) -> list[tuple[str, Object]]:
        """(path, object) of one rendered directory in the order of sync waves, then path."""
        found = []
        for path in sorted((self.rendered / directory).glob("*.yaml")):
            item = yamlfast.load(path.read_text(encoding="utf-8"))
            found.append((wave(item), f"{directory}/{path.name}", item))
        return [
            (path, item) for _, path, item in sorted(found, key=lambda entry: (entry[0], entry[1]))
        ]

    def directories(self) -> list[str]:
        """platform, every works directory, delivery, reconciler."""
        works = sorted(path.name for path in self.rendered.glob("works-*"))
        return ["platform", *works, "delivery", "reconciler"]


def wave(item: Object) -> int:
    annotations = item["metadata"].get("annotations") or {}
    return int(annotations.get(SYNC_WAVE, "0"))


def new_fleet(
    server: GitServer,
    name: str,
    *,
    clusters: Sequence[str] = SPOKES,
    guestbook: bool = True,
    repository: str = "",
    **spec: Any,
) -> Fleet:
    """A small fleet: one scorer, with this spec, on every cluster, one application that runs where
    the CPU headroom is best. Its repository has its name or another one.
    """
    fleet = Fleet(repository=server.create(repository or name), name=name, clusters=clusters)
    fleet.configure()
    fleet.write(f"scorers/{SCORER}.yaml", scorer(**spec))
    fleet.write("clusters/set.yaml", cluster_set(name))
    for each in clusters:
        fleet.join(each)
    if guestbook:
        fleet.write(f"apps/{APPLICATION}.yaml", application(name))
    return fleet


def scorer(name: str = SCORER, *, secret: str = "", **spec: Any) -> Object:
    """CPU headroom from 0 to 1, published as 1 to 100, every second because a test cannot wait.

    A scorer by query has no scoring API.
    """
    scoring: Object = {"host": f"http://{SCORING}", "params": {"name": SCORE, "interval": 1}}
    if secret:
        scoring["auth"] = {"tokenSecretRef": {"name": secret, "key": "token"}}
    parameters = {"query": "avg(cpu_load)", "range": 60, "step": 5}
    whole = {
        "description": "CPU that a cluster has left",
        "configURL": f"http://{SCORING}/config",
        "configSyncMode": "None",
        "source": {"type": "Prometheus", "host": f"http://{PROMETHEUS}", "params": parameters},
        "scoring": scoring,
        "scoreRange": {"min": 0, "max": 1},
        "publish": {"deadband": 1, "minIntervalSeconds": 1},
        **spec,
    }
    if whole["scoring"].get("type") == "Query":
        del whole["configURL"], whole["configSyncMode"]
    return manifest(DYNAMIC_SCORER, name, spec=whole)


def query_scorer(name: str, query: str, **spec: Any) -> Object:
    """A scorer without a scoring API: its score is what a query answers, every second."""
    return scorer(
        name,
        source={"type": "Prometheus", "host": f"http://{PROMETHEUS}", "params": {"query": query}},
        scoring={"type": "Query", "params": {"name": name, "interval": 1}},
        **spec,
    )


def cluster_set(fleet: str) -> Object:
    labels = {
        "selectorType": "LabelSelector",
        "labelSelector": {"matchLabels": {FLEET_LABEL: fleet}},
    }
    kind = "cluster.open-cluster-management.io/v1beta2/ManagedClusterSet"
    return manifest(kind, fleet, spec={"clusterSelector": labels})


def cluster(name: str, *, fleet: str, **labels: str) -> Object:
    kind, meta = (
        "cluster.open-cluster-management.io/v1/ManagedCluster",
        {FLEET_LABEL: fleet, **labels},
    )
    return manifest(kind, name, meta={"labels": meta}, spec={"hubAcceptsClient": True})


def application(
    fleet: str, name: str = APPLICATION, *, source: Object | None = None, **spec: Any
) -> Object:
    """Argo CD deploys it if its source is given."""
    there = {"repoURL": "http://127.0.0.1:9/guestbook.git", "path": ".", "targetRevision": "main"}
    deployed = {"source": there | (source or {}), "destinationNamespace": name}
    if source is None:
        deployed["syncPolicy"] = {}
    moves = {"strategy": "MakeBeforeBreak", "refreshSeconds": 5}
    whole = {"application": deployed, **ranking(fleet), "moves": moves, **spec}
    return manifest(f"{OURS}/ScoredApplication", name, spec=whole)


def placement(fleet: str, name: str, namespace: str, **spec: Any) -> Object:
    """For another consumer than Argo CD."""
    return manifest(
        f"{OURS}/ScoredPlacement", name, namespace=namespace, spec={**ranking(fleet), **spec}
    )


def ranking(fleet: str) -> Object:
    where = {"numberOfClusters": 1, "clusterSets": [fleet]}
    return {"placement": where, "scores": [{"scorer": SCORER}], "stickiness": 10}
