"""Paced moves on real OCM, with the reconciler's own account and policies.

A herd is spread within the pace, OCM leaves a lost cluster at once while no reconciler runs,
switching the pace moves nothing by itself, and maintenance drains and cordons clusters.

The clusters are without agents, and the scores are what an agent would measure: points that are
free.
"""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.names import MAINTENANCE_CONFIGMAP, MAINTENANCE_TAINT
from gitops_dsf.hub.pace import (
    DRAW,
    HOLD_WEIGHT,
    MOVES_SCORE,
    PACE_ANNOTATION,
    PacedRanking,
    PacedTerm,
)
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.pacing.maintenance import MaintenanceState
from gitops_dsf.pacing.stored import read_moves
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import new_fleet
from tests.hub.scenario.installation import installed
from tests.hub.scenario.placements import (
    BINDING,
    DECISION,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_LABEL,
    SCORE,
    binding,
    builtin,
    clusters_in_set,
    clusters_of,
    delete_scores,
    exact,
    publish,
    score_prioritizer,
)
from tests.hub.scenario.reconciling import (
    FAST,
    HUB_NAMESPACE,
    Reconciler,
    reconciling,
    stored_moves,
)

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd"), pytest.mark.timeout(300)]

SET, SET_NAME = "pacing", "herd"
CLUSTERS = ("herd1", "herd2", "herd3", "herd4")
ARGOCD = "argocd"
RESOURCE = "free"
DEMAND = 2
PACE: Object = {"concurrent": 2, "arrivalsPerCluster": 1, "settleSeconds": 20, "cooldownSeconds": 0}
CONFIG_MAP = "v1/ConfigMap"


@dataclass(kw_only=True)
class Herd:
    """Applications without ApplicationSets: a move ends when OCM has followed."""

    plane: ControlPlane
    hub: Client
    free: dict[str, int] = field(default_factory=dict)
    """Points that a cluster has free without any application."""
    names: tuple[str, ...] = ()

    def place(
        self, count: int, *, paced: bool = True, refuges: bool = False, clusters: int = 1
    ) -> None:
        """Placements of so many clusters each."""
        self.names = tuple(f"herd-{number:02}" for number in range(count))
        for name in self.names:
            self.hub.apply(self.placement(name, paced=paced, refuges=refuges, clusters=clusters))

    def placement(
        self, name: str, *, paced: bool = True, refuges: bool = False, clusters: int = 1
    ) -> Object:
        terms, annotations = [score_prioritizer(RESOURCE, RESOURCE)], dict[str, str]()
        if paced:
            terms += [
                score_prioritizer(MOVES_SCORE, f"{ARGOCD}/{name}", weight=HOLD_WEIGHT),
                builtin("Steady", weight=HOLD_WEIGHT),
            ]
            term = PacedTerm(RESOURCE, RESOURCE, 1, demand=DEMAND, delay=20)
            ranking = PacedRanking((term,), steady=0, refuges=refuges)
            annotations[PACE_ANNOTATION] = msgspec.json.encode(ranking).decode()
        spec = {
            "clusterSets": [SET_NAME],
            "numberOfClusters": clusters,
            "prioritizerPolicy": exact(*terms),
        }
        return manifest(
            PLACEMENT, name, namespace=ARGOCD, meta={"annotations": annotations}, spec=spec
        )

    def where(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {name: [] for name in self.names}
        for page in self.hub.list(DECISION, namespace=ARGOCD):
            found.get(page["metadata"]["labels"][PLACEMENT_LABEL], []).extend(clusters_of(page))
        return {name: tuple(sorted(clusters)) for name, clusters in found.items()}

    def counts(self) -> Counter[str]:
        return Counter(cluster for clusters in self.where().values() for cluster in clusters)

    def measure(self) -> dict[str, int]:
        """Publishes what is free on each cluster now, as its agent would; returns it."""
        counts = self.counts()
        found = {
            name: max(-100, min(100, free - DEMAND * counts[name]))
            for name, free in self.free.items()
        }
        for cluster, value in found.items():
            publish(self.hub, cluster, RESOURCE, {RESOURCE: value})
        return found

    def all_on(self, cluster: str) -> None:
        self.becomes({cluster: len(self.names)}, what=f"all on {cluster}")

    def becomes(self, counts: dict[str, int], *, what: str) -> None:
        """Waits until so many Placements have decided for the clusters."""
        wait_for(lambda: self.counts() == counts, what=what, seen=self.where)

    def is_admitted(self, running: Reconciler) -> None:
        wait_for(lambda: admitted(running) >= 1, what="a move is admitted", seen=self.ledger)

    def loses_taint(self, cluster: str) -> None:
        """Waits until ours is gone."""
        wait_for(
            lambda: MAINTENANCE_TAINT not in self.taints(cluster),
            what=f"the taint of {cluster} is gone",
            seen=lambda: self.taints(cluster),
        )

    def leaves_nothing(self) -> None:
        wait_for(lambda: self.items() == {}, what="the items are gone", seen=self.items)

    def ledger(self) -> Ledger:
        return stored_moves(self.hub).ledger

    def items(self) -> dict[str, dict[str, int]]:
        """The published items by cluster, all of one moment."""
        by_cluster = dict[str, dict[str, int]]()
        for score in self.hub.list(SCORE):
            meta, items = score["metadata"], score.get("status", {}).get("scores")
            if meta["name"] == MOVES_SCORE and meta["namespace"] in CLUSTERS and items:
                by_cluster[meta["namespace"]] = {item["name"]: item["value"] for item in items}
        return by_cluster

    def maintain(self, *windows: Object) -> None:
        """Writes the ConfigMap as `render` does."""
        data = {"maintenance": msgspec.json.encode(windows).decode()}
        self.hub.patch(CONFIG_MAP, MAINTENANCE_CONFIGMAP, {"data": data}, namespace=HUB_NAMESPACE)

    def maintenance(self) -> MaintenanceState:
        """Who is left on clusters that are drained."""
        return stored_moves(self.hub).maintenance

    def taints(self, cluster: str) -> dict[str, str]:
        """Effects of the taints by key."""
        spec = self.hub.get(MANAGED_CLUSTER, cluster)["spec"]
        return {each["key"]: each["effect"] for each in spec.get("taints") or ()}

    def refuges(self) -> dict[str, str]:
        """The clusters of standing items by name of the Placement."""
        found = dict[str, str]()
        for cluster, items in self.items().items():
            found |= {
                name.partition("/")[2]: cluster for name, value in items.items() if value == DRAW
            }
        return found

    def reconciling(self, pace: Object | None = PACE, **more: Any) -> Any:
        spec = {"pace": pace} if pace is not None else {}
        return reconciling(self.plane, spec=spec, name="pacing-reconciler", speed=FAST, **more)

    def forget(self) -> None:
        """Takes away what a test left."""
        for name in self.names:
            self.hub.delete(PLACEMENT, name, namespace=ARGOCD)
        for item in self.hub.list(DECISION, namespace=ARGOCD):
            # Else they are collected later, when a Placement of the same name has taken them over.
            if item["metadata"].get("labels", {}).get(PLACEMENT_LABEL) in self.names:
                self.hub.delete(DECISION, item["metadata"]["name"], namespace=ARGOCD)
        self.names = ()
        self.maintain()
        self.hub.delete(CONFIG_MAP, MOVES_SCORE, namespace=HUB_NAMESPACE)
        delete_scores(self.hub, *CLUSTERS)
        for cluster in CLUSTERS:
            self.hub.patch(MANAGED_CLUSTER, cluster, {"spec": {"taints": None}})


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client
) -> Iterator[Herd]:
    fleet = new_fleet(git_server, SET, clusters=["cluster1"], guestbook=False)
    with (
        installed(fleet, control_plane),
        clusters_in_set(control_plane, SET_NAME, {name: {} for name in CLUSTERS}),
    ):
        hub.apply(binding(SET_NAME, namespace=ARGOCD))
        yield Herd(plane=control_plane, hub=hub)
        hub.delete(BINDING, SET_NAME, namespace=ARGOCD)


@pytest.fixture
def herd(scene: Herd) -> Iterator[Herd]:
    scene.free = dict.fromkeys(CLUSTERS, 0) | {"herd1": 100}
    scene.measure()
    yield scene
    scene.forget()


class History:
    """Every version of the decisions and of the ledger since a moment, in the order of the API
    server.
    """

    def __init__(self, herd: Herd) -> None:
        self._herd, self._paths = herd, {}
        for kind, namespace in ((DECISION, ARGOCD), (CONFIG_MAP, HUB_NAMESPACE)):
            path = herd.hub.path(kind, namespace=namespace)
            self._paths[path] = str(herd.hub.request("GET", path)["metadata"]["resourceVersion"])
        self._where, self._seen = herd.where(), dict[int, Object]()

    def read(self) -> None:
        """Reads on. In time: an API server forgets old versions."""
        for path, version in self._paths.items():
            for item in self._herd.hub.changes(path, since=version):
                self._paths[path] = item["metadata"]["resourceVersion"]
                self._seen[int(self._paths[path])] = item

    def judge(self, pace: Object) -> list[tuple[str, str, str]]:
        """The moves in their order.

        Each was admitted and under way when OCM made it, and the pace held.
        """
        self.read()
        moves, under_way = list[tuple[str, str, str]](), set[tuple[str, str, str]]()
        for version in sorted(self._seen):
            item = self._seen[version]
            if item["metadata"]["name"] == MOVES_SCORE:
                ledger = read_moves(item["data"]).ledger
                under_way = {
                    (each.placement.partition("/")[2], each.source, each.target)
                    for each in ledger.under_way
                    if each.admitted
                }
                arrivals = Counter(target for _, _, target in under_way)
                assert len(under_way) <= pace["concurrent"], ledger
                assert max(arrivals.values(), default=0) <= pace["arrivalsPerCluster"], ledger
                continue
            name = item["metadata"].get("labels", {}).get(PLACEMENT_LABEL)
            if (
                name in self._where
                and (found := tuple(sorted(clusters_of(item)))) != self._where[name]
            ):
                (source,), (target,) = self._where[name], found
                moves.append((name, source, target))
                assert moves[-1] in under_way, f"{moves[-1]} among {under_way}"
                self._where[name] = found
        return moves


def admitted(reconciler: Reconciler) -> float:
    return reconciler.metric("paced_moves_admitted_total") or 0.0


def test_a_herd_is_spread_within_the_pace(herd: Herd) -> None:
    """Twenty applications on a cluster with 40 points, others with 62, 58 and 55: never more than
    two under way, and within ten points of even at the end.
    """
    herd.place(20)
    herd.all_on("herd1")
    herd.free = {"herd1": 40 + 20 * DEMAND, "herd2": 62, "herd3": 58, "herd4": 55}
    assert herd.measure() == {"herd1": 40, "herd2": 62, "herd3": 58, "herd4": 55}
    most = 0
    with herd.reconciling() as running:
        ends = time.monotonic() + 120
        while time.monotonic() < ends:
            free = herd.measure()
            under_way = {each.placement for each in herd.ledger().under_way}
            most = max(
                most,
                len(under_way),
                len({name for items in herd.items().values() for name in items}),
            )
            if max(free.values()) - min(free.values()) < 2 * DEMAND and not under_way:
                break
            time.sleep(0.5)
        free = herd.measure()
        assert max(free.values()) - min(free.values()) <= 10, (herd.counts(), herd.ledger())
        assert 1 <= most <= PACE["concurrent"]
        before = herd.where()
        hold_for(lambda: herd.where() == before, what="nobody moves back", seconds=2)
        # The scores of this test lag behind the moves, so that one of them may be mended by
        # another.
        assert 20 - herd.counts()["herd1"] <= admitted(running) <= 10
        herd.leaves_nothing()


def test_a_lost_cluster_is_left_without_a_reconciler(herd: Herd) -> None:
    """OCM decides at once, also for an application whose move was admitted and never carried
    out.
    """
    herd.place(5)
    herd.all_on("herd1")
    with herd.reconciling({**PACE, "concurrent": 1}) as running:
        herd.free |= {"herd2": 100}
        herd.measure()
        herd.is_admitted(running)
        running.freeze()
        taint = {"spec": {"taints": [{"key": "test", "effect": "NoSelect"}]}}
        herd.hub.patch(MANAGED_CLUSTER, "herd1", taint)
        wait_for(
            lambda: "herd1" not in herd.counts() and sum(herd.counts().values()) == 5,
            what="all left",
            seen=herd.where,
        )


def test_without_a_reconciler_no_move_begins(herd: Herd) -> None:
    """Whatever the scores do."""
    herd.place(3)
    herd.all_on("herd1")
    for free in ({"herd1": -100, "herd2": 100}, {"herd1": -100, "herd2": -100, "herd4": 100}):
        herd.free |= free
        herd.measure()
        hold_for(lambda: herd.counts() == {"herd1": 3}, what="nobody moves", seconds=1.5)


def test_the_pace_is_switched_on_and_off(herd: Herd) -> None:
    """On: nobody moves.

    Off: those move that the scores ask for, and what the pace left is taken away.
    """
    herd.place(3, paced=False)
    herd.all_on("herd1")
    herd.free = {"herd1": 50, "herd2": 60, "herd3": 0, "herd4": 0}
    herd.place(3)
    herd.measure()
    with herd.reconciling({**PACE, "concurrent": 1, "settleSeconds": 600}) as running:
        herd.is_admitted(running)
        herd.becomes({"herd1": 2, "herd2": 1}, what="OCM followed")
        hold_for(
            lambda: herd.counts() == {"herd1": 2, "herd2": 1}, what="the others wait", seconds=2
        )
    with herd.reconciling(None):
        wait_for(lambda: herd.ledger() == Ledger(), what="the ledger is empty", seen=herd.ledger)
        herd.leaves_nothing()
        assert herd.counts() == {"herd1": 2, "herd2": 1}
        herd.place(3, paced=False)
        herd.all_on("herd2")


KEPT = {"key": "example.com/kept", "effect": "PreferNoSelect"}


def window(action: str, *clusters: str, seconds: float = 86_400) -> Object:
    """One that is open for so long."""
    now = time.time()
    return {
        "name": f"{action.lower()}-now",
        "action": action,
        "clusters": list(clusters),
        "start": timestamp_of(now - 60),
        "end": timestamp_of(now + seconds),
    }


def test_a_drain_goes_on_whoever_dies(herd: Herd) -> None:
    """Fifty applications leave the cluster that is best by its scores, each one once and within the
    pace, while the reconciler is killed twice. The taint goes when the window ends, nobody returns,
    and the taint of somebody else stays.
    """
    herd.place(50)
    herd.all_on("herd1")
    herd.free = {"herd1": 200, "herd2": 60, "herd3": 58, "herd4": 56}
    herd.measure()
    herd.hub.patch(MANAGED_CLUSTER, "herd1", {"spec": {"taints": [KEPT]}})
    history = History(herd)
    herd.maintain(window("Drain", "herd1"))
    pace = {"concurrent": 6, "arrivalsPerCluster": 2, "settleSeconds": 1, "cooldownSeconds": 600}

    def left(count: int) -> bool:
        return herd.measure() != {} and herd.counts()["herd1"] <= count

    for count in (34, 17):
        with herd.reconciling(pace) as running:
            wait_for(partial(left, count), what=f"{count} left", seen=herd.ledger)
            os.kill(running.process.pid, signal.SIGKILL)
        history.read()
    with herd.reconciling(pace) as running:
        wait_for(lambda: left(0), what="none left", seen=herd.ledger)
        assert herd.taints("herd1") == {
            KEPT["key"]: "PreferNoSelect",
            MAINTENANCE_TAINT: "NoSelectIfNew",
        }
        wait_for(
            lambda: [(each.count, each.late) for each in herd.maintenance().drains] == [(0, False)],
            what="the drain is done",
            seen=herd.maintenance,
        )
        wait_for(
            lambda: running.series("maintenance_left") == {'{cluster="herd1"}': 0.0},
            what="the metric says so",
            seen=lambda: running.series("maintenance_left"),
        )
        wait_for(
            lambda: not list(herd.ledger().under_way), what="every move has ended", seen=herd.ledger
        )
        herd.free["herd1"] = -50
        herd.measure()
        herd.maintain(window("Drain", "herd1", seconds=1))
        herd.loses_taint("herd1")
        assert herd.taints("herd1") == {KEPT["key"]: "PreferNoSelect"}
        hold_for(lambda: not herd.counts()["herd1"], what="nobody returns", seconds=2)
    moves = history.judge(pace)
    assert Counter(name for name, _, _ in moves) == dict.fromkeys(herd.names, 1)
    assert {source for _, source, _ in moves} == {"herd1"}
    assert sum(herd.counts().values()) == 50


def test_a_cordon_ends_with_its_window(herd: Herd) -> None:
    """New applications go elsewhere while it is open. Freeze holds what Drain would move."""
    herd.free = {"herd1": 80, "herd2": 100, "herd3": 40, "herd4": 0}
    herd.measure()
    # A paced one would stay where OCM sent it before it knew these scores.
    herd.place(1, paced=False)
    herd.all_on("herd2")
    herd.place(1)
    drain, freeze = window("Drain", "herd2"), window("Freeze", "herd2")
    herd.maintain(window("Cordon", "herd1"), drain, freeze)
    with herd.reconciling() as running:
        wait_for(
            lambda: all(
                MAINTENANCE_TAINT in herd.taints(cluster) for cluster in ("herd1", "herd2")
            ),
            what="both are cordoned",
            seen=running.process.tail,
        )
        herd.hub.apply(herd.placement("late"))
        herd.names += ("late",)
        wait_for(
            lambda: herd.where()["late"] == ("herd3",), what="it goes elsewhere", seen=herd.where
        )
        # However long all this took, the window ends while the reconciler watches.
        herd.maintain(window("Cordon", "herd1", seconds=5), drain, freeze)
        herd.loses_taint("herd1")
        assert herd.where()["herd-00"] == ("herd2",)
        assert MAINTENANCE_TAINT in herd.taints("herd2")
        herd.maintain(drain)
        wait_for(lambda: herd.where()["herd-00"] == ("herd1",), what="it leaves", seen=herd.where)


def test_a_lost_cluster_is_left_for_the_refuges_without_a_reconciler(herd: Herd) -> None:
    """Twenty applications on a cluster that becomes unreachable, others with 62, 58 and 55 points:
    they are within ten points of even at once, and nothing moved before.
    """
    herd.free = {"herd1": 90, "herd2": 62, "herd3": 58, "herd4": 55}
    herd.measure()
    herd.place(20, refuges=True)
    herd.all_on("herd1")
    with herd.reconciling({**PACE, "refuges": True}) as running:
        wait_for(lambda: len(herd.refuges()) == 20, what="all have a refuge", seen=herd.items)
        hold_for(lambda: herd.counts() == {"herd1": 20}, what="a refuge moves nobody", seconds=2)
        assert admitted(running) == 0
    planned = herd.refuges()
    herd.plane.set_available("herd1", "Unknown")
    try:
        wait_for(
            lambda: herd.where() == {name: (cluster,) for name, cluster in planned.items()},
            what="all went to their refuges",
            seen=herd.where,
        )
        assert herd.plane.taints("herd1") == ["cluster.open-cluster-management.io/unreachable"]
        free = herd.measure()
        left = [free[name] for name in ("herd2", "herd3", "herd4")]
        assert max(left) - min(left) <= 10, herd.counts()
        with herd.reconciling({**PACE, "refuges": True}):

            def have_others() -> bool:
                """The items of each cluster are written on their own."""
                refuges, where = herd.refuges(), herd.where()
                return refuges.keys() == where.keys() and all(
                    where[name] != (cluster,) for name, cluster in refuges.items()
                )

            wait_for(have_others, what="all have another cluster as a refuge", seen=herd.items)
    finally:
        herd.plane.set_available("herd1", "True")


def test_a_placement_of_two_clusters_leaves_the_one_that_was_admitted(herd: Herd) -> None:
    """Although the scores would have it leave the other one, as soon as an item draws it to the
    target.
    """
    herd.free = {"herd1": 60, "herd2": 50, "herd3": 0, "herd4": 0}
    for cluster, value in herd.free.items():
        publish(herd.hub, cluster, RESOURCE, {RESOURCE: value})
    herd.place(1, refuges=True, clusters=2)
    name = herd.names[0]
    wait_for(
        lambda: set(herd.where()[name]) == {"herd1", "herd2"},
        what="the first decision",
        seen=herd.where,
    )
    publish(herd.hub, "herd3", RESOURCE, {RESOURCE: 90})
    seen = set()

    def moved() -> bool:
        clusters = herd.where()[name]
        seen.add(clusters)
        return set(clusters) == {"herd1", "herd3"}

    with herd.reconciling({**PACE, "refuges": True}):
        wait_for(moved, what="herd2 is left for herd3", seen=herd.where)
        wait_for(lambda: herd.refuges().keys() == {name}, what="a refuge again", seen=herd.items)
        hold_for(lambda: set(herd.where()[name]) == {"herd1", "herd3"}, what="it stays", seconds=1)
    assert all("herd1" in clusters for clusters in seen), seen
