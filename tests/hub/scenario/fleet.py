"""A fleet repository in git, as a platform team has it, and the commands they run on it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hub.controlplane.api import Object
from tests.hub.controlplane.gitrepository import GitRepository
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


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The clone that a person edits; ``publish`` is their commit and push."""

    repository: GitRepository
    name: str

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
            assert ran.returncode == 0, f"gitops-dsf {' '.join(arguments)}: {ran.stdout}{ran.stderr}"

    def write(self, path: str, *documents: Object) -> None:
        """One file of YAML documents."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(yamlfast.dump(*documents), encoding="utf-8")

    def publish(self, message: str) -> str:
        """Commit everything and push; the commit's id."""
        return self.repository.publish(message=message)

    def objects(self, directory: str) -> list[tuple[str, Object]]:
        """(path, object) of one rendered directory in the order of sync waves, then path."""
        found = []
        for path in sorted((self.rendered / directory).glob("*.yaml")):
            item = yamlfast.load(path.read_text(encoding="utf-8"))
            found.append((wave(item), f"{directory}/{path.name}", item))
        return [(path, item) for _, path, item in sorted(found, key=lambda entry: (entry[0], entry[1]))]

    def directories(self) -> list[str]:
        """platform, every works directory, delivery, reconciler."""
        works = sorted(path.name for path in self.rendered.glob("works-*"))
        return ["platform", *works, "delivery", "reconciler"]


def wave(item: Object) -> int:
    annotations = item["metadata"].get("annotations") or {}
    return int(annotations.get(SYNC_WAVE, "0"))


def write_fleet(
    fleet: Fleet, *, clusters: list[str], strategy: str = "MakeBeforeBreak", secret: str | None = None
) -> None:
    """A small fleet: one scorer on every cluster, one application that runs where the CPU headroom
    is best.
    """
    fleet.write("gitops-dsf.yaml", settings(fleet))
    fleet.write(f"scorers/{SCORER}.yaml", scorer(secret=secret))
    fleet.write("clusters/set.yaml", cluster_set(fleet.name))
    for name in clusters:
        fleet.write(f"clusters/{name}.yaml", cluster(name, fleet=fleet.name))
    fleet.write(f"apps/{APPLICATION}.yaml", application(fleet.name, strategy=strategy))


def settings(fleet: Fleet) -> Object:
    return {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "FleetRepository",
        "metadata": {"name": fleet.name},
        "spec": {"git": {"url": fleet.repository.url, "targetRevision": "main"}, "output": {"shards": 2}},
    }


def scorer(*, secret: str | None = None, **spec: Any) -> Object:
    """CPU headroom from 0 to 1, published as 1 to 100, every second because a test cannot wait."""
    scoring: Object = {"host": f"http://{SCORING}", "params": {"name": SCORE, "interval": 1}}
    if secret is not None:
        scoring["auth"] = {"tokenSecretRef": {"name": secret, "key": "token"}}
    return {
        "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "kind": "DynamicScorer",
        "metadata": {"name": SCORER},
        "spec": {
            "description": "CPU that a cluster has left",
            "configURL": f"http://{SCORING}/config",
            "configSyncMode": "None",
            "source": {
                "type": "Prometheus",
                "host": f"http://{PROMETHEUS}",
                "params": {"query": "avg(cpu_load)", "range": 60, "step": 5},
            },
            "scoring": scoring,
            "scoreRange": {"min": 0, "max": 1},
            "publish": {"deadband": 1, "minIntervalSeconds": 1},
            **spec,
        },
    }


def cluster_set(fleet: str) -> Object:
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {"name": fleet},
        "spec": {
            "clusterSelector": {
                "selectorType": "LabelSelector",
                "labelSelector": {"matchLabels": {FLEET_LABEL: fleet}},
            }
        },
    }


def cluster(name: str, *, fleet: str) -> Object:
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": {FLEET_LABEL: fleet}},
        "spec": {"hubAcceptsClient": True},
    }


def application(
    fleet: str, *, strategy: str = "MakeBeforeBreak", name: str = APPLICATION, **spec: Any
) -> Object:
    return {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "ScoredApplication",
        "metadata": {"name": name},
        "spec": {
            "application": {
                "source": {
                    "repoURL": "http://127.0.0.1:9/guestbook.git",
                    "path": ".",
                    "targetRevision": "main",
                },
                "destinationNamespace": name,
                "syncPolicy": {},
            },
            "placement": {"numberOfClusters": 1, "clusterSets": [fleet]},
            "scores": [{"scorer": SCORER}],
            "stickiness": 10,
            "moves": {"strategy": strategy, "refreshSeconds": 5},
            **spec,
        },
    }
