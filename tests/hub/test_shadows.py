"""A shadow on a real hub, with real agents and OCM's placement controller: it decides nothing while it runs,
and its promotion moves what was predicted, and nothing else.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.exporter import LoadExporter
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kubeconfig import ADMIN
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.prometheus import start_prometheus
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.clusterdns import ClusterDns
from tests.hub.scenario.commandline import gitops_dsf
from tests.hub.scenario.fleet import APPLICATION, PROMETHEUS, RESOURCE, SCORE, SCORER, Fleet, write_fleet
from tests.hub.scenario.installation import DECISION, PLACEMENT_LABEL, Installation, installed
from tests.hub.scenario.installation import SCORE as SCORES
from tests.hub.scenario.spokeagent import spoke_agent

pytestmark = [pytest.mark.family("kubernetes", "ocm", "prometheus"), pytest.mark.timeout(300)]

CLUSTERS = ("cluster1", "cluster2")
NAMESPACE = "shadow-consumers"
SHADOW, ELSEWHERE = "headroom-next", "disk-headroom"
LOADS: Mapping[str, Mapping[str, float]] = {
    "cluster1": {"cpu_load": 0.1, "memory_load": 0.8, "disk_load": 0.2},
    "cluster2": {"cpu_load": 0.5, "memory_load": 0.3, "disk_load": 0.6},
}
"""The live score is that of the CPU (90 and 50), the shadow's that of the memory (20 and 70)."""
RESTLESS, CALM, OTHER = "restless", "calm", "other"
"""They rank by the live score with a stickiness that 50 points overcome, by it with one that they do not, and
by another score.
"""


def scorer(name: str, metric: str, *, score: str, **spec: Any) -> Object:
    return {
        "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "kind": "DynamicScorer",
        "metadata": {"name": name},
        "spec": {
            "description": f"Headroom of {metric}",
            "source": {"host": f"http://{PROMETHEUS}", "params": {"query": f"1 - avg({metric})"}},
            "scoring": {"type": "Query", "params": {"name": score, "interval": 1}},
            "scoreRange": {"min": 0, "max": 1},
            "publish": {"deadband": 0, "minIntervalSeconds": 0},
            **spec,
        },
    }


def placement(name: str, *, scorer: str, stickiness: int, fleet: str) -> Object:
    return {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "ScoredPlacement",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "placement": {"numberOfClusters": 1, "clusterSets": [fleet]},
            "scores": [{"scorer": scorer}],
            "stickiness": stickiness,
        },
    }


@dataclass(kw_only=True)
class Scene:
    """Two clusters with a Prometheus and an agent each."""

    installation: Installation
    hub: Client
    exporters: dict[str, LoadExporter] = field(default_factory=dict)

    def scores(self, resource: str, item: str) -> list[int | None]:
        """The published scores of the clusters, in order."""
        return [
            next(
                (
                    one["value"]
                    for one in (self.hub.find(SCORES, resource, namespace=cluster) or {})
                    .get("status", {})
                    .get("scores", [])
                    if one["name"] == item
                ),
                None,
            )
            for cluster in CLUSTERS
        ]

    def decisions(self) -> dict[str, tuple[str, ...]]:
        """The decided clusters of each Placement, and the version of the object that says so."""
        found = {}
        for name in (RESTLESS, CALM, OTHER):
            pages = self.hub.list(DECISION, namespace=NAMESPACE, labels=f"{PLACEMENT_LABEL}={name}")
            clusters = [
                one["clusterName"] for page in pages for one in page.get("status", {}).get("decisions", [])
            ]
            found[name] = (*clusters, *(page["metadata"]["resourceVersion"] for page in pages))
        return found

    def placed(self) -> dict[str, str]:
        return {name: found[0] if found else "" for name, found in self.decisions().items()}

    def status(self) -> Any:
        kubeconfig = str(self.installation.plane.kubeconfig(ADMIN))
        ran = gitops_dsf("status", "--context", "context", "--kubeconfig", kubeconfig, "--format", "json")
        assert (ran.code, ran.stderr) == (0, "")
        return json.loads(ran.stdout)

    def wait_for_scores(self, resource: str, item: str, *values: int | None) -> None:
        wait_for(
            lambda: self.scores(resource, item) == list(values),
            what=f"the scores of {resource} are {values}",
            timeout=90,
            seen=lambda: self.scores(resource, item),
        )


@pytest.fixture
def scene(
    control_plane: ControlPlane, git_server: GitServer, hub: Client, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("shadows")
    fleet = Fleet(repository=git_server.create("shadows"), name="shadows")
    write_fleet(fleet, clusters=list(CLUSTERS))
    (fleet.root / f"apps/{APPLICATION}.yaml").unlink()
    fleet.write(f"scorers/{SCORER}.yaml", scorer(SCORER, "cpu_load", score=SCORE))
    fleet.write(f"scorers/{ELSEWHERE}.yaml", scorer(ELSEWHERE, "disk_load", score=ELSEWHERE))
    fleet.write(
        "apps/placements.yaml",
        placement(RESTLESS, scorer=SCORER, stickiness=20, fleet=fleet.name),
        placement(CALM, scorer=SCORER, stickiness=100, fleet=fleet.name),
        placement(OTHER, scorer=ELSEWHERE, stickiness=10, fleet=fleet.name),
    )
    fleet.render()
    hub.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    with ExitStack() as stack:
        running = []
        for cluster in CLUSTERS:
            exporter = stack.enter_context(LoadExporter())
            for metric, value in LOADS[cluster].items():
                exporter.set(metric, {}, value)
            prometheus = start_prometheus(
                binaries=obtain("prometheus"),
                processes=control_plane.processes,
                folder=folder / f"prometheus-{cluster}",
                exporter=exporter,
                name=f"prometheus-shadows-{cluster}",
            )
            stack.callback(control_plane.processes.stop, f"prometheus-shadows-{cluster}")
            running.append((cluster, prometheus))
        installation = stack.enter_context(installed(fleet, control_plane, clusters=CLUSTERS))
        for cluster, prometheus in running:
            names = stack.enter_context(ClusterDns({PROMETHEUS: prometheus.url}))
            stack.enter_context(
                spoke_agent(control_plane, cluster, folder=folder / cluster, environment=names.environment)
            )
        yield Scene(installation=installation, hub=hub)


def test_a_shadow_decides_nothing_and_its_promotion_moves_what_was_predicted(scene: Scene) -> None:
    fleet = scene.installation.fleet
    before = {RESTLESS: "cluster1", CALM: "cluster1", OTHER: "cluster1"}
    scene.wait_for_scores(RESOURCE, SCORE, 90, 50)
    scene.wait_for_scores(ELSEWHERE, ELSEWHERE, 80, 40)
    wait_for(lambda: scene.placed() == before, what="all are on cluster1", seen=scene.placed)
    decided = scene.decisions()

    fleet.write(f"scorers/{SHADOW}.yaml", scorer(SHADOW, "memory_load", score=SHADOW, shadowOf=SCORER))
    scene.installation.sync()
    scene.wait_for_scores(SHADOW, SHADOW, 20, 70)
    labels = scene.hub.get(SCORES, SHADOW, namespace="cluster1")["metadata"]["labels"]
    assert labels["gitops-dsf.io/shadow-of"] == SCORER
    hold_for(lambda: scene.decisions() == decided, what="no decision is written anew", seconds=5)

    [view] = scene.status()["shadows"]
    assert (view["name"], view["agreement"]["rankCorrelation"]) == (SHADOW, -1.0)
    assert view["moves"] == {
        "found": [
            {
                "placement": f"{NAMESPACE}/{RESTLESS}",
                "followers": [],
                "from": ["cluster1"],
                "to": ["cluster2"],
            }
        ],
        "stay": 1,
        "open": [],
    }

    ran = fleet.run("promote", SHADOW)
    assert ran.code == 0, ran.stderr
    scene.installation.sync()
    scene.wait_for_scores(RESOURCE, SCORE, 20, 70)
    wait_for(
        lambda: scene.placed() == {**before, RESTLESS: "cluster2"},
        what="what was predicted has moved",
        seen=scene.placed,
    )
    hold_for(
        lambda: {**scene.decisions(), RESTLESS: ()} == {**decided, RESTLESS: ()},
        what="the other decisions are not written anew",
        seconds=5,
    )
    assert (
        "gitops-dsf.io/shadow-of"
        not in scene.hub.get(SCORES, RESOURCE, namespace="cluster1")["metadata"]["labels"]
    )
    scene.wait_for_scores(SHADOW, SHADOW, None, None)
    assert scene.status()["shadows"] == []
