"""A hub with paced Placements whose moves are verified.

An Argo CD that makes copies, agents that publish how the application does on each cluster, and the
laws of verified moves at each write.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec

from dsf_runtime.clock import monotonic
from gitops_dsf.hub.names import ACKNOWLEDGED_STOP_ANNOTATION
from gitops_dsf.hub.pace import (
    MOVES_SCORE,
    PACE_ANNOTATION,
    PacedRanking,
    PacedTerm,
    Verification,
    VerifiedBy,
)
from gitops_dsf.pacing.ledger import Ledger, LedgerMove, VerificationOutcome
from gitops_dsf.reconciler.maintenance import MaintenanceController
from gitops_dsf.reconciler.moves.controller import MoveController
from gitops_dsf.reconciler.pacing.controller import PaceController
from gitops_dsf.repository.model.reconciler import Pace
from tests.integration.reconciler.pacing.pacehub import PACE, RESOURCE, PaceHub
from tests.integration.reconciler.replica import Replica, running
from tests.support.apiserver import Key, Object
from tests.support.hubobjects import ARGOCD, HUB, stamp
from tests.support.virtual_time import wall
from tests.unit.simulator.hub import exact

SLO = "shop-slo"
GOOD = {
    "health": {"status": "Healthy"},
    "sync": {"status": "Synced"},
    "operationState": {"phase": "Succeeded"},
}
CHECK = VerifiedBy(
    scorer=SLO,
    resource=SLO,
    dimension="shop",
    at_least=80,
    for_seconds=600.0,
    delay=60.0,
    range=60.0,
    lifetime=900.0,
)
VERIFICATION = Verification(checks=(CHECK,), seconds=1800.0, hold_seconds=21_600.0, revision="r1")


class VerifyHub(PaceHub):
    """Every application is called after its Placement."""

    def __init__(self, *, pace: Pace = PACE, verification: Verification = VERIFICATION) -> None:
        super().__init__(pace=pace)
        self.verification = verification
        self.quality: dict[str, int | None] = {}
        """How applications do on a cluster; None: the agent is dead. 90 by default."""
        self.healthy = True
        """Whether new copies become healthy."""
        self.removed: list[str] = []
        """The copies that were deleted, in order."""
        self._slo: dict[str, tuple[int, float]] = {}
        """What each cluster published, and when."""

    def place(self, name: str, cluster: str, *, refuges: bool = False) -> None:
        """An application that runs on a cluster."""
        self.verified_by(name, self.verification, refuges=refuges)
        self.decide(name, cluster)
        labels = {"matchLabels": {"cluster.open-cluster-management.io/placement": name}}
        self.put(
            "applicationsets",
            name,
            namespace=ARGOCD,
            metadata={
                "uid": f"set-{name}",
                "annotations": {"gitops-dsf.io/moves-strategy": "MakeBeforeBreak"},
            },
            spec={
                "generators": [
                    {"clusterDecisionResource": {"configMapRef": "x", "labelSelector": labels}}
                ],
                "template": {"metadata": {"name": f"{name}-{{{{.name}}}}"}},
                "syncPolicy": {"applicationsSync": "create-update"},
            },
        )
        self.copy(name, cluster)

    def verified_by(
        self, name: str, verification: Verification | None, *, refuges: bool = False
    ) -> None:
        """Writes the Placement of an application."""
        term = PacedTerm(RESOURCE, RESOURCE, 1, demand=self.demand, delay=self.delay)
        ranking = PacedRanking((term,), steady=0, refuges=refuges, verification=verification)
        policy = exact(
            (f"{RESOURCE}/{RESOURCE}", 1), (f"{MOVES_SCORE}/{ARGOCD}/{name}", 10), ("Steady", 10)
        )
        self.put(
            "placements",
            name,
            namespace=ARGOCD,
            kind="Placement",
            metadata={
                "uid": f"placement-{name}",
                "annotations": {PACE_ANNOTATION: msgspec.json.encode(ranking).decode()},
            },
            spec={"numberOfClusters": 1, "prioritizerPolicy": policy},
            status={"numberOfSelectedClusters": 1},
        )

    def decide(self, placement: str, *clusters: str, **metadata: Any) -> None:
        owner = {
            "kind": "Placement",
            "name": placement,
            "uid": f"placement-{placement}",
            "controller": True,
        }
        super().decide(placement, *clusters, ownerReferences=[owner], **metadata)
        for cluster in clusters:
            asyncio.get_running_loop().call_later(3.0, self._generate, placement, cluster)

    def _generate(self, name: str, cluster: str) -> None:
        """What Argo CD makes of a decision that still holds."""
        if self.where(name) == cluster and f"{name}-{cluster}" not in self.copies():
            self.copy(name, cluster, healthy=self.healthy)

    def copy(self, name: str, cluster: str, *, healthy: bool = True) -> None:
        """The Application of a cluster, with the same UID each time."""
        owner = {"kind": "ApplicationSet", "name": name, "uid": f"set-{name}", "controller": True}
        self.put(
            "applications",
            f"{name}-{cluster}",
            namespace=ARGOCD,
            metadata={
                "uid": f"copy-{name}-{cluster}",
                "labels": {"gitops-dsf.io/application": name},
                "ownerReferences": [owner],
                "finalizers": ["resources-finalizer.argocd.argoproj.io"],
            },
            spec={"destination": {"name": cluster, "namespace": name}},
            status=GOOD if healthy else {**GOOD, "health": {"status": "Degraded"}},
        )

    def copies(self) -> list[str]:
        return sorted(name for plural, _, name in self.objects if plural == "applications")

    def acknowledge(self, text: str) -> None:
        """A person annotates the ledger."""
        item = self.get("configmaps", MOVES_SCORE, namespace=HUB)
        assert item is not None
        annotations = {ACKNOWLEDGED_STOP_ANNOTATION: text}
        metadata = {**item["metadata"], "annotations": annotations}
        self._keep(("configmaps", HUB, MOVES_SCORE), {**item, "metadata": metadata})

    def outcomes(self) -> list[str]:
        return [str(move.outcome) for move in self.ledger().moves if move.outcome is not None]

    async def agents(self) -> None:
        """Publishes the score of each cluster when it changed, and now and then."""
        while True:
            for plural, _, cluster in tuple(self.objects):
                if plural != "managedclusters":
                    continue
                value = self.quality.get(cluster, 90)
                last, written = self._slo.get(cluster, (0, -1e9))
                refresh = self.verification.checks[0].lifetime / 2
                if value is None or (value == last and wall() < written + refresh):
                    continue
                self.publish(cluster, value)
            await asyncio.sleep(10)

    def publish(self, cluster: str, value: int) -> None:
        """Writes the score of a cluster now."""
        self._slo[cluster] = (value, wall())
        lifetime = self.verification.checks[0].lifetime
        until = stamp(datetime.fromtimestamp(wall() + lifetime, UTC))
        self.put(
            "addonplacementscores",
            SLO,
            namespace=cluster,
            kind="AddOnPlacementScore",
            status={"scores": [{"name": "shop", "value": value}], "validUntil": until},
        )

    def _forget(self, key: Key) -> None:
        if key[0] == "applications":
            self._check_removal(key)
            self.removed.append(key[2])
        super()._forget(key)

    def _check_removal(self, key: Key) -> None:
        """No copy goes while its move is verified, and never the last healthy one."""
        item = self.objects[key]
        name = item["metadata"]["labels"]["gitops-dsf.io/application"]
        cluster = item["spec"]["destination"]["name"]
        others = [
            other
            for (plural, _, _), other in self.objects.items()
            if plural == "applications"
            and other is not item
            and other["metadata"]["labels"]["gitops-dsf.io/application"] == name
            and other["status"]["health"]["status"] == "Healthy"
        ]
        if not others:
            self.broken.append(f"{key[2]} was the last healthy copy")
        for move in self.ledger().under_way:
            is_open = move.verified and not move.passed_at
            if move.placement == f"{ARGOCD}/{name}" and move.source == cluster and is_open:
                self.broken.append(f"{key[2]} was deleted while its move was {move.phase}")

    def _check_pace(self) -> None:
        super()._check_pace()
        check_ledger(self)


def check_ledger(hub: VerifyHub) -> None:
    """What may never be in a ledger, whatever happened before."""
    moves = hub.ledger().moves
    for move in moves:
        if move.passed_at and move.outcome is VerificationOutcome.RETURNED:
            hub.broken.append(f"{move.placement} passed and returned")
        if move.returning and (move.verified or move.outcome is VerificationOutcome.RETURNED):
            hub.broken.append(f"the return of {move.placement} is verified")
        if move.outcome is VerificationOutcome.RETURNED and not _move_back(hub.ledger(), move):
            hub.broken.append(f"{move.placement} returned, and no move back is in the ledger")


def _move_back(ledger: Ledger, move: LedgerMove) -> bool:
    # The move back is forgotten with the other one, or later.
    return any(
        other.returning and other.placement == move.placement and other.target == move.source
        for other in ledger.moves
    )


@asynccontextmanager
async def verifying(hub: VerifyHub, *, pace: Pace | None = None) -> AsyncIterator[Replica]:
    """A replica that leads, with all controllers of moves."""
    async with hub.api() as api:
        replica = Replica(api, clock=monotonic)
        controller = PaceController(replica.context, pace=pace or hub.pace)
        moves = MoveController(replica.context)
        taints = MaintenanceController(replica.context)
        async with (
            running(replica.view),
            running(controller),
            running(moves),
            running(taints),
        ):
            yield replica


@asynccontextmanager
async def publishing(hub: VerifyHub) -> AsyncIterator[None]:
    """The agents run."""
    task = asyncio.create_task(hub.agents())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def shops(hub: VerifyHub, *, count: int = 1, free: dict[str, int] | None = None) -> None:
    """Applications on eu-1 that would gain on us-1."""
    with hub.nobody_decides():
        for number in range(count):
            hub.place("shop" if not number else f"shop-{number}", "eu-1")
        for name, points in (free or {"eu-1": 40, "us-1": 62}).items():
            hub.cluster(name, points)


def ledger_item(hub: VerifyHub) -> Object:
    item = hub.get("configmaps", MOVES_SCORE, namespace=HUB)
    assert item is not None
    return item
