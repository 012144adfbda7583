"""When a paced move ends.

The ApplicationSets that follow it have a good copy on the new cluster, and those whose moves the
reconciler completes have none on the old one. Until then it counts against the pace.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from gitops_dsf.hub.moves.waiting import read_waits
from gitops_dsf.pacing.ledger import LedgerMove
from gitops_dsf.reconciler.moves.controller import MoveController
from tests.integration.reconciler.pacing.pacehub import PaceHub, herd, leading
from tests.integration.reconciler.replica import in_time, running
from tests.support.hubobjects import ARGOCD

FREE = {"c1": 40, "c2": 62}
"""An application that takes 5 moves from c1 to c2."""
GOOD = ("Healthy", "Synced")


def application_set(hub: PaceHub, name: str = "web", *, policy: str = "create-update") -> None:
    """It follows app-0.

    With `create-update` the reconciler, and not Argo CD, deletes old copies.
    """
    labels = {"matchLabels": {"cluster.open-cluster-management.io/placement": "app-0"}}
    hub.put(
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
            "syncPolicy": {"applicationsSync": policy},
        },
    )


def copy(hub: PaceHub, cluster: str, health: str, sync: str, *, of: str = "web") -> None:
    owner = {"kind": "ApplicationSet", "name": of, "uid": f"set-{of}", "controller": True}
    hub.put(
        "applications",
        f"{of}-{cluster}",
        namespace=ARGOCD,
        metadata={"uid": f"copy-{of}-{cluster}", "ownerReferences": [owner]},
        spec={"destination": {"name": cluster, "namespace": of}},
        status={"health": {"status": health}, "sync": {"status": sync}},
    )


def remove_copy(hub: PaceHub, cluster: str, *, of: str = "web") -> None:
    hub.remove(
        {"kind": "Application", "metadata": {"name": f"{of}-{cluster}", "namespace": ARGOCD}}
    )


def unavailable(hub: PaceHub, cluster: str) -> None:
    """OCM does not reach it. It gets no taint here, so that the decision stays as it is."""
    condition: dict[str, Any] = {"type": "ManagedClusterConditionAvailable", "status": "Unknown"}
    hub.put("managedclusters", cluster, kind="ManagedCluster", status={"conditions": [condition]})


def is_over(hub: PaceHub) -> bool:
    return bool(hub.moved) and not list(hub.ledger().under_way)


def phases(hub: PaceHub) -> list[str]:
    return [str(each.phase) for each in hub.ledger().moves]


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    new: tuple[str, str] | None = GOOD
    """Health and sync of the copy on c2."""
    old: bool = False
    """Whether c1 still has a copy."""
    unavailable: str = ""
    """A cluster that OCM does not reach."""
    policy: str = "create-update"
    over: bool


CASES = [
    Case(name="the new copy is good and the old one is gone", over=True),
    Case(name="no new copy", new=None, over=False),
    Case(name="the new copy is not healthy", new=("Progressing", "Synced"), over=False),
    Case(name="the new copy is not synced", new=("Healthy", "OutOfSync"), over=False),
    Case(
        name="not healthy where Argo CD deletes",
        new=("Degraded", "Synced"),
        policy="sync",
        over=False,
    ),
    Case(name="the old copy still runs", old=True, over=False),
    Case(name="the old copy is not ours to delete", old=True, policy="sync", over=True),
    Case(name="the old copy is out of reach", old=True, unavailable="c1", over=True),
    Case(name="the new copy is out of reach", unavailable="c2", over=False),
    Case(
        name="the old copy runs, the new one is out of reach",
        old=True,
        unavailable="c2",
        over=False,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_move_lasts_until_the_copies_are_handed_over(case: Case) -> None:
    async with PaceHub() as hub:
        herd(hub, FREE, count=1, on="c1")
        application_set(hub, policy=case.policy)
        if case.old:
            copy(hub, "c1", *GOOD)
        if case.new is not None:
            copy(hub, "c2", *case.new)
        if case.unavailable:
            unavailable(hub, case.unavailable)
        async with leading(hub) as replica:
            await in_time(lambda: hub.moved == [("app-0", "c1", "c2")], what="OCM follows")
            # Long after a move that is over is known, and before it is forgotten.
            await asyncio.sleep(20)
            assert phases(hub) == ["Ended" if case.over else "Handover"]
            assert replica.metric("paced_moves_under_way") == (0 if case.over else 1)
            assert len(hub.events("MoveEnded")) == (1 if case.over else 0)


async def test_every_applicationset_that_follows_must_have_handed_over() -> None:
    async with PaceHub() as hub:
        herd(hub, FREE, count=1, on="c1")
        for name in ("web", "jobs"):
            application_set(hub, name)
            copy(hub, "c1", *GOOD, of=name)
            copy(hub, "c2", *GOOD, of=name)
        async with leading(hub):
            await in_time(lambda: bool(hub.moved), what="OCM follows")
            remove_copy(hub, "c1", of="jobs")
            await asyncio.sleep(600)
            assert phases(hub) == ["Handover"]
            remove_copy(hub, "c1", of="web")
            await asyncio.sleep(5)
            assert phases(hub) == ["Ended"]


async def test_copies_of_others_do_not_hand_over() -> None:
    """Neither a good copy on another cluster, nor one of another ApplicationSet.

    An admitted move waits for its own for as long as it takes.
    """
    async with PaceHub() as hub:
        herd(hub, FREE, count=1, on="c1")
        application_set(hub)
        copy(hub, "c3", *GOOD)
        copy(hub, "c2", *GOOD, of="other")
        async with leading(hub):
            await in_time(lambda: bool(hub.moved), what="OCM follows")
            await asyncio.sleep(1900)
            assert phases(hub) == ["Handover"]


async def test_the_next_move_begins_when_the_last_one_is_handed_over() -> None:
    """Within seconds: a change of an Application wakes the reconciler."""
    async with PaceHub() as hub:
        herd(hub, FREE, count=1, on="c1")
        application_set(hub)
        copy(hub, "c2", "Progressing", "Synced")
        async with leading(hub):
            await in_time(lambda: bool(hub.moved), what="OCM follows")
            await asyncio.sleep(600)
            copy(hub, "c2", *GOOD)
            await asyncio.sleep(2)
            assert is_over(hub)


async def test_an_arrival_that_nobody_admitted_counts_for_half_an_hour_at_most() -> None:
    """Its cluster was lost, so it may never become healthy.

    One that is good counts until then only.
    """
    async with PaceHub() as hub:
        herd(hub, {"c1": 40, "c2": 41}, count=1, on="c1")
        application_set(hub)
        async with leading(hub):
            await in_time(lambda: bool(hub.ledger().decided), what="a first look")
            hub.remove({"kind": "ManagedCluster", "metadata": {"name": "c1"}})
            hub.score("c2", 41)
            await in_time(lambda: bool(hub.ledger().moves), what="an arrival")
            began = asyncio.get_running_loop().time()
            found: list[LedgerMove] = list(hub.ledger().moves)
            assert [(each.target, each.admitted, str(each.phase)) for each in found] == [
                ("c2", False, "Handover")
            ]
            await asyncio.sleep(1800 - 30 - (asyncio.get_running_loop().time() - began))
            assert phases(hub) == ["Handover"]
            await asyncio.sleep(60)
            assert not list(hub.ledger().under_way)


async def test_the_ledger_and_the_reasons_of_waits_share_a_configmap() -> None:
    """Two controllers write keys of it.

    Neither loses what the other one wrote, and the move ends.
    """
    async with PaceHub() as hub:
        herd(hub, FREE, count=1, on="c1")
        application_set(hub)
        copy(hub, "c1", *GOOD)
        async with leading(hub) as replica, running(MoveController(replica.context)):
            await in_time(lambda: phases(hub) == ["Handover"], what="the handover")
            await in_time(lambda: read_waits(hub.configmap()), what="a reason")
            (wait,) = read_waits(hub.configmap())
            assert (wait.application_set, wait.cluster, wait.reason) == ("web", "c1", "NotRendered")
            assert str(wait.cause) == "pace: +22.0 points by the written weights"
            assert phases(hub) == ["Handover"]
            remove_copy(hub, "c1")
            copy(hub, "c2", *GOOD)
            await in_time(lambda: is_over(hub), what="the end")
            await in_time(lambda: not read_waits(hub.configmap()), what="no reason")
            assert hub.broken == []
