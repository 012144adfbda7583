"""An application that ranks by the scores of another add-on, on OCM's real scheduler.

The scores are written as the resource-usage-collect add-on writes them (addon-contrib,
resource-usage-collect-addon/pkg/addon/agent/agent.go): an object, then its status with all items,
without validUntil.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.scores import score_of
from gitops_dsf.hub.snapshots.file_format import files
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.hubreader.facts import read_facts
from gitops_dsf.views.doctor.facts import FactSource
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import OURS, cluster, cluster_set, scorer
from tests.hub.scenario.placements import (
    PLACEMENT,
    SCORE,
    SET_LABEL,
    clusters_in_set,
    decided,
    publish,
    wait_for_decision,
)
from tests.hub.scenario.reconciling import HUB_NAMESPACE
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf

pytestmark = [pytest.mark.family("kubernetes", "ocm"), pytest.mark.timeout(300)]

NAME = "usage"
USAGE = "resource-usage-score"
A, B, C = "usage-a", "usage-b", "usage-c"
ITEMS = (
    *("cpuNodeAvailable", "cpuClusterAvailable", "memNodeAvailable", "memClusterAvailable"),
    *("gpuNodeAvailable", "gpuClusterAvailable", "tpuNodeAvailable", "tpuClusterAvailable"),
)


def usage(hub: Client, cluster: str, **items: int) -> None:
    """The scores of a cluster, as the add-on writes them. What is not given is as without any."""
    status = {"scores": [{"name": name, "value": items.get(name, -100)} for name in ITEMS]}
    if hub.find(SCORE, USAGE, namespace=cluster) is None:
        hub.create(manifest(SCORE, USAGE, namespace=cluster))
    hub.patch_status(SCORE, USAGE, status, namespace=cluster)


@dataclass(frozen=True, kw_only=True)
class ExternalScoreScene:
    """A fleet repository whose Placements are applied to the hub by hand."""

    hub: Client
    plane: ControlPlane
    root: Path

    def write(self, path: str, *documents: dict[str, Any]) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(yamlfast.dump(*documents), "utf-8")

    def run(self, *arguments: str) -> str:
        ran = gitops_dsf(*arguments, cwd=self.root)
        assert ran.returncode == 0, (ran.stdout, ran.stderr)
        return ran.stdout

    def places(self, name: str, *scores: dict[str, Any], **spec: Any) -> None:
        """Writes a ScoredPlacement, renders it, and applies the Placement."""
        where = {"numberOfClusters": 1, "clusterSets": [NAME]}
        whole = {"placement": where, "scores": list(scores), "onMissingScore": "Exclude", **spec}
        self.write(
            f"apps/{name}.yaml",
            manifest(f"{OURS}/ScoredPlacement", name, namespace=NAME, spec=whole),
        )
        self.run("render")
        # The binding is there.
        (rendered,) = self.root.glob(f"rendered/delivery/placement.{name}_in_{NAME}.yaml")
        self.hub.apply(yamlfast.load(rendered.read_text("utf-8")))

    def where(self, name: str) -> list[str]:
        return decided(self.hub, name, namespace=NAME)

    def simulated(self, name: str) -> list[str]:
        """Where the simulator says it is, by the scores that are on the hub."""
        kubeconfig = str(self.plane.hub.kubeconfig())
        text = self.run(
            "simulate", "--context", "context", "--kubeconfig", kubeconfig, "-o", "json"
        )
        return _ranked(text, name)

    def predicted(
        self, name: str, folder: Path, scores: Mapping[str, Mapping[str, Mapping[str, int]]]
    ) -> list[str]:
        """Where it would go with these scores, by resource, cluster and item."""
        state = Snapshot(
            origin="test",
            scores={
                resource: {cluster: score_of(items) for cluster, items in by_cluster.items()}
                for resource, by_cluster in scores.items()
            },
            decisions=(
                decision_of(namespace=NAME, placement=name, clusters=tuple(self.where(name))),
            ),
        )
        for path, content in files(state, hub="test"):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        return _ranked(self.run("simulate", "--scores", str(folder), "-o", "json"), name)


def _conditions(placement: Object) -> dict[str, str]:
    conditions = placement.get("status", {}).get("conditions") or []
    return {item["type"]: item["status"] for item in conditions}


def _ranked(text: str, name: str) -> list[str]:
    placements = yamlfast.load(text)["placements"]
    (verdict,) = [item for item in placements if item["placement"] == f"{NAME}/{name}"]
    return sorted(verdict["ranked"])


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, hub: Client, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ExternalScoreScene]:
    """Three clusters, and a repository that declares what the add-on publishes."""
    root = tmp_path_factory.mktemp("usage")
    with clusters_in_set(control_plane, NAME, {A: {}, B: {}, C: {}}):
        scene = ExternalScoreScene(hub=hub, plane=control_plane, root=root)
        external = {"resource": USAGE, "names": list(ITEMS)}
        spec = {
            "git": {"url": "https://git.example.com/usage.git"},
            "externalScores": [external],
        }
        scene.write("gitops-dsf.yaml", manifest(f"{OURS}/FleetRepository", NAME, spec=spec))
        scene.write("scorers/load.yaml", scorer("usage-load", scoring=_scoring()))
        whole = cluster_set(NAME)
        whole["spec"]["clusterSelector"]["labelSelector"]["matchLabels"] = {SET_LABEL: NAME}
        scene.write("clusters/set.yaml", whole)
        for name in (A, B, C):
            scene.write(f"clusters/{name}.yaml", cluster(name, fleet=NAME, **{SET_LABEL: NAME}))
        yield scene


def _scoring() -> dict[str, Any]:
    host = "http://load.scoring.svc:8000"
    return {"host": host, "params": {"name": "usage-load", "interval": 60}}


def gpus(**weight: int) -> dict[str, Any]:
    return {"addOn": {"resource": USAGE, "name": "gpuClusterAvailable"}, **weight}


def test_it_goes_where_the_add_on_says_and_moves_when_the_values_change(
    scene: ExternalScoreScene, tmp_path: Path
) -> None:
    """All values are negative: of 0, 3 and 8 free GPUs the add-on makes -100, -70 and -20."""
    hub = scene.hub
    for name, value in {A: -100, B: -70, C: -20}.items():
        usage(hub, name, gpuClusterAvailable=value)
    scene.places("training", gpus(), stickiness=20)
    wait_for_decision(hub, "training", C, namespace=NAME)
    assert scene.simulated("training") == [C]
    # Another job takes 7 GPUs of C, and B gets 4 more.
    after = {A: -100, B: -30, C: -90}
    columns = {USAGE: {name: {"gpuClusterAvailable": value} for name, value in after.items()}}
    assert scene.predicted("training", tmp_path, columns) == [B]
    for name, value in after.items():
        usage(hub, name, gpuClusterAvailable=value)
    wait_for_decision(hub, "training", B, namespace=NAME)
    assert scene.simulated("training") == [B]


def test_a_lead_below_the_stickiness_moves_nothing(scene: ExternalScoreScene) -> None:
    hub = scene.hub
    for name, value in {A: -60, B: -50, C: -90}.items():
        usage(hub, name, cpuClusterAvailable=value)
    cpu = {"addOn": {"resource": USAGE, "name": "cpuClusterAvailable"}}
    scene.places("sticky", cpu, stickiness=20)
    wait_for_decision(hub, "sticky", B, namespace=NAME)
    usage(hub, A, cpuClusterAvailable=-35)
    hold_for(lambda: scene.where("sticky") == [B], seconds=3.0, what="15 points are not a move")
    assert scene.simulated("sticky") == [B]


def test_it_adds_up_with_a_scorer(scene: ExternalScoreScene, tmp_path: Path) -> None:
    """The scorer outweighs the add-on, until the add-on's lead is larger."""
    hub = scene.hub
    for name, value in {A: 90, B: 40, C: 10}.items():
        publish(hub, name, "usage-load", {"usage-load": value})
    for name, value in {A: -100, B: -60, C: -20}.items():
        usage(hub, name, gpuClusterAvailable=value)
    scene.places("mixed", gpus(weight=1), {"scorer": "usage-load", "weight": 3}, stickiness=25)
    # 270 - 100, 120 - 60 and 30 - 20.
    wait_for_decision(hub, "mixed", A, namespace=NAME)
    assert scene.simulated("mixed") == [A]
    columns = {
        "usage-load": {A: {"usage-load": 40}, B: {"usage-load": 40}, C: {"usage-load": 10}},
        USAGE: {A: {"gpuClusterAvailable": -100}, B: {"gpuClusterAvailable": 60}, C: {}},
    }
    assert scene.predicted("mixed", tmp_path, columns) == [B]
    publish(hub, A, "usage-load", {"usage-load": 40})
    usage(hub, B, gpuClusterAvailable=60)
    wait_for_decision(hub, "mixed", B, namespace=NAME)
    assert scene.simulated("mixed") == [B]


def test_a_cluster_without_the_add_on_wins_unless_it_is_excluded(scene: ExternalScoreScene) -> None:
    """A missing score counts as 0, which beats every negative one (DSF304)."""
    hub = scene.hub
    hub.delete(SCORE, USAGE, namespace=C)
    for name, value in {A: -80, B: -40}.items():
        usage(hub, name, tpuClusterAvailable=value)
    tpu = {"addOn": {"resource": USAGE, "name": "tpuClusterAvailable"}}
    scene.places("excluding", tpu, stickiness=20)
    wait_for_decision(hub, "excluding", B, namespace=NAME)
    assert scene.simulated("excluding") == [B]
    scene.places("neutral", tpu, stickiness=20, onMissingScore="Neutral")
    wait_for_decision(hub, "neutral", C, namespace=NAME)
    assert scene.simulated("neutral") == [C]


def test_a_score_of_a_dead_add_on_ranks_on(scene: ExternalScoreScene) -> None:
    """It has no end, so it is neither missing nor expired, and nothing reports it."""
    hub = scene.hub
    for name, value in {A: 80, B: 20, C: 10}.items():
        usage(hub, name, memClusterAvailable=value)
    memory = {"addOn": {"resource": USAGE, "name": "memClusterAvailable"}}
    scene.places("stale", memory, stickiness=20)
    wait_for_decision(hub, "stale", A, namespace=NAME)
    well = {"PlacementSatisfied": "True", "PlacementMisconfigured": "False"}
    wait_for(
        lambda: _conditions(hub.get(PLACEMENT, "stale", namespace=NAME)) == well,
        what="OCM reports nothing",
    )
    assert "validUntil" not in hub.get(SCORE, USAGE, namespace=A)["status"]


def test_doctor_reads_since_when_a_score_is_unchanged(scene: ExternalScoreScene) -> None:
    hub = scene.hub
    for name in (A, B, C):
        usage(hub, name, cpuNodeAvailable=10)
    node = {"addOn": {"resource": USAGE, "name": "cpuNodeAvailable"}}
    scene.places("unchanged", node, stickiness=20)
    wait_for_decision(hub, "unchanged", A, namespace=NAME)
    publish(hub, B, USAGE, dict.fromkeys(ITEMS, 10))
    before = _changed_at(scene)
    assert B in before
    # An add-on that publishes the same again, as it does every minute, changes nothing.
    publish(hub, B, USAGE, dict.fromkeys(ITEMS, 10))
    assert _changed_at(scene)[B] == before[B]


def _changed_at(scene: ExternalScoreScene) -> dict[str, str]:
    """When the status of each score was changed last, as doctor reads it."""
    facts = read_facts(
        context="context",
        kubeconfig=scene.plane.hub.kubeconfig(),
        hub_namespace=HUB_NAMESPACE,
        argocd_namespace="argocd",
    )
    return {
        item["metadata"]["namespace"]: entry["time"]
        for item in facts.of(FactSource.EXTERNAL_SCORES)
        for entry in item["metadata"].get("managedFields", ())
        if entry.get("subresource") == "status"
    }
