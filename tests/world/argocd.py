"""Argo CD in the world.

The sync of the rendered tree, the ApplicationSet controller, and the life of an Application from
its creation until its workload is pruned.

What is modelled of the ApplicationSet controller (Argo CD 3.6.1, applicationset/controllers):

- it looks at a set that is new, or whose spec, labels or annotations changed, except where only the
  refresh annotation went; when the spec, labels, annotations or finalizers of one of its
  Applications changed, or one is gone; and after `requeueAfterSeconds`. A PlacementDecision is no
  trigger;
- it writes the whole spec, labels, annotations and finalizers of an Application. What people added
  there goes, except the refresh annotation;
- without any decision the look is an error: it writes nothing, keeps the refresh annotation, and
  looks again after three minutes;
- an Application that two decisions name is left alone, and the others are written;
- a cluster that Argo CD does not know is skipped;
- with `applicationsSync: create-update` nothing is ever deleted. Applications of a deleted set are
  collected by Kubernetes.

Of the application controller: an Application is synced, and healthy after a while. The refresh
annotation is removed. An Application with the resources finalizer goes when its workload is gone,
which needs its cluster. Health is that of the workload. What somebody else wrote into the status,
such as a restored etcd, lasts until the next comparison: within timeout.reconciliation and its
jitter, 120 and 60 seconds (`needRefreshAppStatus` in controller/appcontroller.go, Argo CD 3.6.1).
After a status that is gone it compares at once. Where all of it runs, it does not sync again, so
the outcome of the last sync stays away.

`tests/hub/test_world_argocd.py` compares both with the real controllers, on sequences.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from gitops_dsf.hub.names import APPLICATION_LABEL, PLACEMENT_LABEL, REFRESH_ANNOTATION
from tests.support.apiserver import Key, Object
from tests.world.apiserver import StoredChange, WorldApiServer
from tests.world.fleet import ARGOCD, RenderedFleet
from tests.world.loop import later, world_loop

SETS: Final = "argocd-applicationset"
CONTROLLER: Final = "argocd-application"
SYNC: Final = "argocd-sync"
COLLECTOR: Final = "kubernetes-gc"
FINALIZER: Final = "resources-finalizer.argocd.argoproj.io"
APPLICATION_REFRESH: Final = "argocd.argoproj.io/refresh"
PRESERVED: Final = {
    "notified.notifications.argoproj.io",
    APPLICATION_REFRESH,
    "argocd.argoproj.io/hydrate",
}
"""Annotations of an Application that are not those of the template, and stay."""
ERROR_SECONDS: Final = 180.0
"""Until the next look after one that failed."""
COMPARISON_SECONDS: Final = 180.0
"""Within this time the application controller compares each Application with what runs."""


class Sync:
    """Applies a rendered tree, and prunes what is gone from it."""

    def __init__(self, hub: WorldApiServer) -> None:
        self._hub = hub
        self._applied: Mapping[Key, Object] = {}
        self._held: set[Key] = set()
        """What cannot be applied now."""

    def hold(self, key: Key, *, seconds: float) -> None:
        """Leaves an object as it is for a while: Argo CD applies the rest of a tree before it, or a
        webhook refuses this one.
        """
        self._held.add(key)

        def go_on() -> None:
            self._held.discard(key)
            self.heal()

        later(seconds, go_on)

    def apply(self, tree: RenderedFleet) -> None:
        """In order of waves: Argo CD waits for nothing here, because these kinds have no health."""
        for key, item in sorted(tree.objects.items(), key=_wave):
            self._one(key, item)
        for key in sorted(self._applied.keys() - tree.objects.keys()):
            self._hub.erase(SYNC, key[0], key[2], namespace=key[1])
        self._applied = dict(tree.objects)

    def heal(self) -> None:
        """What differs from git is applied again."""
        for key, item in sorted(self._applied.items(), key=_wave):
            self._one(key, item)

    def _one(self, key: Key, item: Object) -> None:
        plural, namespace, name = key
        if key in self._held:
            return
        stored = self._hub.objects.get(key)
        if plural in {"manifestworks", "managedclusteraddons"} and (
            ("managedclusters", "", namespace) not in self._hub.objects
        ):
            # The namespace of a cluster that never joined does not exist.
            return
        metadata = item["metadata"]
        if stored is None:
            fresh = {
                **item,
                "metadata": {
                    key: dict(value) if isinstance(value, dict) else value
                    for key, value in metadata.items()
                },
            }
            self._hub.write(SYNC, plural, name, fresh, namespace=namespace)
            return
        kept = stored["metadata"]
        merged = {
            **kept,
            "labels": {**(kept.get("labels") or {}), **(metadata.get("labels") or {})},
            "annotations": {
                **(kept.get("annotations") or {}),
                **(metadata.get("annotations") or {}),
            },
        }
        for part in ("labels", "annotations"):
            if not merged[part]:
                del merged[part]
        fields = {name: value for name, value in item.items() if name not in {"metadata", "status"}}
        self._hub.write(
            SYNC, plural, name, {**stored, **fields, "metadata": merged}, namespace=namespace
        )


def _wave(pair: tuple[Key, Object]) -> tuple[int, Key]:
    annotations = pair[1]["metadata"].get("annotations") or {}
    return int(annotations.get("argocd.argoproj.io/sync-wave", "0")), pair[0]


class ApplicationSets:
    """The ApplicationSet controller. `knows` says whether Argo CD has a Secret of a cluster."""

    def __init__(
        self,
        hub: WorldApiServer,
        *,
        seed: int,
        knows: Callable[[str], bool] = lambda _cluster: True,
    ) -> None:
        self._hub, self._knows = hub, knows
        self._random = random.Random(f"{seed} {SETS}")
        self._queue: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._due: dict[str, float] = {}
        hub.changed.append(self._take)

    def stop(self) -> None:
        self._hub.changed.remove(self._take)

    def _take(self, change: StoredChange) -> None:
        plural, _, name = change.key
        if plural == "applicationsets":
            if change.after is None:
                self._collect(change.before or {})
            elif change.before is None or _reconciles(change.before, change.after):
                self._enqueue(name)
        elif (
            plural == "applications"
            and change.before is not None
            and (change.after is None or _requeues(change.before, change.after))
        ):
            # An Application that is gone is made again, if the decision still names its cluster.
            for owner in (change.after or change.before)["metadata"].get("ownerReferences") or []:
                self._enqueue(owner["name"])

    def _collect(self, gone: Object) -> None:
        for item in self._hub.owned("applications", gone["metadata"]["uid"]):
            meta = item["metadata"]
            later(self._random.uniform(1, 10), self._erase, meta["name"], meta["uid"])

    def _erase(self, name: str, uid: str) -> None:
        stored = self._hub.objects.get(("applications", ARGOCD, name))
        if stored is not None and stored["metadata"]["uid"] == uid:
            self._hub.erase(COLLECTOR, "applications", name, namespace=ARGOCD)

    def _enqueue(self, name: str) -> None:
        self._queue[name] = None
        self._wake.set()

    async def run(self) -> None:
        for item in self._hub.of("applicationsets", ARGOCD):
            self._enqueue(item["metadata"]["name"])
        async with asyncio.TaskGroup() as group:
            group.create_task(self._requeue())
            group.create_task(self._work())

    async def _requeue(self) -> None:
        while True:
            await asyncio.sleep(5.0)
            now = world_loop().time()
            for name, at in list(self._due.items()):
                if at <= now:
                    del self._due[name]
                    self._enqueue(name)

    async def _work(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(self._random.uniform(0.05, 0.5))
            while self._queue:
                name = next(iter(self._queue))
                del self._queue[name]
                self._reconcile(name)
                await asyncio.sleep(self._random.uniform(0.005, 0.05))

    def _reconcile(self, name: str) -> None:
        item = self._hub.objects.get(("applicationsets", ARGOCD, name))
        if item is None or "deletionTimestamp" in item["metadata"]:
            self._due.pop(name, None)
            return
        generator = item["spec"]["generators"][0]["clusterDecisionResource"]
        placement = generator["labelSelector"]["matchLabels"][PLACEMENT_LABEL]
        self._due[name] = world_loop().time() + float(generator.get("requeueAfterSeconds", 180))
        pages = self._hub.pages(placement, ARGOCD)
        if not pages:
            self._due[name] = world_loop().time() + ERROR_SECONDS
            return
        named = Counter(
            each["clusterName"]
            for page in pages
            for each in (page.get("status") or {}).get("decisions") or []
        )
        for cluster in sorted(named):
            if named[cluster] == 1 and self._knows(cluster):
                self._application(item, cluster)
        annotations = dict(item["metadata"].get("annotations") or {})
        if annotations.pop(REFRESH_ANNOTATION, None) is not None:
            metadata = {**item["metadata"], "annotations": annotations}
            self._hub.write(
                SETS, "applicationsets", name, {**item, "metadata": metadata}, namespace=ARGOCD
            )

    def _application(self, owner: Object, cluster: str) -> None:
        template = _rendered(owner["spec"]["template"], cluster)
        name = template["metadata"]["name"]
        stored = self._hub.objects.get(("applications", ARGOCD, name)) or {"metadata": {}}
        kept, wanted = stored["metadata"], template["metadata"]
        references = [
            each for each in kept.get("ownerReferences") or [] if not each.get("controller")
        ]
        foreign = [each for each in kept.get("ownerReferences") or [] if each.get("controller")]
        if any(each["uid"] != owner["metadata"]["uid"] for each in foreign):
            # It stays with the set that made it.
            return
        reference = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "ApplicationSet",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        annotations = {
            key: value for key, value in (kept.get("annotations") or {}).items() if key in PRESERVED
        }
        metadata = {
            **kept,
            "labels": dict(wanted.get("labels") or {}),
            "annotations": {**(wanted.get("annotations") or {}), **annotations},
            "ownerReferences": [*references, reference],
            "finalizers": list(wanted.get("finalizers") or ()) or [FINALIZER],
        }
        if not metadata["annotations"]:
            del metadata["annotations"]
        item = {**stored, "metadata": metadata, "spec": template["spec"]}
        self._hub.write(SETS, "applications", name, item, namespace=ARGOCD)


def _rendered(template: Any, cluster: str) -> Any:
    """A template with the name of a cluster in it."""
    match template:
        case dict():
            return {key: _rendered(value, cluster) for key, value in template.items()}
        case list():
            return [_rendered(value, cluster) for value in template]
        case str():
            return template.replace("{{.name}}", cluster)
    return template


def _requeues(before: Object, after: Object) -> bool:
    """Whether a change of an Application makes the controller look at its set.

    As shouldRequeueForApplication of Argo CD 3.6.1.
    """
    was, now = before["metadata"], after["metadata"]
    parts = ("annotations", "labels", "finalizers")
    return bool(
        before["spec"] != after["spec"]
        or any((was.get(part) or None) != (now.get(part) or None) for part in parts)
    )


def _reconciles(before: Object, after: Object) -> bool:
    """Whether a change makes the controller look (shouldRequeueForApplicationSet)."""
    was, now = before["metadata"], after["metadata"]
    if before["spec"] != after["spec"] or any(
        (was.get(part) or None) != (now.get(part) or None)
        for part in ("labels", "finalizers", "deletionTimestamp")
    ):
        return True
    old, new = was.get("annotations") or {}, now.get("annotations") or {}
    return old != new and not (REFRESH_ANNOTATION in old and REFRESH_ANNOTATION not in new)


class Applications:
    """The application controller: syncs, health, refreshes and prunes."""

    def __init__(self, hub: WorldApiServer, *, seed: int, reachable: Callable[[str], bool]) -> None:
        self._hub, self._reachable = hub, reachable
        self._random = random.Random(f"{seed} {CONTROLLER}")
        self.workloads: dict[tuple[str, str], str] = {}
        """What runs: the application and cluster of each workload, and the UID of its
        Application.
        """
        self._health: dict[str, str] = {}
        """Of each workload, by the UID of its Application."""
        self._comparing: set[str] = set()
        """UIDs of Applications whose next comparison will change their status."""
        self.never_healthy = 0.0
        """How likely a new copy does not become healthy for an hour."""
        self.degraded = 0.0
        """How likely a new copy is Degraded for a while first."""
        hub.changed.append(self._take)

    def stop(self) -> None:
        self._hub.changed.remove(self._take)

    def _later(self, least: float, most: float, what: Callable[..., Any], *args: Any) -> None:
        later(self._random.uniform(least, most), what, *args)

    def _take(self, change: StoredChange) -> None:
        plural, _, name = change.key
        if plural != "applications":
            return
        if change.after is None:
            self._health.pop((change.before or {})["metadata"]["uid"], None)
            return
        meta = change.after["metadata"]
        uid = meta["uid"]
        before = change.before
        was_going = before is not None and "deletionTimestamp" in before["metadata"]
        is_going = "deletionTimestamp" in meta
        # A restored etcd may have forgotten what was synced, or a deletion that began before it
        # was.
        is_forgotten = (
            before is not None
            and not change.after.get("status")
            and (before.get("status") or (was_going and not is_going))
        )
        if before is None or is_forgotten:
            self._later(2, 40, self._synced, name, uid)
        if is_going and not was_going:
            self._later(3, 40, self._pruned, name, uid)
        if APPLICATION_REFRESH in (meta.get("annotations") or {}):
            self._later(0.5, 4, self._refreshed, name, uid)
        if uid not in self._comparing and self._is_told_otherwise(change.after):
            self._comparing.add(uid)
            self._later(1, COMPARISON_SECONDS, self._compared, name, uid)

    def _is_told_otherwise(self, item: Object) -> bool:
        """Whether its status has another health than what runs."""
        health = self._health.get(item["metadata"]["uid"])
        told = ((item.get("status") or {}).get("health") or {}).get("status")
        return None not in {health, told} and health != told

    def _compared(self, name: str, uid: str) -> None:
        item = self._stored(name, uid)
        if item is None or not self._is_told_otherwise(item):
            self._comparing.discard(uid)
        elif not self._reachable(item["spec"]["destination"]["name"]):
            # Nobody knows what runs on a cluster that is lost.
            self._later(1, COMPARISON_SECONDS, self._compared, name, uid)
        else:
            self._comparing.discard(uid)
            self._becomes(item, self._health[uid])

    def _becomes(self, item: Object, health: str, *, by_sync: bool = False) -> None:
        """What runs has this health, and its Application says so. Only a sync writes its own
        outcome.
        """
        self._health[item["metadata"]["uid"]] = health
        status = {"health": {"status": health}, "sync": {"status": "Synced"}}
        kept = (item.get("status") or {}).get("operationState")
        operation = {"phase": "Succeeded"} if by_sync else kept
        self._status(item, status | ({"operationState": operation} if operation else {}))

    def _stored(self, name: str, uid: str) -> Object | None:
        item = self._hub.objects.get(("applications", ARGOCD, name))
        return item if item is not None and item["metadata"]["uid"] == uid else None

    def _status(self, item: Object, status: Object) -> None:
        name = item["metadata"]["name"]
        self._hub.write(
            CONTROLLER, "applications", name, {**item, "status": status}, namespace=ARGOCD
        )

    def _synced(self, name: str, uid: str) -> None:
        item = self._stored(name, uid)
        if item is None or "deletionTimestamp" in item["metadata"]:
            return
        cluster = item["spec"]["destination"]["name"]
        if not self._reachable(cluster):
            self._later(30, 90, self._synced, name, uid)
            return
        if self.workloads.get((_application_of(item), cluster)) == uid:
            # A comparison finds that all of it runs, so there is nothing to sync.
            self._becomes(item, self._health[uid])
            return
        self.workloads[_application_of(item), cluster] = uid
        drawn = self._random.random()
        health = "Progressing"
        wait = (5.0, 60.0)
        if drawn < self.never_healthy:
            wait = (3000.0, 4000.0)
        elif drawn < self.never_healthy + self.degraded:
            health, wait = "Degraded", (200.0, 1200.0)
        self._becomes(item, health, by_sync=True)
        self._later(*wait, self._healthy, name, uid)

    def _healthy(self, name: str, uid: str) -> None:
        item = self._stored(name, uid)
        if item is None:
            return
        if "deletionTimestamp" in item["metadata"]:
            self._health[uid] = "Healthy"
        else:
            self._becomes(item, "Healthy")

    def break_down(self, name: str) -> None:
        """A copy that ran is Degraded for a while."""
        item = self._hub.objects.get(("applications", ARGOCD, name))
        if item is not None and item.get("status"):
            self._becomes(item, "Degraded")
            self._later(100, 1500, self._healthy, name, item["metadata"]["uid"])

    def _pruned(self, name: str, uid: str) -> None:
        item = self._stored(name, uid)
        if item is None or "deletionTimestamp" not in item["metadata"]:
            # A restored etcd forgot the deletion.
            return
        cluster = item["spec"]["destination"]["name"]
        if not self._reachable(cluster):
            self._later(30, 90, self._pruned, name, uid)
            return
        for workload, owner in list(self.workloads.items()):
            if owner == uid:
                del self.workloads[workload]
        metadata = {key: value for key, value in item["metadata"].items() if key != "finalizers"}
        self._hub.write(
            CONTROLLER, "applications", name, {**item, "metadata": metadata}, namespace=ARGOCD
        )

    def _refreshed(self, name: str, uid: str) -> None:
        item = self._stored(name, uid)
        if item is None:
            return
        annotations = dict(item["metadata"].get("annotations") or {})
        if annotations.pop(APPLICATION_REFRESH, None) is None:
            return
        metadata = {**item["metadata"], "annotations": annotations}
        if not annotations:
            del metadata["annotations"]
        self._hub.write(
            CONTROLLER, "applications", name, {**item, "metadata": metadata}, namespace=ARGOCD
        )


def _application_of(item: Object) -> str:
    return str((item["metadata"].get("labels") or {}).get(APPLICATION_LABEL, ""))
