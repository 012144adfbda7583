"""Two replicas of the reconciler on a real API server.

A proxy or the first replica itself stops that replica at exactly one of its awaits, and a test
continues it when the second one leads.

Applications, decisions and clusters are objects that the test writes, and that no controller
touches.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from dsf_wire.constants import ADDON_NAME, AGENT_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.hub.names import RECONCILER as NAME
from gitops_dsf.render.reconciler import reconciler
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.schema.crd import crds
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.applications import APPLICATION, APPLICATION_SET
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import (
    hold_for,
    wait_for,
    wait_until_gone,
    wait_until_served,
)
from tests.hub.scenario.fleet import DYNAMIC_SCORER, scorer
from tests.hub.scenario.installation import ADDON
from tests.hub.scenario.placements import (
    DECISION,
    PLACEMENT,
    PLACEMENT_LABEL,
    SCORE,
    publish,
    remove_clusters,
)
from tests.hub.scenario.reconciling import FAST, Reconciler, reconciling
from tests.hub.scenario.stoppingproxy import StoppingProxy
from tests.support.scorerlists import config_maps

HUB, ARGOCD = "gitops-dsf", "frozen"
A, B = "frozen-a", "frozen-b"
"""Clusters; the application web moves from the first to the second."""
LEASE = "coordination.k8s.io/v1/Lease"
CONFIG_MAP = "v1/ConfigMap"
RESOURCE, TTL = "frozen-score", 60
LABELS = {MANAGED_BY_LABEL: AGENT_MANAGER}
NEEDED = ("ServiceAccount", "ClusterRole", "Role", "ValidatingAdmissionPolicy")
"""Beginnings of the kinds that the replicas need of what is rendered."""


@dataclass(kw_only=True)
class FrozenLeaderPlane:
    """A hub where web moves from one cluster to another, the proxy that the first replica speaks
    through, and the replicas.
    """

    plane: ControlPlane
    hub: Client
    proxy: StoppingProxy

    def put(self, item: Object, *, status: Object | None = None) -> Object:
        """Made or changed, with its status where that is a subresource."""
        kind, meta = f"{item['apiVersion']}/{item['kind']}", item["metadata"]
        answer = self.hub.apply(item)
        if status is not None:
            answer = self.hub.patch_status(
                kind, meta["name"], status, namespace=meta.get("namespace")
            )
        return answer

    def move(self) -> None:
        """web is decided for the second cluster, and Healthy on both: the copy on the first one may
        go. Call it when the replicas run, because it takes them a second.
        """
        for cluster in (A, B):
            # The reconciler keeps the copy of a cluster that became reachable a moment ago, in a
            # test before.
            self.plane.set_available(cluster, "True")
        # OCM's scheduler leaves such a Placement alone: its decision is what the test says.
        annotations = {"cluster.open-cluster-management.io/experimental-scheduling-disable": "true"}
        groups = [{"decisionGroupIndex": 0, "clusterCount": 1}]
        self.put(
            manifest(
                PLACEMENT,
                "web",
                namespace=ARGOCD,
                meta={"annotations": annotations},
                spec={"numberOfClusters": 1},
            ),
            status={"numberOfSelectedClusters": 1, "decisionGroups": groups},
        )
        self.decide(B)
        owner = owned_by(self.put(application_set()))
        for cluster in (A, B):
            self.forget_copy(cluster)
            self.put(application(cluster, owner))

    def decide(self, cluster: str) -> None:
        owner = owned_by(self.hub.get(PLACEMENT, "web", namespace=ARGOCD))
        meta = {"labels": {PLACEMENT_LABEL: "web"}, "ownerReferences": [owner]}
        decisions = [{"clusterName": cluster, "reason": ""}]
        item = manifest(DECISION, "web-decision-1", namespace=ARGOCD, meta=meta)
        self.put(item, status={"decisions": decisions})

    def copies(self) -> list[str]:
        """Clusters whose copy nobody has deleted."""
        found = self.hub.list(APPLICATION, namespace=ARGOCD)
        return sorted(
            item["spec"]["destination"]["name"]
            for item in found
            if "deletionTimestamp" not in item["metadata"]
        )

    def forget_copy(self, cluster: str) -> None:
        name = f"web-{cluster}"
        if self.hub.find(APPLICATION, name, namespace=ARGOCD) is not None:
            self.hub.patch(APPLICATION, name, {"metadata": {"finalizers": None}}, namespace=ARGOCD)
            self.hub.delete(APPLICATION, name, namespace=ARGOCD)
            wait_until_gone(self.hub, APPLICATION, name, namespace=ARGOCD)

    def dead_score(self) -> None:
        """On the second cluster, where no agent is."""
        publish(self.hub, B, RESOURCE, {"x": 1}, seconds=-TTL - 500, labels=LABELS)

    def agent_renews(self) -> None:
        """The agent came back, and has published."""
        now = datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        available = {"type": "Available", "status": "True", "reason": "Test", "message": ""}
        self.put(
            manifest(ADDON, ADDON_NAME, namespace=B, spec={}),
            status={"conditions": [{**available, "lastTransitionTime": now}]},
        )
        publish(self.hub, B, RESOURCE, {"x": 2}, seconds=3600, labels=LABELS)

    def forget_score(self) -> None:
        self.hub.delete(ADDON, ADDON_NAME, namespace=B)
        self.hub.delete(SCORE, RESOURCE, namespace=B)

    def has_score(self) -> bool:
        return self.hub.find(SCORE, RESOURCE, namespace=B) is not None

    def lease_is_free(self) -> None:
        """As a leader leaves it whose requests had all ended."""
        self.hub.delete(LEASE, NAME, namespace=HUB)
        spec = {
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "renewTime": datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        self.hub.create(manifest(LEASE, NAME, namespace=HUB, spec=spec))

    def replica(
        self, name: str, *, proxied: bool = False, changes: str = ""
    ) -> AbstractContextManager[Reconciler]:
        """`changes`: see `scenario.program`."""
        return reconciling(
            self.plane,
            spec={"argocd": {"namespace": ARGOCD}},
            name=name,
            speed=FAST,
            changes=changes,
            proxy=self.proxy.url if proxied else "",
            until="answers",
        )

    @contextmanager
    def replicas(self, *, changes: str = "") -> Iterator[tuple[Reconciler, Reconciler]]:
        """The first leads, the second waits. There is no copy, so neither has one to delete.

        A test before may have ended while the second still had to.
        """
        for cluster in (A, B):
            self.forget_copy(cluster)
        self.lease_is_free()
        with self.replica("frozen-first", proxied=True, changes=changes) as first:
            wait_for(lambda: first.leads, what="the first leads", seen=first.process.tail)
            with self.replica("frozen-second") as second:
                yield first, second

    def second_removes_the_other_copy(self, second: Reconciler, *, free: bool = True) -> None:
        """It leads, at once and as after a clean end of the first if the Lease is free, and the
        decision returns to A.
        """
        if free:
            self.lease_is_free()
        wait_for(lambda: second.leads, what="the second leads", seen=second.process.tail)
        self.decide(A)
        wait_for(
            lambda: self.copies() == [A],
            what="the second deletes the copy that nobody wants",
            seen=second.process.tail,
        )

    def the_last_copy_stays(self, first: Reconciler) -> None:
        """Also when the first has noticed that it leads no longer."""
        wait_for(lambda: not first.leads, what="the first has noticed", seen=first.process.tail)
        hold_for(lambda: self.copies() == [A], what="the last copy stays", seconds=2)

    def deletions(self, resource: str = "applications") -> list[int]:
        """Statuses of the answers to the first replica."""
        return [status for word, status in self.proxy.statuses if deletes(word, resource)]


def deletes(word: str, resource: str = "applications") -> bool:
    return word.startswith("DELETE ") and f"/{resource}/" in word


def owned_by(item: Object) -> Object:
    """The reference of an owner that controls."""
    meta = item["metadata"]
    kind = {"apiVersion": item["apiVersion"], "kind": item["kind"]}
    return {**kind, "name": meta["name"], "uid": meta["uid"], "controller": True}


def application_set() -> Object:
    labels = {"matchLabels": {PLACEMENT_LABEL: "web"}}
    generator = {"clusterDecisionResource": {"configMapRef": "none", "labelSelector": labels}}
    spec = {
        "goTemplate": True,
        "generators": [generator],
        "syncPolicy": {"applicationsSync": "create-update"},
        "template": {"metadata": {"name": "web-{{.name}}"}, "spec": application_spec("{{.name}}")},
    }
    annotations = {"gitops-dsf.io/moves-strategy": "MakeBeforeBreak"}
    return manifest(
        APPLICATION_SET, "web", namespace=ARGOCD, meta={"annotations": annotations}, spec=spec
    )


def application_spec(cluster: str) -> Object:
    source = {"repoURL": "http://127.0.0.1:9/none.git", "path": ".", "targetRevision": "main"}
    return {
        "project": "default",
        "source": source,
        "destination": {"name": cluster, "namespace": "web"},
    }


def application(cluster: str, owner: Object) -> Object:
    """Healthy and Synced, as Argo CD writes it."""
    meta = {
        "labels": {"gitops-dsf.io/application": "web"},
        "ownerReferences": [owner],
        "finalizers": ["resources-finalizer.argocd.argoproj.io"],
    }
    spec = application_spec(cluster)
    compared = {"source": spec["source"], "destination": spec["destination"]}
    status = {"health": {"status": "Healthy"}, "sync": {"status": "Synced", "comparedTo": compared}}
    return manifest(
        APPLICATION, f"web-{cluster}", namespace=ARGOCD, meta=meta, spec=spec, status=status
    )


@contextmanager
def frozen_leader_plane(plane: ControlPlane) -> Iterator[FrozenLeaderPlane]:
    """The rights, kinds and clusters that the replicas need, for as long as the block runs.

    Argo CD's kinds must be there.
    """
    hub = plane.hub.admin
    spec = {"git": {"url": "https://git.example.com/fleet.git"}, "argocd": {"namespace": ARGOCD}}
    repository = FleetRepository.model_validate({"metadata": {"name": "frozen"}, "spec": spec})
    objects = [item for item in reconciler(repository) if item["kind"].startswith(NEEDED)]
    with (
        StoppingProxy(upstream=plane.hub.url, trust=plane.hub.trust()) as proxy,
        ExitStack() as stack,
    ):
        scene = FrozenLeaderPlane(plane=plane, hub=hub, proxy=proxy)
        for namespace in (ARGOCD, HUB):
            hub.apply(manifest("v1/Namespace", namespace))
        for crd in crds():
            hub.apply(crd)
        for item in objects:
            hub.apply(item)
            kind, meta = f"{item['apiVersion']}/{item['kind']}", item["metadata"]
            stack.callback(hub.delete, kind, meta["name"], namespace=meta.get("namespace"))
        wait_until_served(hub, crds())
        stack.callback(hub.delete, LEASE, NAME, namespace=HUB)
        plane.add_clusters({A: {}, B: {}})
        stack.callback(remove_clusters, plane, (A, B))
        found = scorer(
            "frozen",
            scoring={"params": {"name": "frozen_score", "interval": 30}},
            scoreTTLSeconds=TTL,
        )
        found["metadata"]["namespace"] = HUB
        scene.put(found)
        stack.callback(hub.delete, DYNAMIC_SCORER, "frozen", namespace=HUB)
        # Without its list of scorers a replica deletes no score.
        for item in config_maps({"frozen": found["spec"]}, namespace=HUB):
            hub.apply(item)
            stack.callback(hub.delete, CONFIG_MAP, item["metadata"]["name"], namespace=HUB)
        yield scene
        for cluster in (A, B):
            scene.forget_copy(cluster)
        for kind, name in (
            (APPLICATION_SET, "web"),
            (PLACEMENT, "web"),
            (DECISION, "web-decision-1"),
        ):
            hub.delete(kind, name, namespace=ARGOCD)


@contextmanager
def frozen(
    scene: FrozenLeaderPlane,
    first: Reconciler,
    word: Callable[[str], bool],
) -> Iterator[None]:
    """Moves web, and stops the replica when its first such request was answered,
    before it can read the answer. After the block it continues.
    """
    done = threading.Event()

    def answered(asked: str) -> None:
        if word(asked) and not done.is_set():
            first.freeze()
            done.set()

    scene.proxy.answered = answered
    scene.move()
    wait_for(done.is_set, what="it asks", timeout=200, seen=first.process.tail)
    wait_for(lambda: first.frozen, what="it is stopped")
    try:
        yield
    finally:
        first.thaw()


READS = {
    "ApplicationSet": "applicationsets/web",
    "Applications": "/applications?limit=500&labelSelector",
    "ManagedCluster of the old copy": f"managedclusters?limit=500&fieldSelector=metadata.name%3D{A}",  # noqa: E501
    "ManagedCluster of the new copy": f"managedclusters?limit=500&fieldSelector=metadata.name%3D{B}",  # noqa: E501
    "decision": "placementdecisions?limit=500&labelSelector",
    "Placement": "placements?limit=500&fieldSelector",
}
"""What a removal reads, in its order, by a part of the path."""
PATCH = f"PATCH /apis/argoproj.io/v1alpha1/namespaces/{ARGOCD}/applications/web-{B}"


class Step:
    """Whether a request is this read of this pass; the second pass begins after the patch."""

    def __init__(self, reading: int, read: str) -> None:
        self._reading, self._read, self._patched = reading, READS[read], False

    def __call__(self, word: str) -> bool:
        self._patched |= word.startswith(PATCH)
        return (
            word.startswith("GET ") and self._read in word and self._patched == (self._reading == 2)
        )
