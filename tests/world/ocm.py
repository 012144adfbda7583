"""OCM in the world.

The placement controller, which is our exact simulator as a controller, and registration, which
reports clusters that are lost.

What is modelled of the placement controller (OCM 1.2.1, pkg/placement/controllers/scheduling): one
worker, a queue of Placements, what puts them there (enqueue.go), a look at everything each ten
minutes, and writes one after another: the pages of the decision first, then the status of the
Placement. A page is created empty, and filled by a second write. If that write changed its
clusters, its labels follow with the next pass.

What makes it look at a Placement again:

- any change of the Placement or of one of its decisions, its own writes included. A page that
  somebody edits or deletes is restored;
- a change of a score object that its ranking names, if the cluster is in a set that the namespace
  of the Placement has bound;
- a change of a cluster, of a cluster set or of a binding that concerns it.

A score that expires is not a trigger, and a decision of another Placement is none.

What is modelled of registration (OCM 1.2.1, pkg/registration/hub/lease and taint): the condition of
a cluster is Unknown as soon as its Lease was not renewed for five times its duration, and a second
controller turns the condition into a taint, whoever wrote the condition or took the taint away.
Only the agent of the cluster reports that it is available again. The namespace of a deleted cluster
stays, with its scores.

`tests/hub/test_world_ocm.py` and `tests/hub/test_world_registration.py` compare both with the real
programs, on sequences.
"""

import asyncio
import math
import random
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from gitops_dsf.hub.names import CLUSTER_SET_LABEL, PLACEMENT_LABEL
from gitops_dsf.hub.objects import (
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
    Placement,
    PlacementDecision,
    PrioritizerPolicy,
)
from gitops_dsf.hub.placements import predicate_of
from gitops_dsf.hub.scores import Interner, ScoreStatus
from gitops_dsf.hub.selectors import lenient_selector
from gitops_dsf.simulator import HubState, Outcome, Verdict, simulate_placement
from gitops_dsf.simulator.documents import read
from tests.support.apiserver import Key, Object
from tests.world.apiserver import StoredChange, WorldApiServer, stamp
from tests.world.loop import EPOCH, later, world_loop

RESYNC_SECONDS: Final = 600.0
LEASE_SECONDS: Final = 300.0
"""A cluster whose Lease was not renewed for so long is unavailable (five times the period of 60
s).
"""
RENEWAL_SECONDS: Final = 60.0
AVAILABLE: Final = "ManagedClusterConditionAvailable"
UNREACHABLE: Final = {"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}
UNAVAILABLE: Final = {"key": "cluster.open-cluster-management.io/unavailable", "effect": "NoSelect"}
REASONS: Final = {
    "True": ("ManagedClusterAvailable", "Managed cluster is available"),
    "Unknown": (
        "ManagedClusterLeaseUpdateStopped",
        "Registration agent stopped updating its lease.",
    ),
}
SCHEDULER: Final = "ocm-placement"
ETCD: Final = "etcd"
"""Who writes when a backup is restored."""
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
        self._rescored: set[str] = set()
        """Names of the score objects that changed since the state was made."""
        hub.changed.append(self.take)

    def take(self, change: StoredChange) -> None:
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
            self._rescored.add(name)
            column = self._scores[name] = dict(self._scores.get(name, {}))
            column.pop(namespace, None)
            if change.after is not None:
                column[namespace] = self._interner.of(_status(change.after))

    @property
    def fleet(self) -> HubState:
        """The state of which only the clusters, sets, bindings and Placements are up to date."""
        if self._state is None or self._dirty - {SCORES, "placementdecisions"}:
            return self.state
        return self._state

    @property
    def state(self) -> HubState:
        if self._state is None or self._dirty - {SCORES, "placementdecisions"}:
            typed = self._typed
            clusters: list[ManagedCluster] = list(typed["managedclusters"].values())
            sets: list[ManagedClusterSet] = list(typed["managedclustersets"].values())
            bindings: list[ManagedClusterSetBinding] = list(
                typed["managedclustersetbindings"].values()
            )
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
                self._state = self._state.scoring(
                    dict(self._scores), changed=frozenset(self._rescored)
                )
            if "placementdecisions" in self._dirty:
                self._state = self._state.deciding(self._typed["placementdecisions"].values())
        self._dirty.clear()
        self._rescored.clear()
        return self._state


def _status(item: Object) -> ScoreStatus | None:
    return msgspec.convert(item.get("status"), ScoreStatus | None)


@dataclass(kw_only=True)
class _Settled:
    """What a pass found that wrote nothing."""

    until: float
    """Unix time until which the next pass writes nothing either, if no object changes."""
    sums: dict[str, int]
    """Of the clusters that passed the filters."""
    chosen: frozenset[str]

    def survives(self, cluster: str, weights: Mapping[str, int], moved: Mapping[str, int]) -> bool:
        """Takes a change of the scores of a cluster, by name.

        Returns whether the same clusters win.
        """
        if cluster not in self.sums:
            return True
        change = sum(weights[name] * points for name, points in moved.items() if name in weights)
        self.sums[cluster] += change
        if not change or (change > 0) is (cluster in self.chosen):
            return True
        return not self._is_beaten()

    def _is_beaten(self) -> bool:
        """Whether a cluster that is not chosen is better than one that is.

        Of equal ones the first name wins.
        """
        worst = max(
            ((-self.sums[name], name) for name in self.chosen if name in self.sums), default=None
        )
        best = min(
            ((-self.sums[name], name) for name in self.sums.keys() - self.chosen), default=None
        )
        return worst is None or (best is not None and best < worst)


class Scheduler:
    """The placement controller. A new one begins with every Placement."""

    def __init__(self, hub: WorldApiServer, *, informers: Informers, seed: int) -> None:
        self._hub, self._informers = hub, informers
        self._random = random.Random(f"{seed} {SCHEDULER}")
        self._queue: dict[tuple[str, str], None] = {}
        self._wake = asyncio.Event()
        self._settled: dict[tuple[str, str], _Settled] = {}
        """Placements whose last pass wrote nothing, and whose inputs have not changed since, or not
        so that other clusters win. The next pass would write nothing either, so it is not carried
        out.
        """
        self._weights: dict[tuple[str, str], tuple[Placement, Mapping[str, Mapping[str, int]]]] = {}
        hub.changed.append(self._take)

    def stop(self) -> None:
        self._hub.changed.remove(self._take)

    def _take(self, change: StoredChange) -> None:
        plural, namespace, name = change.key
        if plural == "placements":
            self._settled.pop((namespace, name), None)
            self.enqueue((namespace, name))
        elif plural == SCORES:
            moved = _moved(change)
            # enqueue.go: Placements are found by the resource names of their ranking, and only in
            # the namespaces that have bound a set of the cluster.
            state = self._informers.fleet
            sets = self._sets_of(self._hub.objects.get(("managedclusters", "", namespace)))
            for key, item in state.placements.items():
                weights = self._ranked_by(key, item).get(name)
                if weights is not None:
                    settled = self._settled.get(key)
                    if settled is not None and (
                        moved is None or not settled.survives(namespace, weights, moved)
                    ):
                        del self._settled[key]
                    if not sets.isdisjoint(state.bindings.get(key[0], ())):
                        self.enqueue(key)
        elif plural == "placementdecisions":
            # A page whose label changes concerns the Placement of the old label, too.
            for page in (change.before, change.after):
                labels = (page["metadata"].get("labels") or {}) if page is not None else {}
                if PLACEMENT_LABEL in labels:
                    self._settled.pop((namespace, labels[PLACEMENT_LABEL]), None)
                    self.enqueue((namespace, labels[PLACEMENT_LABEL]))
        elif plural == "managedclusters":
            self._settled.clear()
            for cluster in (change.before, change.after):
                for key in self._using(self._sets_of(cluster)):
                    self.enqueue(key)
        elif plural == "managedclustersets":
            self._settled.clear()
            for key in self._using({name}):
                self.enqueue(key)
        elif plural == "managedclustersetbindings":
            self._settled.clear()
            for key, item in self._informers.fleet.placements.items():
                if key[0] == namespace and name in (item.spec.cluster_sets or (name,)):
                    self.enqueue(key)

    def _ranked_by(self, key: tuple[str, str], item: Placement) -> Mapping[str, Mapping[str, int]]:
        """The weights by which a Placement ranks. It is the same object until it is written."""
        known = self._weights.get(key)
        if known is None or known[0] is not item:
            known = self._weights[key] = item, _weights(item.spec.prioritizer_policy)
        return known[1]

    def _sets_of(self, cluster: Object | None) -> set[str]:
        """The sets with this cluster."""
        if cluster is None:
            return set()
        sets = self._informers.fleet.sets
        labels = cluster["metadata"].get("labels") or {}
        return {name for name, item in sets.items() if _selects(item, labels)}

    def _using(self, names: AbstractSet[str]) -> Iterator[tuple[str, str]]:
        """The Placements whose namespace has bound one of these sets, and whose spec allows it."""
        state = self._informers.fleet
        for key, item in state.placements.items():
            usable = names & set(state.bindings.get(key[0], ()))
            if usable & set(item.spec.cluster_sets or usable):
                yield key

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
        settled = self._settled.get((namespace, name))
        if settled is not None and world_loop().wall() < settled.until:
            return
        before = self._hub.version
        state = self._informers.state
        placement = state.placements.get((namespace, name))
        if placement is None:
            # In truth Kubernetes collects the pages, as the Placement owns them.
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
                if not await self._write_page(namespace, name, item):
                    return
        for page in self._pages(namespace, name):
            if page["metadata"]["name"] not in written:
                self._hub.erase(
                    SCHEDULER, "placementdecisions", page["metadata"]["name"], namespace=namespace
                )
        stored = self._hub.objects.get(("placements", namespace, name))
        if stored is not None:
            status = {
                "numberOfSelectedClusters": len(verdict.chosen),
                "decisionGroups": [
                    {
                        "decisionGroupIndex": each.index,
                        "decisionGroupName": each.name,
                        "decisions": [page.name for page in each.decisions],
                        "clusterCount": len(each.clusters),
                    }
                    for each in verdict.groups
                ],
                "conditions": self._conditions(stored, verdict),
            }
            self._hub.write(
                SCHEDULER, "placements", name, {**stored, "status": status}, namespace=namespace
            )
        if self._hub.version == before and not _depends_on_more(verdict):
            expiry = verdict.next_expiry
            self._settled[namespace, name] = _Settled(
                until=math.inf if expiry is None else expiry.timestamp(),
                sums=dict(verdict.scores or {}),
                chosen=verdict.chosen,
            )

    async def _write_page(self, namespace: str, owner: str, item: Object) -> bool:
        """Writes a page as far as it differs. False if its Placement is gone."""
        name = item["metadata"]["name"]
        key = ("placementdecisions", namespace, name)
        stored = self._hub.objects.get(key)
        if stored is None:
            placement = self._hub.objects.get(("placements", namespace, owner))
            if placement is None:
                return False
            reference = {
                "kind": "Placement",
                "name": owner,
                "uid": placement["metadata"]["uid"],
                "controller": True,
            }
            item["metadata"]["ownerReferences"] = [reference]
            # The API server drops the status of a creation.
            fresh = {**item, "status": {}}
            self._hub.write(SCHEDULER, "placementdecisions", name, fresh, namespace=namespace)
            await asyncio.sleep(self._random.uniform(0.002, 0.03))
            stored = self._hub.objects.get(key)
        if stored is None:
            return True
        decisions = item["status"]["decisions"]
        if _clusters(stored) != _clusters(item):
            fresh = {**stored, "status": {**(stored.get("status") or {}), "decisions": decisions}}
        elif stored["metadata"].get("labels") != item["metadata"]["labels"]:
            fresh = {
                **stored,
                "metadata": {**stored["metadata"], "labels": item["metadata"]["labels"]},
            }
        else:
            return True
        self._hub.write(SCHEDULER, "placementdecisions", name, fresh, namespace=namespace)
        await asyncio.sleep(self._random.uniform(0.002, 0.03))
        return True

    def _conditions(self, stored: Object, verdict: Verdict) -> list[Object]:
        """Of a Placement. The time changes with the status of a condition."""
        known = {
            each["type"]: each for each in (stored.get("status") or {}).get("conditions") or []
        }
        moment = stamp(self._hub.now())
        for each in (verdict.misconfigured, verdict.satisfied):
            if each is None:
                continue
            status = str(each.status)
            before = known.get(each.type, {})
            since = before["lastTransitionTime"] if before.get("status") == status else moment
            known[each.type] = {
                "type": each.type,
                "status": status,
                "reason": each.reason,
                "message": each.message,
                "lastTransitionTime": since,
            }
        return list(known.values())

    def _pages(self, namespace: str, name: str) -> list[Object]:
        return list(self._hub.pages(name, namespace))


def _selects(item: ManagedClusterSet, labels: Mapping[str, str]) -> bool:
    """Whether a set chooses clusters with these labels."""
    selector = item.spec.cluster_selector if item.spec else None
    if selector is None or selector.selector_type != "LabelSelector":
        return labels.get(CLUSTER_SET_LABEL) == item.metadata.name
    return selector.label_selector is not None and lenient_selector(
        selector.label_selector
    ).matches(labels)


def _clusters(page: Object) -> list[str]:
    return [each["clusterName"] for each in (page.get("status") or {}).get("decisions") or []]


def _weights(policy: PrioritizerPolicy | None) -> Mapping[str, Mapping[str, int]]:
    """The weights of the scores that rank the clusters, by name of the score object and of the
    value.
    """
    weights: dict[str, dict[str, int]] = {}
    for each in (policy.configurations if policy else None) or ():
        coordinate = each.score_coordinate
        if coordinate is not None and coordinate.type == "AddOn" and coordinate.add_on is not None:
            named = weights.setdefault(coordinate.add_on.resource_name, {})
            name = coordinate.add_on.score_name
            named[name] = named.get(name, 0) + each.weight
    return weights


def _moved(change: StoredChange) -> Mapping[str, int] | None:
    """By how much the values of a score object change for OCM; None if that cannot be said so.

    A score that is only renewed changes by nothing.
    """
    before = _status(change.before) if change.before is not None else None
    after = _status(change.after) if change.after is not None else None
    if before is None or after is None:
        return None
    until = before.valid_until
    if until != after.valid_until and (
        until is None or after.valid_until is None or after.valid_until < until
    ):
        return None
    if until is not None and until.timestamp() <= world_loop().wall() + 1.0:
        # What has expired counts as 0.
        return None
    was = {each.name: each.value for each in before.scores or ()}
    values = {each.name: each.value for each in after.scores or ()}
    return {
        name: values.get(name, 0) - was.get(name, 0)
        for name in was.keys() | values.keys()
        if was.get(name, 0) != values.get(name, 0)
    }


def _depends_on_more(verdict: Verdict) -> bool:
    """Whether the next pass may differ although no object that `_settled` looks at changed."""
    predicates = verdict.source.spec.predicates or ()
    return (
        verdict.requeue_at is not None
        or any(each.prioritizer.built_in == "Balance" for each in verdict.prioritizers)
        or any(predicate_of(each).expressions for each in predicates)
    )


class Registration:
    """Reports a cluster as unavailable when its Lease is not renewed, and as available when it is
    again.

    The condition and the taint are writes of two controllers, one after the other.
    """

    def __init__(self, hub: WorldApiServer, *, seed: int) -> None:
        self._hub = hub
        self._random = random.Random(f"{seed} {REGISTRATION}")
        self.lost: set[str] = set()
        """Clusters whose network is gone."""
        self._outages: dict[str, object] = {}
        """What tells one outage of a cluster from another."""
        self._due: set[str] = set()
        """Clusters that the taint controller will look at."""
        hub.changed.append(self._take)

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
        self._report(name, "True")

    def leave(self, name: str) -> None:
        """A cluster that people detach, with all that is in its namespace.

        OCM keeps the namespace.
        """
        self.lost.discard(name)
        self._outages.pop(name, None)
        for plural in (SCORES, "manifestworks", "managedclusteraddons"):
            for item in self._hub.of(plural, name):
                self._hub.erase(REGISTRATION, plural, item["metadata"]["name"], namespace=name)
        self._hub.erase(REGISTRATION, "managedclusters", name)

    def lose(self, name: str) -> None:
        """Its Lease was renewed up to a minute ago, and expires at its time, to the second."""
        self.lost.add(name)
        outage = self._outages[name] = object()
        later(LEASE_SECONDS - self._random.uniform(0, RENEWAL_SECONDS), self._expire, name, outage)

    def _expire(self, name: str, outage: object) -> None:
        if self._outages.get(name) is outage:
            self._report(name, "Unknown")

    def find(self, name: str) -> None:
        self.lost.discard(name)
        self._outages.pop(name, None)
        later(self._random.uniform(5, 60), self._return, name)

    def _return(self, name: str) -> None:
        if name not in self.lost:
            self._report(name, "True")

    def _report(self, name: str, status: str) -> None:
        """Writes the condition: the lease controller, or the agent when the cluster is back."""
        stored = self._hub.objects.get(("managedclusters", "", name))
        if stored is None:
            return
        conditions = stored["status"]["conditions"]
        if any(each["type"] == AVAILABLE and each["status"] == status for each in conditions):
            return
        others = [each for each in conditions if each["type"] != AVAILABLE]
        reason, message = REASONS[status]
        condition = {
            "type": AVAILABLE,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": stamp(self._hub.now()),
        }
        item = {**stored, "status": {**stored["status"], "conditions": [*others, condition]}}
        self._hub.write(REGISTRATION, "managedclusters", name, item)

    def _take(self, change: StoredChange) -> None:
        plural, _, name = change.key
        if plural == "managedclusters" and change.after is not None and name not in self._due:
            self._due.add(name)
            later(self._random.uniform(0.02, 0.3), self._taint, name)
        if plural == "managedclusters" and change.after is not None and self._hub.writer == ETCD:
            # What a restored state says of a cluster is corrected by its agent, or when its Lease
            # expires.
            if name not in self.lost:
                later(self._random.uniform(5, 60), self._return, name)
            else:
                later(LEASE_SECONDS, self._expire, name, self._outages[name])

    def _taint(self, name: str) -> None:
        """The taint controller: taints follow the condition, after every change of the cluster."""
        self._due.discard(name)
        stored = self._hub.objects.get(("managedclusters", "", name))
        if stored is None or "deletionTimestamp" in stored["metadata"]:
            return
        conditions = (stored.get("status") or {}).get("conditions") or []
        status = next(
            (each["status"] for each in conditions if each["type"] == AVAILABLE), "Unknown"
        )
        wanted = {"Unknown": UNREACHABLE, "False": UNAVAILABLE}.get(status)
        before = stored["spec"].get("taints") or []
        # A taint with these keys and another value or effect is not the controller's.
        ours = (UNREACHABLE, UNAVAILABLE)
        taints = [each for each in before if _bare(each) == wanted or _bare(each) not in ours]
        if wanted is not None and all(_bare(each) != wanted for each in taints):
            # The time is set by the webhook.
            taints.append({**wanted, "timeAdded": stamp(self._hub.now())})
        if taints == before:
            return
        spec = {key: value for key, value in stored["spec"].items() if key != "taints"}
        if taints:
            spec["taints"] = taints
        self._hub.write(REGISTRATION, "managedclusters", name, {**stored, "spec": spec})


def _bare(taint: Object) -> Object:
    """A taint without its time."""
    return {key: value for key, value in taint.items() if value and key != "timeAdded"}
