"""Argo CD in the world: the sync of the rendered tree, the ApplicationSet controller, and the life of
an Application from its creation until its workload is pruned.

What is modelled of Argo CD 3.6.1: an ApplicationSet is reconciled when it changes, which the
refresh annotation makes happen, and after `requeueAfterSeconds`; with `applicationsSync: create-
update` nothing is ever deleted; Applications of a deleted ApplicationSet are collected by
Kubernetes; an Application with the resources finalizer goes when its workload is gone, which needs
its cluster.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Any, Final

from gitops_dsf.hub.names import PLACEMENT_LABEL, REFRESH_ANNOTATION
from tests.support.apiserver import Key, Object
from tests.world.apiserver import Change, WorldApiServer
from tests.world.fleet import ARGOCD, Rendered
from tests.world.loop import later, world_loop

SETS: Final = "argocd-applicationset"
CONTROLLER: Final = "argocd-application"
SYNC: Final = "argocd-sync"
COLLECTOR: Final = "kubernetes-gc"
FINALIZER: Final = "resources-finalizer.argocd.argoproj.io"
APPLICATION_REFRESH: Final = "argocd.argoproj.io/refresh"
HEALTHY: Final = {
    "health": {"status": "Healthy"},
    "sync": {"status": "Synced"},
    "operationState": {"phase": "Succeeded"},
}


class Sync:
    """Applies a rendered tree, and prunes what is gone from it."""

    def __init__(self, hub: WorldApiServer) -> None:
        self._hub = hub
        self._applied: Mapping[Key, Object] = {}
        self.paused: set[Key] = set()
        """Objects that somebody else keeps changing."""

    def apply(self, tree: Rendered) -> None:
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
                    key: dict(value) if isinstance(value, dict) else value for key, value in metadata.items()
                },
            }
            self._hub.write(SYNC, plural, name, fresh, namespace=namespace)
            return
        kept = stored["metadata"]
        merged = {
            **kept,
            "labels": {**(kept.get("labels") or {}), **(metadata.get("labels") or {})},
            "annotations": {**(kept.get("annotations") or {}), **(metadata.get("annotations") or {})},
        }
        for part in ("labels", "annotations"):
            if not merged[part]:
                del merged[part]
        fields = {name: value for name, value in item.items() if name not in {"metadata", "status"}}
        self._hub.write(SYNC, plural, name, {**stored, **fields, "metadata": merged}, namespace=namespace)


def _wave(pair: tuple[Key, Object]) -> tuple[int, Key]:
    annotations = pair[1]["metadata"].get("annotations") or {}
    return int(annotations.get("argocd.argoproj.io/sync-wave", "0")), pair[0]


class ApplicationSets:
    """The ApplicationSet controller."""

    def __init__(self, hub: WorldApiServer, *, seed: int) -> None:
        self._hub = hub
        self._random = random.Random(f"{seed} {SETS}")
        self._queue: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._due: dict[str, float] = {}
        hub.changed.append(self._take)

    def stop(self) -> None:
        self._hub.changed.remove(self._take)

    def _take(self, change: Change) -> None:
        plural, _, name = change.key
        if plural == "applicationsets":
            if change.after is None:
                self._collect(change.before or {})
            elif change.before is None or _reconciles(change.before, change.after):
                self._enqueue(name)
        elif plural == "applications" and change.after is None:
            # An Application that is gone is made again, if the decision still names its cluster.
            for owner in (change.before or {})["metadata"].get("ownerReferences") or []:
                self._enqueue(owner["name"])

    def _collect(self, gone: Object) -> None:
        uid = gone["metadata"]["uid"]
        for item in self._hub.of("applications", ARGOCD):
            owners = item["metadata"].get("ownerReferences") or []
            if any(owner["uid"] == uid for owner in owners):
                later(
                    self._random.uniform(1, 10),
                    self._erase,
                    item["metadata"]["name"],
                    item["metadata"]["uid"],
                )

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
        clusters = {
            each["clusterName"] for page in pages for each in page.get("status", {}).get("decisions") or []
        }
        for cluster in sorted(clusters):
            self._application(item, cluster)
        annotations = dict(item["metadata"].get("annotations") or {})
        if annotations.pop(REFRESH_ANNOTATION, None) is not None:
            metadata = {**item["metadata"], "annotations": annotations}
            self._hub.write(SETS, "applicationsets", name, {**item, "metadata": metadata}, namespace=ARGOCD)

    def _application(self, owner: Object, cluster: str) -> None:
        template = owner["spec"]["template"]
        name = template["metadata"]["name"].replace("{{.name}}", cluster)
        stored = self._hub.objects.get(("applications", ARGOCD, name))
        destination = {**template["spec"]["destination"], "name": cluster}
        reference = {
            "kind": "ApplicationSet",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        metadata = {
            **(stored["metadata"] if stored is not None else {}),
            "labels": dict(template["metadata"].get("labels") or {}),
            "ownerReferences": [reference],
            "finalizers": [FINALIZER],
        }
        item = {
            **(stored or {}),
            "metadata": metadata,
            "spec": {**template["spec"], "destination": destination},
        }
        self._hub.write(SETS, "applications", name, item, namespace=ARGOCD)


def _reconciles(before: Object, after: Object) -> bool:
    """Whether a change makes the controller look: of the spec, or of an annotation."""
    was, now = before["metadata"].get("annotations"), after["metadata"].get("annotations")
    return bool(before["spec"] != after["spec"] or was != now)


class Applications:
    """The application controller: syncs, health, refreshes and prunes."""

    def __init__(self, hub: WorldApiServer, *, seed: int, reachable: Callable[[str], bool]) -> None:
        self._hub, self._reachable = hub, reachable
        self._random = random.Random(f"{seed} {CONTROLLER}")
        self.workloads: dict[tuple[str, str], str] = {}
        """What runs: the application and cluster of each workload, and the UID of its Application."""
        self.never_healthy = 0.0
        """How likely a new copy does not become healthy for an hour."""
        self.degraded = 0.0
        """How likely a new copy is Degraded for a while first."""
        hub.changed.append(self._take)

    def stop(self) -> None:
        self._hub.changed.remove(self._take)

    def _later(self, least: float, most: float, what: Callable[..., Any], *args: Any) -> None:
        later(self._random.uniform(least, most), what, *args)

    def _take(self, change: Change) -> None:
        plural, _, name = change.key
        if plural != "applications" or change.after is None:
            return
        meta = change.after["metadata"]
        uid = meta["uid"]
        if change.before is None or (change.before.get("status") and not change.after.get("status")):
            self._later(2, 40, self._synced, name, uid)
        if "deletionTimestamp" in meta and (
            change.before is None or "deletionTimestamp" not in change.before["metadata"]
        ):
            self._later(3, 40, self._pruned, name, uid)
        if APPLICATION_REFRESH in (meta.get("annotations") or {}):
            self._later(0.5, 4, self._refreshed, name, uid)

    def _stored(self, name: str, uid: str) -> Object | None:
        item = self._hub.objects.get(("applications", ARGOCD, name))
        return item if item is not None and item["metadata"]["uid"] == uid else None

    def _status(self, item: Object, status: Object) -> None:
        name = item["metadata"]["name"]
        self._hub.write(CONTROLLER, "applications", name, {**item, "status": status}, namespace=ARGOCD)

    def _synced(self, name: str, uid: str) -> None:
        item = self._stored(name, uid)
        if item is None or "deletionTimestamp" in item["metadata"]:
            return
        cluster = item["spec"]["destination"]["name"]
        if not self._reachable(cluster):
            self._later(30, 90, self._synced, name, uid)
            return
        self.workloads[item["metadata"]["labels"]["gitops-dsf.io/application"], cluster] = uid
        drawn = self._random.random()
        health = "Progressing"
        wait = (5.0, 60.0)
        if drawn < self.never_healthy:
            wait = (3000.0, 4000.0)
        elif drawn < self.never_healthy + self.degraded:
            health, wait = "Degraded", (200.0, 1200.0)
        self._status(item, {**HEALTHY, "health": {"status": health}})
        self._later(*wait, self._healthy, name, uid)

    def _healthy(self, name: str, uid: str) -> None:
        item = self._stored(name, uid)
        if item is not None and "deletionTimestamp" not in item["metadata"]:
            self._status(item, dict(HEALTHY))

    def break_down(self, name: str) -> None:
        """A copy that ran is Degraded for a while."""
        item = self._hub.objects.get(("applications", ARGOCD, name))
        if item is not None and item.get("status"):
            self._status(item, {**HEALTHY, "health": {"status": "Degraded"}})
            self._later(100, 1500, self._healthy, name, item["metadata"]["uid"])

    def _pruned(self, name: str, uid: str) -> None:
        item = self._stored(name, uid)
        if item is None:
            return
        cluster = item["spec"]["destination"]["name"]
        if not self._reachable(cluster):
            self._later(30, 90, self._pruned, name, uid)
            return
        application = item["metadata"]["labels"].get("gitops-dsf.io/application", "")
        if self.workloads.get((application, cluster)) == uid:
            del self.workloads[application, cluster]
        metadata = {key: value for key, value in item["metadata"].items() if key != "finalizers"}
        self._hub.write(CONTROLLER, "applications", name, {**item, "metadata": metadata}, namespace=ARGOCD)

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
        self._hub.write(CONTROLLER, "applications", name, {**item, "metadata": metadata}, namespace=ARGOCD)
