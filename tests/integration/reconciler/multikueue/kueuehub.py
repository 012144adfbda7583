"""A hub with Kueue's MultiKueue: jobs go to the first cluster of the config that has room, at once.

It checks the laws of the order at each write. A job whose cluster leaves the config starts again
elsewhere, so that a test sees the loss at once. The real Kueue 0.19.2 does that only with a job
that has no active pod; others hang (tests/hub/test_kueue.py).
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from dsf_runtime.clock import monotonic
from gitops_dsf.hub.multikueue import MULTIKUEUE_ANNOTATION, MultiKueueConfig, MultiKueueOrder
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.hub.pace import PacedTerm
from gitops_dsf.reconciler.multikueue.controller import MultiKueueController
from tests.integration.reconciler.replica import Replica, from_now, running
from tests.support.apiserver import Key, Object
from tests.support.objecthub import ObjectHub
from tests.support.virtual_time import wall

NAMESPACE = "kueue-system"
CONFIG = "gpu-jobs"
CONFIGS = "multikueueconfigs"
CHECK = "multikueue"
RESOURCE = "gpu-headroom"
MANAGED_BY = "app.kubernetes.io/managed-by"
OURS = "gitops-dsf-reconciler"
REORDER_SECONDS = 60.0


class KueueHub(ObjectHub):
    """Watches tell every change."""

    def __init__(
        self,
        *,
        demand: int = 5,
        delay: float = 60.0,
        stickiness: float = 10.0,
        reorder_seconds: float = REORDER_SECONDS,
    ) -> None:
        super().__init__(live=True)
        self.order = MultiKueueOrder(
            config=CONFIG,
            reorder_seconds=reorder_seconds,
            terms=(PacedTerm(RESOURCE, RESOURCE, 1, demand=demand, delay=delay, range=0.0),),
            stickiness=stickiness,
        )
        self.room: dict[str, int] = {}
        """Jobs that a cluster can take; any number without an entry."""
        self.killed: list[str] = []
        """Jobs whose cluster left the config."""
        self.lists: list[tuple[str, ...]] = []
        """Every list of the config, in order of writing."""
        self.broken: list[str] = []
        """How a law was broken."""
        self._ordered_at = -10_000.0
        self.request_seconds = 0.0
        """How long a request takes at most: a write counts from when it was decided."""
        self.someone_else = False
        """Whether somebody else writes the config now."""
        parameters = {"kind": "MultiKueueConfig", "name": CONFIG, "apiGroup": "kueue.x-k8s.io"}
        spec = {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters}
        self.put("admissionchecks", CHECK, spec=spec)

    def want(self, name: str = "gpu-jobs", **changes: Any) -> None:
        """The Placement that orders the config."""
        order = msgspec.structs.replace(self.order, **changes)
        annotations = {MULTIKUEUE_ANNOTATION: msgspec.json.encode(order).decode()}
        self.put(
            "placements",
            name,
            namespace=NAMESPACE,
            kind="Placement",
            metadata={"annotations": annotations, "uid": f"uid-{name}"},
            spec={},
        )

    def eligible(self, *clusters: str, name: str = "gpu-jobs") -> None:
        """OCM's decision."""
        self.put(
            "placementdecisions",
            f"{name}-decision-1",
            namespace=NAMESPACE,
            kind="PlacementDecision",
            metadata={"labels": {PLACEMENT_LABEL: name}},
            status={"decisions": [{"clusterName": name, "reason": ""} for name in clusters]},
        )

    def cluster(self, name: str, headroom: int | None = None) -> None:
        self.put("managedclusters", name, kind="ManagedCluster", spec={"hubAcceptsClient": True})
        self.put("multikueueclusters", name, spec={})
        if headroom is not None:
            self.score(name, headroom)

    def score(self, cluster: str, headroom: int, *, seconds: float = 100_000.0) -> None:
        status = {
            "scores": [{"name": RESOURCE, "value": headroom}],
            "validUntil": from_now(seconds),
        }
        self.put(
            "addonplacementscores",
            RESOURCE,
            namespace=cluster,
            kind="AddOnPlacementScore",
            status=status,
        )

    def fleet(self, **headroom: int) -> None:
        """Clusters with these scores, all of them eligible, and the Placement."""
        for name, points in headroom.items():
            self.cluster(name, points)
        self.eligible(*headroom)
        self.want()

    def config(self) -> Object | None:
        return self.get(CONFIGS, CONFIG)

    def listed(self) -> list[str]:
        """The clusters of the config, in order."""
        config = self.config()
        return [] if config is None else list(config["spec"]["clusters"])

    def edit(self, *clusters: str) -> None:
        """Somebody writes the list by hand."""
        config = self.config()
        assert config is not None
        self.someone_else = True
        kept = {"labels", "annotations", "uid"}
        metadata = {key: value for key, value in config["metadata"].items() if key in kept}
        self.put(CONFIGS, CONFIG, metadata=metadata, spec={"clusters": list(clusters)})
        self.someone_else = False

    def delete_config(self) -> None:
        self._forget((CONFIGS, "", CONFIG))

    def job(self, name: str, *, where: str = "") -> str:
        """A job that Kueue sends to the first cluster with room. Returns the cluster."""
        for cluster in [where] if where else self.listed():
            if self.room.get(cluster, 1) > 0:
                self._admit(name, cluster)
                return cluster
        self._workload(name, {"admissionChecks": [{"name": CHECK, "state": "Pending"}]})
        return ""

    def nominate(self, name: str, *clusters: str) -> None:
        """A job that waits for these clusters."""
        checks = [{"name": CHECK, "state": "Pending"}]
        self._workload(name, {"admissionChecks": checks, "nominatedClusterNames": list(clusters)})

    def finish(self, name: str) -> None:
        workload = self.get("workloads", name, namespace="team")
        assert workload is not None
        cluster = workload["status"]["clusterName"]
        conditions = [{"type": "Finished", "status": "True"}]
        self._workload(name, {**workload["status"], "conditions": conditions})
        if cluster in self.room:
            self.room[cluster] += 1

    def where(self, name: str) -> str:
        workload = self.get("workloads", name, namespace="team") or {}
        return str(workload.get("status", {}).get("clusterName", ""))

    def running(self) -> dict[str, str]:
        """The cluster of each job that runs."""
        running: dict[str, str] = {}
        for (plural, _, name), item in self.objects.items():
            status = item.get("status", {})
            if plural == "workloads" and status.get("clusterName") and not status.get("conditions"):
                running[name] = status["clusterName"]
        return running

    def _admit(self, name: str, cluster: str) -> None:
        if cluster in self.room:
            self.room[cluster] -= 1
        check = {"name": CHECK, "state": "Ready", "lastTransitionTime": from_now(0)}
        self._workload(name, {"admissionChecks": [check], "clusterName": cluster})

    def _workload(self, name: str, status: Object) -> None:
        self.put("workloads", name, namespace="team", status=status)

    def _keep(self, key: Key, item: Object) -> None:
        before = tuple(self.listed())
        if key[0] == CONFIGS:
            self._check(before, item)
        super()._keep(key, item)
        if key[0] == CONFIGS:
            self._reconcile()

    def _check(self, before: Sequence[str], item: Object) -> None:
        """The laws that one write can break."""
        after = tuple(item["spec"]["clusters"])
        self.lists.append(after)
        if self.someone_else:
            return
        if not 1 <= len(after) <= 20:
            self.broken.append(f"the list has {len(after)} clusters")
        if after == before:
            self.broken.append(f"a write without a change: {after}")
        for name, cluster in self.running().items():
            is_there = self.get("managedclusters", cluster) is not None
            if cluster in before and cluster not in after and is_there:
                self.broken.append(f"{cluster} left, where {name} runs")
        if not before or not self._only_demotes(before, after):
            seconds = wall() - self._ordered_at
            if before and seconds < self.order.reorder_seconds - self.request_seconds:
                self.broken.append(f"ordered {seconds:g} s after the last time")
            self._ordered_at = wall()

    def _only_demotes(self, before: Sequence[str], after: Sequence[str]) -> bool:
        """Whether a list has new clusters, and puts others last, and nothing else."""
        page = self.get("placementdecisions", "gpu-jobs-decision-1", namespace=NAMESPACE) or {}
        decisions = page.get("status", {}).get("decisions", [])
        eligible = {decision["clusterName"] for decision in decisions}
        ready = [name for name in before if name in eligible and self._is_reached(name)]
        return set(before) <= set(after) and [name for name in after if name in ready] == ready

    def _is_reached(self, name: str) -> bool:
        cluster = self.get("multikueueclusters", name)
        return cluster is not None and not cluster.get("status")

    def lose(self, name: str, *, returns: bool = False) -> None:
        """Kueue does not reach a cluster, or reaches it again."""
        conditions = [{"type": "Active", "status": "False", "reason": "ClientConnectionFailed"}]
        status = {} if returns else {"status": {"conditions": conditions}}
        self.put("multikueueclusters", name, spec={}, **status)

    def _reconcile(self) -> None:
        """Takes jobs away from clusters that left the list."""
        for name, cluster in self.running().items():
            if cluster not in self.listed():
                self.killed.append(name)
                self.job(name)

    def stored(self) -> MultiKueueConfig:
        return msgspec.convert(self.config(), MultiKueueConfig)


@asynccontextmanager
async def leading(hub: KueueHub) -> AsyncIterator[Replica]:
    """A replica with a claim that never ends, in the loop's time."""
    async with hub.api() as api:
        replica = Replica(api, clock=monotonic)
        controller = MultiKueueController(replica.context, namespaces=(NAMESPACE,))
        async with running(replica.view), running(controller):
            yield replica
