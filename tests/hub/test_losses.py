"""Each cluster of a fleet of ten becomes unreachable in turn, and OCM decides what was predicted.

`simulate --lose` is asked before. The decisions are OCM's own: no reconciler runs while a cluster
is lost. With a pace it ran before, and published the refuges.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.hub.controlplane.api import Client
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.fleet import RESOURCE, SCORE, Fleet, application, new_fleet
from tests.hub.scenario.installation import installed
from tests.hub.scenario.placements import decided, publish, remove_clusters, scores
from tests.hub.scenario.reconciling import FAST, HUB_NAMESPACE, reconciling

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd"), pytest.mark.timeout(300)]

CLUSTERS = tuple(f"loss{number}" for number in range(10))
HEADROOM = dict(zip(CLUSTERS, (90, 40, 85, 12, 70, 66, 30, 81, 55, 20), strict=True))
NAMES = tuple(f"loss-{number}" for number in range(6))
UNREACHABLE = "cluster.open-cluster-management.io/unreachable"
REFUGES = {"concurrent": 2, "refuges": True}


@dataclass(kw_only=True)
class LossScene:
    """Six applications on ten clusters."""

    plane: ControlPlane
    hub: Client
    fleet: Fleet

    def where(self) -> dict[str, list[str]]:
        return {name: decided(self.hub, name) for name in NAMES}

    def predicted(self, cluster: str) -> dict[str, list[str]]:
        """Where the applications are after the loss of a cluster, as `simulate --lose` says."""
        kubeconfig = str(self.plane.hub.kubeconfig())
        ran = self.fleet.run(
            "simulate", "--lose", cluster, "--context", "context", "--kubeconfig", kubeconfig,
            "-o", "json",
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        [loss] = json.loads(ran.stdout)["losses"]
        after = self.where()
        for departure in loss["departures"]:
            name = departure["placement"].partition("/")[2]
            kept = set(after[name]) - set(departure["from"])
            after[name] = sorted(kept | set(departure["to"]))
        return after

    def lose(self, cluster: str) -> None:
        """The cluster is lost, and comes back: OCM decides what was predicted."""
        predicted = self.predicted(cluster)
        self.plane.set_available(cluster, "Unknown")
        try:
            wait_for(
                lambda: self.plane.taints(cluster) == [UNREACHABLE],
                what=f"OCM taints {cluster}",
                seen=lambda: self.plane.taints(cluster),
            )
            wait_for(
                lambda: self.where() == predicted,
                what=f"without {cluster} the decisions are {predicted}",
                seen=self.where,
            )
        finally:
            self.plane.set_available(cluster, "True")
        wait_for(
            lambda: self.plane.taints(cluster) == [],
            what=f"{cluster} is back",
            seen=lambda: self.plane.taints(cluster),
        )


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client
) -> Iterator[LossScene]:
    fleet = new_fleet(git_server, "losses", clusters=CLUSTERS, guestbook=False)
    control_plane.add_clusters({name: {} for name in CLUSTERS})
    try:
        yield LossScene(plane=control_plane, hub=hub, fleet=fleet)
    finally:
        remove_clusters(control_plane, CLUSTERS)
        # What the reconciler left. A later module may ask whether it may create them.
        hub.delete("v1/ConfigMap", "gitops-dsf-moves", namespace=HUB_NAMESPACE)
        hub.delete("coordination.k8s.io/v1/Lease", "gitops-dsf-reconciler", namespace=HUB_NAMESPACE)


@pytest.mark.parametrize("pace", [None, REFUGES], ids=["by scores", "refuges"])
def test_each_loss_ends_as_it_was_predicted(
    scene: LossScene, pace: dict[str, object] | None
) -> None:
    scene.fleet.configure(**({} if pace is None else {"pace": pace}))
    for number, name in enumerate(NAMES):
        placement = {"numberOfClusters": 1 + number % 2, "clusterSets": ["losses"]}
        scored = [{"scorer": "cpu-headroom", "demand": 4}]
        scene.fleet.write(
            f"apps/{name}.yaml",
            application("losses", name, placement=placement, scores=scored, stickiness=20),
        )
    for cluster, value in HEADROOM.items():
        publish(scene.hub, cluster, RESOURCE, {SCORE: value})
    with installed(scene.fleet, scene.plane):
        wait_for(
            lambda: all(
                len(clusters) == 1 + int(name[-1]) % 2 for name, clusters in scene.where().items()
            ),
            what="all have their clusters",
            seen=scene.where,
        )
        if pace is not None:
            with reconciling(
                scene.plane, spec={"pace": pace}, name="losses-reconciler", speed=FAST
            ):
                wait_for(
                    lambda: (
                        sum(len(scores(scene.hub, name, "gitops-dsf-moves")) for name in CLUSTERS)
                        == len(NAMES)
                    ),
                    what="all have a refuge",
                )
        moved = 0
        for cluster in CLUSTERS:
            before = scene.where()
            scene.lose(cluster)
            moved += scene.where() != before
        assert moved >= 2
