"""A paced move where upstream's controller delivers.

Its agents' scores, OCM's decisions, and the reconciler with the account that is rendered for this
mode.

Upstream's controller and agents are played back: the status that the one writes, and the
AddOnPlacementScores of the others, without labels and without validUntil
(dynamic-scoring-framework v0.1.0, pkg/dynamic_scoring_agent/agent.go).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from gitops_dsf.hub.pace import MOVES_SCORE
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import SPOKES, ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import (
    APPLICATION,
    DYNAMIC_SCORER,
    PROMETHEUS,
    RESOURCE,
    SCORE,
    SCORER,
    SCORING,
    Fleet,
    application,
    new_fleet,
)
from tests.hub.scenario.installation import ADDON, installed
from tests.hub.scenario.placements import SCORE as SCORES
from tests.hub.scenario.placements import decided, wait_for_decision
from tests.hub.scenario.reconciling import (
    FAST,
    HUB_NAMESPACE,
    Reconciler,
    reconciling,
    stored_moves,
)
from tests.hub.scenario.upstreamowner import (
    OPERATOR,
    Owner,
    conditions,
    kept_status,
    upstreams_crds,
)

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd"), pytest.mark.timeout(300)]

HERE, THERE = SPOKES
UPSTREAMS = "dynamic-scoring-framework"
PACE: Object = {"settleSeconds": 1, "cooldownSeconds": 0}
SPEC: Object = {"delivery": {"mode": "UpstreamController"}, "pace": PACE}


@dataclass(frozen=True, kw_only=True)
class UpstreamScene:
    hub: Client
    plane: ControlPlane
    owner: Owner

    def publish(self, **values: int) -> None:
        """The scores of clusters, as upstream's agent writes them: an update of the items alone."""
        for cluster, value in values.items():
            if self.hub.find(SCORES, RESOURCE, namespace=cluster) is None:
                self.hub.create(manifest(SCORES, RESOURCE, namespace=cluster))
            status = {"scores": [{"name": SCORE, "value": value}]}
            self.hub.patch_status(SCORES, RESOURCE, status, namespace=cluster)

    def reconciling(self) -> Any:
        return reconciling(self.plane, spec=SPEC, name="upstreams-reconciler", speed=FAST)

    def scorer(self) -> Object:
        return self.hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE)

    def is_called(self, health: str) -> bool:
        """Whether the status says so, and nothing else."""
        return bool(self.scorer()["status"] == {"healthStatus": health})

    def moves(self) -> Any:
        return stored_moves(self.hub).ledger.moves


def fleet_of(server: GitServer) -> Fleet:
    """A scorer with upstream's fields alone, and a paced application."""
    fleet = new_fleet(server, "upstreams", guestbook=False)
    fleet.configure(**SPEC)
    spec = {
        "description": "CPU that a cluster has left",
        "configURL": f"http://{SCORING}/config",
        "configSyncMode": "None",
        "source": {
            "host": f"http://{PROMETHEUS}",
            "params": {"query": "avg(cpu_load)", "range": 1, "step": 1},
        },
        "scoring": {"params": {"name": SCORE, "interval": 1}},
    }
    fleet.write(f"scorers/{SCORER}.yaml", manifest(DYNAMIC_SCORER, SCORER, spec=spec))
    config = "dynamic-scoring.open-cluster-management.io/v1alpha1/DynamicScoringConfig"
    fleet.write("config/masks.yaml", manifest(config, "dynamic-scoring-config", spec={"masks": []}))
    app = application(fleet.name, onMissingScore="Exclude")
    fleet.write(f"apps/{APPLICATION}.yaml", app)
    return fleet


@pytest.fixture
def scene(
    argocd: ArgoCD, hub: Client, control_plane: ControlPlane, git_server: GitServer
) -> Iterator[UpstreamScene]:
    del argocd
    fleet = fleet_of(git_server)
    with upstreams_crds(hub) as owner, installed(fleet, control_plane):
        for cluster in SPOKES:
            hub.apply(manifest(ADDON, UPSTREAMS, namespace=cluster, spec={}))
        try:
            yield UpstreamScene(hub=hub, plane=control_plane, owner=owner)
        finally:
            for cluster in SPOKES:
                hub.delete(ADDON, UPSTREAMS, namespace=cluster)
            hub.delete("v1/ConfigMap", MOVES_SCORE, namespace=HUB_NAMESPACE)
            hub.delete("v1/ConfigMap", "gitops-dsf-status", namespace=HUB_NAMESPACE)


def status_writers(item: Object) -> set[str]:
    return {
        entry["manager"]
        for entry in item["metadata"].get("managedFields") or ()
        if entry.get("subresource") == "status"
    }


def test_a_paced_move_by_scores_of_upstreams_agents(scene: UpstreamScene) -> None:
    scene.publish(**{HERE: 80, THERE: 20})
    wait_for_decision(scene.hub, APPLICATION, HERE)
    scene.owner.probe([SCORER], health="Active")
    scene.publish(**{HERE: 20, THERE: 80})
    hold_for(
        lambda: decided(scene.hub, APPLICATION) == [HERE],
        what="without a reconciler a paced application stays",
        seconds=5,
    )
    with scene.reconciling() as running:
        _moves(scene, running)
        _status_is_upstreams(scene)


def _moves(scene: UpstreamScene, running: Reconciler) -> None:
    wait_for_decision(scene.hub, APPLICATION, THERE)
    assert running.metric("paced_moves_admitted_total") == 1
    wait_for(
        lambda: [move.target for move in scene.moves()] == [THERE],
        what="the ledger has the move",
        seen=scene.moves,
    )
    assert running.metric("scored_clusters", scorer=SCORER, state="endless") == len(SPOKES)


def _status_is_upstreams(scene: UpstreamScene) -> None:
    """Whatever its controller writes stays, and only it wrote. Conditions are kept apart."""
    wait_for(
        lambda: conditions(kept_status(scene.hub, SCORER)) >= {"Healthy", "Scored"},
        what="the conditions of the scorer are in the ConfigMap",
        seen=lambda: kept_status(scene.hub, SCORER),
    )
    assert "healthStatus" not in kept_status(scene.hub, SCORER)
    for health in ("Inactive", "Active", "Inactive"):
        scene.owner.probe([SCORER], health=health)
        hold_for(partial(scene.is_called, health), what=f"{health} stays", seconds=4)
    assert status_writers(scene.scorer()) == {OPERATOR}
