"""A hub with paced Placements.

An API server whose decisions are those of the simulator, at once after every write, as OCM's are.
It checks the laws of paced moves at each write.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec

from dsf_runtime.clock import monotonic
from gitops_dsf.hub.names import MAINTENANCE_CONFIGMAP, MAINTENANCE_KEY
from gitops_dsf.hub.pace import MOVES_SCORE, PACE_ANNOTATION, PacedRanking, PacedTerm
from gitops_dsf.pacing.ledger import Ledger, LedgerMove
from gitops_dsf.pacing.maintenance import MaintenanceState
from gitops_dsf.pacing.stored import StoredMoves, read_moves
from gitops_dsf.reconciler.maintenance import MaintenanceController
from gitops_dsf.reconciler.pacing.controller import PaceController
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState, simulate
from tests.integration.reconciler.replica import Replica, running
from tests.support.apiserver import Key, Object
from tests.support.hubobjects import ARGOCD, HUB
from tests.support.objecthub import ObjectHub
from tests.support.virtual_time import wall
from tests.unit.simulator.hub import GROUP, exact

RESOURCE = "free"
PACE = Pace(concurrent=2, arrivals_per_cluster=1, settle_seconds=30, cooldown_seconds=0)
TRIGGERS = {"addonplacementscores", "managedclusters", "placements"}
KINDS = {
    "addonplacementscores": "AddOnPlacementScore",
    "managedclusters": "ManagedCluster",
    "placements": "Placement",
    "managedclustersets": "ManagedClusterSet",
    "managedclustersetbindings": "ManagedClusterSetBinding",
    "placementdecisions": "PlacementDecision",
}


class PaceHub(ObjectHub):
    """Watches tell every change."""

    def __init__(
        self, *, pace: Pace = PACE, demand: int = 5, delay: float = 0.0, measures: bool = True
    ) -> None:
        """`delay` is what the rankings say about the scores.

        They show a move at once, or never if nothing `measures`.
        """
        super().__init__(live=True)
        self.pace, self.demand, self.delay, self.measures = pace, demand, delay, measures
        self.moved: list[tuple[str, str, str]] = []
        """Name, source and target of each change of a decision, in order."""
        self.broken: list[str] = []
        """How a law was broken."""
        self._deciding = False
        set_object = {"selectorType": "LabelSelector", "labelSelector": {}}
        self.add(
            {
                "kind": "ManagedClusterSet",
                "metadata": {"name": "all"},
                "spec": {"clusterSelector": set_object},
            },
            {"kind": "ManagedClusterSetBinding", "metadata": {"name": "all", "namespace": ARGOCD}},
        )
        self.maintain()

    def maintain(self, *windows: Object) -> None:
        """The ConfigMap that `render` writes."""
        data = {MAINTENANCE_KEY: msgspec.json.encode(windows).decode()}
        self.put("configmaps", MAINTENANCE_CONFIGMAP, namespace=HUB, data=data)

    def maintenance(self) -> MaintenanceState:
        """What the reconciler says of maintenance."""
        return self._moves().maintenance

    def configmap(self) -> object:
        """The data of the ConfigMap that the reconciler writes."""
        return (self.get("configmaps", MOVES_SCORE, namespace=HUB) or {}).get("data")

    def _moves(self) -> StoredMoves:
        return read_moves(self.configmap())

    def taints(self, cluster: str) -> list[Object]:
        found = self.get("managedclusters", cluster)
        assert found is not None
        return list(found["spec"].get("taints") or [])

    def cluster(self, name: str, free: int, **spec: Any) -> None:
        self.put(
            "managedclusters", name, kind="ManagedCluster", spec={"hubAcceptsClient": True, **spec}
        )
        self.score(name, free)

    def score(self, cluster: str, free: int) -> None:
        status = {"scores": [{"name": RESOURCE, "value": free}]}
        self.put(
            "addonplacementscores",
            RESOURCE,
            namespace=cluster,
            kind="AddOnPlacementScore",
            status=status,
        )

    def place(self, name: str, cluster: str, *, refuges: bool = False) -> None:
        """A paced Placement that has decided for a cluster."""
        self.decide(name, cluster)
        term = PacedTerm(RESOURCE, RESOURCE, 1, demand=self.demand, delay=self.delay)
        ranking = PacedRanking((term,), steady=0, refuges=refuges)
        policy = exact(
            (f"{RESOURCE}/{RESOURCE}", 1), (f"{MOVES_SCORE}/{ARGOCD}/{name}", 10), ("Steady", 10)
        )
        self.put(
            "placements",
            name,
            namespace=ARGOCD,
            kind="Placement",
            metadata={"annotations": {PACE_ANNOTATION: msgspec.json.encode(ranking).decode()}},
            spec={"numberOfClusters": 1, "prioritizerPolicy": policy},
        )

    def where(self, name: str) -> str:
        found = self.get("placementdecisions", f"{name}-decision-1", namespace=ARGOCD)
        assert found is not None
        return str(found["status"]["decisions"][0]["clusterName"])

    def ledger(self) -> Ledger:
        return self._moves().ledger

    def items(self) -> dict[str, dict[str, int]]:
        """The published items by cluster."""
        found = {
            namespace: {
                each["name"]: each["value"] for each in item.get("status", {}).get("scores", [])
            }
            for (plural, namespace, name), item in self.objects.items()
            if plural == "addonplacementscores" and name == MOVES_SCORE
        }
        return {cluster: items for cluster, items in found.items() if items}

    def _keep(self, key: Key, item: Object) -> None:
        super()._keep(key, item)
        if key[0] == "configmaps":
            self._check_pace()
        if key[0] in TRIGGERS and not self._deciding:
            with self.nobody_decides():
                self._decide()

    @contextmanager
    def nobody_decides(self) -> Iterator[None]:
        """OCM is away."""
        self._deciding = True
        try:
            yield
        finally:
            self._deciding = False

    def _documents(self) -> list[Object]:
        return [
            {**item, "kind": KINDS[plural], "apiVersion": f"{GROUP}/v1"}
            for (plural, _, _), item in self.objects.items()
            if plural in KINDS
        ]

    def _decide(self) -> None:
        """Every Placement, as OCM does after a change of what it reads."""
        state = HubState.build(self._documents())
        now = datetime.fromtimestamp(wall(), UTC)
        for namespace, name in state.placements:
            verdict = simulate(state, f"{namespace}/{name}", now)
            if verdict.chosen != verdict.current:
                source, target = min(verdict.current), min(verdict.chosen, default="")
                feasible = source in (verdict.scores or {})
                if feasible:
                    self._check_move(f"{namespace}/{name}", source, target)
                self.moved.append((name, source, target))
                self.decide(name, *sorted(verdict.chosen))
                self._measure(source, +self.demand)
                self._measure(target, -self.demand)

    def _measure(self, cluster: str, points: int) -> None:
        """The score of a cluster shows a move at once."""
        if not self.measures:
            return
        found = self.get("addonplacementscores", RESOURCE, namespace=cluster)
        if found is not None:
            self.score(cluster, found["status"]["scores"][0]["value"] + points)

    def _check_move(self, key: str, source: str, target: str) -> None:
        admitted = [
            each for each in self.ledger().under_way if each.admitted and each.placement == key
        ]
        if not any((each.source, each.target) == (source, target) for each in admitted):
            self.broken.append(f"{key} moved from {source} to {target}, and nobody admitted that")

    def _check_pace(self) -> None:
        under_way = [each for each in self.ledger().under_way if each.admitted]
        if len(under_way) > self.pace.concurrent:
            self.broken.append(f"{len(under_way)} moves are under way: {under_way}")
        arrivals = Counter(each.target for each in under_way)
        self.broken += [
            f"{count} arrive at {cluster}"
            for cluster, count in arrivals.items()
            if count > self.pace.arrivals_per_cluster
        ]

    def admitted(self) -> list[LedgerMove]:
        """The moves of the ledger that were admitted."""
        return [each for each in self.ledger().moves if each.admitted]


@asynccontextmanager
async def leading(hub: PaceHub, *, pace: Pace | None = PACE) -> AsyncIterator[Replica]:
    """A replica with a claim that never ends, in the loop's time."""
    async with hub.api() as api:
        replica = Replica(api, clock=monotonic)
        controller = PaceController(replica.context, pace=pace)
        taints = MaintenanceController(replica.context)
        async with running(replica.view), running(controller), running(taints):
            yield replica


def herd(
    hub: PaceHub, free: Mapping[str, int], *, count: int, on: str, refuges: bool = False
) -> None:
    """Clusters with these points, and applications that are all on one of them."""
    with hub.nobody_decides():
        for number in range(count):
            hub.place(f"app-{number}", on, refuges=refuges)
        for name, points in free.items():
            hub.cluster(name, points)
