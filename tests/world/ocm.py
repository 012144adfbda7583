"""OCM in the world: the placement controller, which is our exact simulator as a controller, and
registration, which reports clusters that are lost.

What is modelled of the controller (OCM 1.2.1, pkg/placement/controllers/scheduling): one worker, a
queue of Placements, its triggers, a look at everything each ten minutes, and writes one after
another: the pages of the decision first, then the status of the Placement. A score that expires is
no trigger. `tests/hub/test_world.py` compares it with the real controller on recorded sequences.
"""

import asyncio
import random
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.hub.objects import (
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
    Placement,
    PlacementDecision,
)
from gitops_dsf.hub.scores import Interner, ScoreStatus
from gitops_dsf.simulator import HubState, simulate_placement
from gitops_dsf.simulator.documents import read
from gitops_dsf.simulator.verdict import Outcome
from tests.support.apiserver import Key, Object
from tests.world.apiserver import Change, WorldApiServer
from tests.world.loop import EPOCH, later, world_loop

RESYNC_SECONDS: Final = 600.0
LEASE_SECONDS: Final = 300.0
"""A cluster whose Lease was not renewed for so long is unavailable (five times the period of 60 s)."""
UNREACHABLE: Final = {"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}
SCHEDULER: Final = "ocm-placement"
REGISTRATION: Final = "ocm-registration"
KINDS: Final = {
    "managedclusters": "ManagedCluster",
    "managedclustersets": "ManagedClusterSet",
    "managedclustersetbindings": "ManagedClusterSetBinding",
    "placements": "Placement",
    "placementdecisions": "PlacementDecision",
}
SCORES: Final = "addonplacementscores"


class Informers:
    """The typed objects of the hub, as the scheduler's informers have them."""

    def __init__(self, hub: WorldApiServer) -> None:
        self._typed: dict[str, dict[Key, Any]] = {plural: {} for plural in KINDS}
        self._scores: dict[str, dict[str, Any]] = {}
        self._interner = Interner()
        self._state: HubState | None = None
        self._dirty: set[str] = set()
        hub.changed.append(self.take)

    def take(self, change: Change) -> None:
        plural, namespace, name = change.key
        if plural in KINDS:
            self._dirty.add(plural)
            if change.after is None:
                self._typed[plural].pop(change.key, None)
            else:
                item = {
                    **change.after,
                    "kind": KINDS[plural],
                    "apiVersion": "cluster.open-cluster-management.io/v1",
                }
                self._typed[plural][change.key] = read(item, 0)
        elif plural == SCORES:
            self._dirty.add(plural)
            column = self._scores[name] = dict(self._scores.get(name, {}))
            column.pop(namespace, None)
            if change.after is not None:
                column[namespace] = self._interner.of(_status(change.after))

    @property
    def state(self) -> HubState:
        if self._state is None or self._dirty - {SCORES, "placementdecisions"}:
            typed = self._typed
            clusters: list[ManagedCluster] = list(typed["managedclusters"].values())
            sets: list[ManagedClusterSet] = list(typed["managedclustersets"].values())
            bindings: list[ManagedClusterSetBinding] = list(typed["managedclustersetbindings"].values())
            placements: list[Placement] = list(typed["placements"].values())
            decisions: list[PlacementDecision] = list(typed["placementdecisions"].values())
            self._state = HubState.of(
                clusters=clusters,
                sets=sets,
                bindings=[(each.metadata.namespace or "", each.metadata.name) for each in bindings],
                placements=placements,
                decisions=decisions,
                scores=dict(self._scores),
            )
        else:
            if SCORES in self._dirty:
                self._state = self._state.scoring(dict(self._scores))
            if "placementdecisions" in self._dirty:
                self._state = self._state.deciding(self._typed["placementdecisions"].values())
        self._dirty.clear()
        return self._state


def _status(item: Object) -> ScoreStatus | None:
    return msgspec.convert(item.get("status"), ScoreStatus | None)


class Scheduler:
    """The placement controller. A new one begins with every Placement."""

    def __init__(self, hub: WorldApiServer, *, informers: Informers, seed: int) -> None:
        self._hub, self._informers = hub, informers
        self._random = random.Random(f"{seed} {SCHEDULER}")
        self._queue: dict[tuple[str, str], None] = {}
        self._wake = asyncio.Event()
        hub.changed.append(self._take)

    def stop(self) -> None:
        self._hub.changed.remove(self._take)

    def _take(self, change: Change) -> None:
        plural, namespace, name = change.key
        if plural == "placements":
            if change.after is not None and (
                change.before is None or change.before.get("spec") != change.after.get("spec")
            ):
                self.enqueue((namespace, name))
        elif plural == SCORES:
            for key, item in self._informers.state.placements.items():
                if f'"{name}"' in _resources(item):
                    self.enqueue(key)
        elif plural == "placementdecisions":
            if change.after is None and self._hub.writer != SCHEDULER:
                labels = (change.before or {})["metadata"].get("labels") or {}
                self.enqueue((namespace, labels.get(PLACEMENT_LABEL, "")))
        elif plural in KINDS:
            self.enqueue_all()

    def enqueue(self, key: tuple[str, str]) -> None:
        self._queue[key] = None
        self._wake.set()

    def enqueue_all(self) -> None:
        for item in self._hub.of("placements"):
            self.enqueue((item["metadata"]["namespace"], item["metadata"]["name"]))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._resync())
            group.create_task(self._work())

    async def _resync(self) -> None:
        while True:
            self.enqueue_all()
            await asyncio.sleep(RESYNC_SECONDS)

    async def _work(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(self._random.uniform(0.01, 0.3))
            while self._queue:
                key = next(iter(self._queue))
                del self._queue[key]
                await self._schedule(*key)

    async def _schedule(self, namespace: str, name: str) -> None:
        state = self._informers.state
        placement = state.placements.get((namespace, name))
        if placement is None:
            for page in self._pages(namespace, name):
                self._hub.erase(
                    SCHEDULER, "placementdecisions", page["metadata"]["name"], namespace=namespace
                )
            return
        now = datetime.fromtimestamp(world_loop().wall(), UTC)
        verdict = simulate_placement(placement, state=state, now=now)
        if verdict.outcome is not Outcome.SCHEDULED:
            return
        if verdict.requeue_at is not None:
            later(
                max(0.0, verdict.requeue_at.timestamp() - EPOCH - world_loop().time()),
                self.enqueue,
                (namespace, name),
            )
        written = set[str]()
        for group in verdict.groups:
            for wanted in group.decisions:
                written.add(wanted.name)
                item: Any = wanted.to_object()
                stored = self._hub.objects.get(("placementdecisions", namespace, wanted.name))
                if stored is not None and _same_page(stored, item):
                    continue
                owner = self._hub.objects.get(("placements", namespace, name))
                if owner is None:
                    return
                reference = {
                    "kind": "Placement",
                    "name": name,
                    "uid": owner["metadata"]["uid"],
                    "controller": True,
                }
                item["metadata"]["ownerReferences"] = [reference]
                self._hub.write(SCHEDULER, "placementdecisions", wanted.name, item, namespace=namespace)
                await asyncio.sleep(self._random.uniform(0.002, 0.03))
        for page in self._pages(namespace, name):
            if page["metadata"]["name"] not in written:
                self._hub.erase(
                    SCHEDULER, "placementdecisions", page["metadata"]["name"], namespace=namespace
                )
        stored = self._hub.objects.get(("placements", namespace, name))
        if stored is not None:
            groups = [
                {
                    "decisionGroupIndex": each.index,
                    "decisionGroupName": each.name,
                    "clusterCount": len(each.clusters),
                }
                for each in verdict.groups
            ]
            status = {"numberOfSelectedClusters": len(verdict.chosen), "decisionGroups": groups}
            self._hub.write(SCHEDULER, "placements", name, {**stored, "status": status}, namespace=namespace)

    def _pages(self, namespace: str, name: str) -> list[Object]:
        return list(self._hub.pages(name, namespace))


def _same_page(stored: Object, item: Object) -> bool:
    return bool(
        stored.get("status") == item["status"]
        and stored["metadata"].get("labels") == item["metadata"]["labels"]
    )


def _resources(item: Placement) -> str:
    """The Placement's ranking as text, in which the names of scores are quoted."""
    policy = item.spec.prioritizer_policy
    return "" if policy is None else msgspec.json.encode(policy).decode()


class Registration:
    """Reports a cluster as unavailable when its Lease is not renewed, and as available when it is again."""

    def __init__(self, hub: WorldApiServer, *, seed: int) -> None:
        self._hub = hub
        self._random = random.Random(f"{seed} {REGISTRATION}")
        self.lost: set[str] = set()
        """Clusters whose network is gone."""
        self._tasks: set[asyncio.Task[None]] = set()

    def join(self, name: str) -> None:
        """A cluster that people accept."""
        kinds = ("HubAcceptedManagedCluster", "ManagedClusterJoined")
        conditions = [{"type": kind, "status": "True"} for kind in kinds]
        item = {
            "kind": "ManagedCluster",
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "metadata": {"labels": {"name": name}},
            "spec": {"hubAcceptsClient": True},
            "status": {"conditions": conditions},
        }
        self._hub.write(REGISTRATION, "managedclusters", name, item)
        self._report(name, available=True)

    def leave(self, name: str) -> None:
        """A cluster that people detach: its namespace goes, too."""
        self.lost.discard(name)
        for plural in (SCORES, "manifestworks", "managedclusteraddons"):
            for item in self._hub.of(plural, name):
                self._hub.erase(REGISTRATION, plural, item["metadata"]["name"], namespace=name)
        self._hub.erase(REGISTRATION, "managedclusters", name)

    def lose(self, name: str) -> None:
        self.lost.add(name)
        self._after(LEASE_SECONDS + self._random.uniform(0, 60), name)

    def find(self, name: str) -> None:
        self.lost.discard(name)
        self._after(self._random.uniform(5, 60), name)

    def _after(self, seconds: float, name: str) -> None:
        later(seconds, lambda: self._report(name, available=name not in self.lost))

    def _report(self, name: str, *, available: bool) -> None:
        stored = self._hub.objects.get(("managedclusters", "", name))
        if stored is None:
            return
        status = "True" if available else "Unknown"
        kind = "ManagedClusterConditionAvailable"
        conditions = stored["status"]["conditions"]
        if any(each["type"] == kind and each["status"] == status for each in conditions):
            return
        moment = datetime.fromtimestamp(int(self._hub.now()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        others = [each for each in conditions if each["type"] != kind]
        taints = [each for each in stored["spec"].get("taints") or [] if each["key"] != UNREACHABLE["key"]]
        if not available:
            taints.append({**UNREACHABLE, "timeAdded": moment})
        spec = {key: value for key, value in stored["spec"].items() if key != "taints"}
        if taints:
            spec["taints"] = taints
        condition = {"type": kind, "status": status, "lastTransitionTime": moment}
        item = {**stored, "spec": spec, "status": {**stored["status"], "conditions": [*others, condition]}}
        self._hub.write(REGISTRATION, "managedclusters", name, item)
