"""Verified moves by the reconciler, as whole stories in virtual time.

OCM is the simulator, Argo CD makes copies, and agents publish how the application does.
"""

import asyncio
from itertools import cycle

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.pacing.ledger import LedgerMove
from tests.integration.reconciler.pacing.pacehub import PACE
from tests.integration.reconciler.pacing.verifyhub import (
    CHECK,
    VERIFICATION,
    VerifyHub,
    ledger_item,
    publishing,
    shops,
    verifying,
)
from tests.integration.reconciler.replica import in_time
from tests.support import virtual_time
from tests.support.heldrequest import HeldRequest
from tests.support.hubobjects import HUB
from tests.support.laws import every, examples
from tests.support.virtual_time import wall

QUICK_CHECK = replace(CHECK, for_seconds=40.0, delay=10.0, range=10.0, lifetime=100.0)
QUICK = replace(VERIFICATION, checks=(QUICK_CHECK,), seconds=240.0, hold_seconds=600.0)
"""So that a story lasts a few minutes."""


def is_settled(hub: VerifyHub) -> bool:
    return bool(hub.moved) and not list(hub.ledger().under_way) and not hub.items()


def the_move(hub: VerifyHub) -> LedgerMove:
    """The only verified move of the ledger."""
    [move] = [move for move in hub.ledger().moves if move.verified]
    return move


def is_verifying(hub: VerifyHub) -> bool:
    return [str(move.phase) for move in hub.ledger().moves] == ["Verifying"]


async def test_a_move_whose_checks_hold_completes() -> None:
    async with VerifyHub() as hub:
        shops(hub)
        async with publishing(hub), verifying(hub):
            await in_time(lambda: is_verifying(hub), what="the new copy is verified")
            began = asyncio.get_running_loop().time()
            await asyncio.sleep(590)
            assert hub.copies() == ["shop-eu-1", "shop-us-1"]
            assert "GET applicationsets/shop" not in hub.asked, "no deletion was tried"
            await in_time(lambda: is_settled(hub), what="the move completed")
            # 120 s until a score has measured the new copy only, then 600 s.
            assert 720 <= asyncio.get_running_loop().time() - began < 760
            assert the_move(hub).outcome == "Completed"
        assert hub.where("shop") == "us-1"
        assert hub.removed == ["shop-eu-1"]
        assert hub.broken == []


async def test_an_application_that_does_worse_returns_by_itself() -> None:
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub)
        hub.quality["us-1"] = 62
        async with publishing(hub), verifying(hub):
            await in_time(lambda: "shop-us-1" in hub.copies(), what="a new copy")
            await in_time(lambda: hub.removed, what="a copy was removed")
            await in_time(lambda: is_settled(hub), what="the return ended")
            ledger = hub.ledger()
            assert the_move(hub).outcome == "Returned"
            [back] = [move for move in ledger.moves if move.returning]
            assert str(back.cause) == "return: shop-slo/shop 62 of at least 80"
            [hold] = ledger.holds
            assert (hold.placement, hold.target, hold.returns) == ("argocd/shop", "us-1", 1)
            await asyncio.sleep(500)
        assert hub.where("shop") == "eu-1"
        assert hub.removed == ["shop-us-1"]
        assert hub.moved == [("shop", "eu-1", "us-1"), ("shop", "us-1", "eu-1")]
        assert hub.broken == []


@pytest.mark.parametrize(
    ("on_unknown", "outcome", "copies"),
    [
        ("Hold", None, ["shop-eu-1", "shop-us-1"]),
        ("Return", "Returned", ["shop-eu-1"]),
        ("Complete", "UnknownCompleted", ["shop-us-1"]),
    ],
)
async def test_when_nobody_knows_how_the_application_does(
    on_unknown: str, outcome: str | None, copies: list[str]
) -> None:
    """The agent of the new cluster is dead, and its score of before is good and still valid."""
    async with VerifyHub(verification=replace(QUICK, on_unknown=on_unknown)) as hub:
        shops(hub)
        hub.publish("us-1", 95)
        hub.quality["us-1"] = None
        async with publishing(hub), verifying(hub):
            await in_time(lambda: is_verifying(hub), what="the new copy is verified")
            await asyncio.sleep(230)
            assert hub.copies() == ["shop-eu-1", "shop-us-1"]
            await asyncio.sleep(60)
            assert the_move(hub).outcome == outcome
            assert hub.copies() == copies
            if on_unknown == "Hold":
                await asyncio.sleep(1000)
                assert hub.copies() == copies
                assert is_verifying(hub)
                hub.quality["us-1"] = 90
                await in_time(lambda: is_settled(hub), what="it passes when somebody knows")
                assert hub.copies() == ["shop-us-1"]
        assert hub.broken == []


async def test_a_short_dip_is_seen_and_begins_the_time_anew() -> None:
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub)
        async with publishing(hub), verifying(hub):
            await in_time(
                lambda: is_verifying(hub) and the_move(hub).checks[0].held_since,
                what="the score holds",
            )
            since = the_move(hub).checks[0].held_since
            hub.publish("us-1", 50)
            hub.publish("us-1", 90)
            await asyncio.sleep(2)
            again = the_move(hub).checks[0].held_since
            assert since is not None
            assert again is not None
            assert again > since
            await in_time(lambda: is_settled(hub), what="it passes at last")
            assert the_move(hub).passed_at >= again + 40
        assert hub.broken == []


async def test_a_score_that_changes_and_stays_good_writes_nothing() -> None:
    verification = replace(QUICK, checks=(replace(QUICK_CHECK, for_seconds=3000.0),), seconds=9e3)
    async with VerifyHub(verification=verification) as hub:
        shops(hub)
        async with publishing(hub), verifying(hub):
            await in_time(
                lambda: is_verifying(hub) and the_move(hub).checks[0].held_since,
                what="the score holds",
            )
            await asyncio.sleep(30)
            hub.asked.clear()
            before = hub.get("configmaps", "gitops-dsf-moves", namespace=HUB)
            for value in (95, 81, 99):
                hub.quality["us-1"] = value
                await asyncio.sleep(60)
            assert [word for word in hub.asked if word.startswith("PUT configmaps")] == []
            assert hub.get("configmaps", "gitops-dsf-moves", namespace=HUB) == before


async def test_a_new_copy_that_never_gets_healthy_goes_back() -> None:
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub)
        hub.healthy = False
        async with publishing(hub), verifying(hub):
            await in_time(lambda: hub.outcomes() == ["Returned"], what="it returned")
            assert the_move(hub).detail == "us-1 has no healthy copy after 240 s"
            await in_time(lambda: is_settled(hub), what="the return ended")
        assert hub.copies() == ["shop-eu-1"]
        assert hub.broken == []


async def test_a_target_that_is_lost_while_it_is_verified_costs_nothing() -> None:
    """OCM goes back to where a healthy copy still runs, although no refuges are planned.

    Another cluster has better scores.
    """
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub, free={"eu-1": 40, "us-1": 62, "us-2": 61})
        async with publishing(hub), verifying(hub):
            await in_time(lambda: is_verifying(hub), what="the new copy is verified")
            await in_time(lambda: hub.items() == {"eu-1": {"argocd/shop": 50}}, what="a way back")
            taint = {"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}
            condition = {"type": "ManagedClusterConditionAvailable", "status": "Unknown"}
            hub.put(
                "managedclusters",
                "us-1",
                kind="ManagedCluster",
                spec={"hubAcceptsClient": True, "taints": [taint]},
                status={"conditions": [condition]},
            )
            await asyncio.sleep(60)
            assert hub.where("shop") == "eu-1"
            assert "Overtaken" in hub.outcomes()
        assert "shop-eu-1" in hub.copies()
        assert hub.broken == []


async def test_no_worse_than_the_old_copy_was() -> None:
    """60 is bad, and the old copy had 65."""
    check = replace(QUICK_CHECK, at_least=None, no_worse_than=10)
    async with VerifyHub(verification=replace(QUICK, checks=(check,))) as hub:
        hub.quality |= {"eu-1": 65, "us-1": 60}
        shops(hub)
        hub.publish("eu-1", 65)
        async with publishing(hub), verifying(hub):
            await in_time(lambda: is_verifying(hub), what="the new copy is verified")
            assert (the_move(hub).checks[0].before, the_move(hub).checks[0].at_least) == (65, 55)
            hub.quality["eu-1"] = 100
            await in_time(lambda: is_settled(hub), what="the move completed")
        assert hub.copies() == ["shop-us-1"]


async def test_a_ledger_that_is_deleted_costs_no_copy_and_verifies_anew() -> None:
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub)
        async with publishing(hub), verifying(hub):
            await in_time(lambda: is_verifying(hub), what="the new copy is verified")
            hub._forget(("configmaps", HUB, "gitops-dsf-moves"))
            await in_time(
                lambda: hub.configmap() and is_verifying(hub), what="it is verified again"
            )
            assert (the_move(hub).admitted, the_move(hub).source) == (False, "eu-1")
            await in_time(lambda: is_settled(hub), what="it completed")
        assert hub.removed == ["shop-eu-1"]
        assert hub.broken == []


async def test_a_copy_of_another_cluster_does_not_hold_up_the_end_of_a_move() -> None:
    """A cluster was lost, and its copy is back: it is verified when the move has ended."""
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub, free={"ap-1": 40, "eu-1": 40, "us-1": 62})
        async with publishing(hub), verifying(hub):
            await in_time(lambda: is_verifying(hub), what="the new copy is verified")
            # Deletions look at copies in the order of their names.
            hub.copy("shop", "ap-1")
            await in_time(lambda: hub.removed, what="an old copy goes")
            assert hub.removed == ["shop-eu-1"]
            await in_time(lambda: hub.copies() == ["shop-us-1"], what="the other one went, too")
        assert hub.removed == ["shop-eu-1", "shop-ap-1"]
        assert hub.broken == []


async def test_a_leftover_copy_whose_application_does_worse_stays_and_is_reported() -> None:
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub, free={"eu-1": 40, "us-1": 40})
        hub.copy("shop", "us-1")
        hub.quality["eu-1"] = 10
        async with publishing(hub), verifying(hub):
            await in_time(lambda: hub.outcomes() == ["Failed"], what="it failed")
            hub.quality["eu-1"] = 90
            await asyncio.sleep(3500)
            assert hub.outcomes() == ["Failed"], "it is reported once"
            assert hub.copies() == ["shop-eu-1", "shop-us-1"]
            await in_time(lambda: hub.removed == ["shop-us-1"], what="it passed later")
        assert hub.moved == []
        assert hub.broken == []


STOPPING = PACE.model_copy(
    update={"stop_after_returns": 3, "concurrent": 3, "arrivals_per_cluster": 3}
)


def stop_text(hub: VerifyHub) -> str:
    return timestamp_of(hub.ledger().stopped_since)


async def test_a_fleet_that_is_often_wrong_stops_until_a_person_acknowledges_it() -> None:
    """A poisoned scorer sends ten applications: three return, and seven never move."""
    async with VerifyHub(pace=STOPPING, verification=QUICK) as hub:
        hub.demand = 1
        shops(hub, count=10, free={"eu-1": 0, "us-1": 90})
        hub.quality["us-1"] = 5
        async with publishing(hub), verifying(hub):
            await in_time(lambda: hub.ledger().stopped_since, what="the fleet stopped")
            await in_time(lambda: is_settled(hub), what="returns go on")
            moved = {name for name, _, _ in hub.moved}
            assert len(moved) == 3
            assert len(hub.moved) == 6
            await asyncio.sleep(900)
            assert len(hub.moved) == 6, "it does not go on by itself"
            waiting = hub._moves().queue.waiting
            assert {queued.reason for queued in waiting} == {"Stopped"}
            assert len(waiting) >= 7
            hub.quality["us-1"] = 90
            hub.acknowledge("2020-01-01T00:00:00Z")
            await asyncio.sleep(60)
            assert hub.ledger().stopped_since, "of an earlier stop"
            hub.acknowledge(stop_text(hub))
            await in_time(lambda: len(hub.moved) > 6, what="moves go on")
            assert hub.ledger().stopped_since == 0
        assert all(target == "us-1" for _, _, target in hub.moved[6:])
        assert hub.broken == []


async def test_git_acknowledges_a_stop_and_a_new_leader_remembers_it() -> None:
    pace = STOPPING.model_copy(update={"stop_after_returns": 1})
    async with VerifyHub(pace=pace, verification=QUICK) as hub:
        shops(hub)
        hub.quality["us-1"] = 5
        async with publishing(hub):
            async with verifying(hub):
                await in_time(lambda: hub.ledger().stopped_since, what="the fleet stopped")
                since = hub.ledger().stopped_since
            async with verifying(hub):
                await asyncio.sleep(60)
                assert hub.ledger().stopped_since == since
            fields = {"acknowledged_stop": timestamp_of(since)}
            async with verifying(hub, pace=pace.model_copy(update=fields)):
                await in_time(lambda: not hub.ledger().stopped_since, what="it goes on")


async def test_a_hold_lasts_as_written_and_twice_as_long_after_another_return() -> None:
    async with VerifyHub(pace=PACE, verification=QUICK) as hub:
        shops(hub)
        hub.quality["us-1"] = 5
        async with publishing(hub), verifying(hub):
            await in_time(lambda: hub.ledger().holds, what="it is held")
            [hold] = hub.ledger().holds
            assert hold.until - hold.since == 600
        async with publishing(hub), verifying(hub):
            await in_time(lambda: is_settled(hub), what="the return ended")
            await asyncio.sleep(30)
            [queued] = hub._moves().queue.waiting
            assert (queued.reason, queued.until) == ("Held", hold.until)
            assert queued.message == "it came back from us-1: shop-slo/shop 5 of at least 80"
            await in_time(lambda: len(hub.moved) == 3, what="it is tried again")
            assert hold.until <= wall() < hold.until + 20
            await in_time(lambda: hub.ledger().holds[0].returns == 2, what="it returned again")
            [again] = hub.ledger().holds
            assert again.until - again.since == 1200
        assert hub.broken == []


async def test_an_edit_in_git_ends_a_hold() -> None:
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub)
        hub.quality["us-1"] = 5
        async with publishing(hub), verifying(hub):
            await in_time(lambda: hub.ledger().holds, what="it is held")
            await in_time(lambda: is_settled(hub), what="the return ended")
            hub.quality["us-1"] = 90
            hub.verified_by("shop", replace(QUICK, revision="r2"))
            await in_time(lambda: hub.where("shop") == "us-1", what="it is tried again")
            assert hub.ledger().holds == ()


async def test_another_cluster_takes_the_place_of_one_that_is_held() -> None:
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub, free={"eu-1": 20, "us-1": 62, "us-2": 50})
        hub.quality["us-1"] = 5
        async with publishing(hub), verifying(hub):
            await in_time(lambda: hub.copies() == ["shop-us-2"], what="it goes to the next one")
        assert [target for _, _, target in hub.moved] == ["us-1", "eu-1", "us-2"]
        assert hub.broken == []


async def test_a_cluster_that_is_held_is_no_refuge() -> None:
    """It was the best one for an application on eu-1, until the application came back from it."""
    async with VerifyHub(verification=QUICK) as hub:
        with hub.nobody_decides():
            hub.place("shop", "eu-1", refuges=True)
            for name, points in {"eu-1": 40, "us-1": 62, "us-2": 38}.items():
                hub.cluster(name, points)
        hub.quality["us-1"] = 5
        async with publishing(hub), verifying(hub):
            await in_time(lambda: hub.ledger().holds, what="it is held")
            [hold] = hub.ledger().holds
            moving = {"eu-1", "us-1"}
            await in_time(lambda: not moving & hub.items().keys(), what="the return ended")
            assert (hold.target, hub.where("shop")) == ("us-1", "eu-1")
            assert hub.items() == {"us-2": {"argocd/shop": 50}}
            await in_time(lambda: wall() >= hold.until, what="the hold ended")


async def test_a_ledger_of_a_newer_version_is_left_alone(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two versions run side by side, and the older one leads: its moves go on afterwards."""
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub)
        async with publishing(hub):
            async with verifying(hub):
                await in_time(lambda: is_verifying(hub), what="the new copy is verified")
            known = ledger_item(hub)
            text = known["data"]["ledger"].replace('"Verifying"', '"Judging"')
            newer = {**known, "data": {**known["data"], "ledger": text}}
            hub.objects["configmaps", HUB, MOVES_SCORE] = newer
            with monkeypatch.context() as patch:
                # The laws are told by the ledger, too.
                patch.setattr(hub, "_check_pace", lambda: None)
                async with verifying(hub):
                    await asyncio.sleep(600)
            assert ledger_item(hub)["data"]["ledger"] == text
            assert hub.copies() == ["shop-eu-1", "shop-us-1"]
            assert hub.where("shop") == "us-1"
            hub.objects["configmaps", HUB, MOVES_SCORE] = known
            async with verifying(hub):
                await in_time(lambda: is_settled(hub), what="the move completed")
        assert hub.copies() == ["shop-us-1"]
        assert hub.broken == []
    assert (
        "ConfigMap gitops-dsf-moves, key ledger: Invalid enum value 'Judging' - at"
        " `$.moves[0].phase`; if a newer version of the reconciler wrote it, run that version:"
        " nothing moves until then. Otherwise delete the ConfigMap to begin with an empty ledger"
    ) in caplog.text


WRITES = 10
"""Of a leader from its first look until a move is done, at least."""


@pytest.mark.parametrize("takes_effect", [False, True])
@pytest.mark.parametrize("quality", [5, 90])
def test_a_leader_that_dies_at_any_request_costs_no_copy(
    quality: int, *, takes_effect: bool
) -> None:
    """The next leader completes the move, or takes it back."""

    async def go(number: int) -> int:
        async with VerifyHub(verification=QUICK) as hub:
            shops(hub)
            hub.quality["us-1"] = quality
            last = HeldRequest(number, besides=("GET", "WATCH", "POST events"))
            if takes_effect:
                last.release.set()
            async with publishing(hub):
                async with verifying(hub):
                    hub.arrives = last
                    await last.interrupts(in_time(lambda: is_settled(hub), what="the end"))
                hub.arrives = None
                async with verifying(hub):
                    await in_time(lambda: is_settled(hub), what="the end, by the next leader")
            expected = "us-1" if quality == 90 else "eu-1"
            assert hub.where("shop") == expected
            assert hub.copies() == [f"shop-{expected}"]
            assert hub.broken == []
            return last.arrived

    number = 2 if takes_effect else 1
    while virtual_time.run(go(number)) == number:
        number += every(6)
    assert number >= WRITES


def test_a_write_of_a_frozen_leader_that_arrives_late_changes_nothing() -> None:
    """While it is frozen, another one takes the application back, or completes its move."""

    async def go(number: int, quality: int) -> bool:
        async with VerifyHub(verification=QUICK) as hub:
            shops(hub)
            hub.quality["us-1"] = quality
            request = HeldRequest(number, besides=("GET", "WATCH", "POST events"))
            async with publishing(hub), verifying(hub):
                hub.arrives = request
                if not await request.interrupts(in_time(lambda: is_settled(hub), what="the end")):
                    return False
                async with verifying(hub):
                    # The scores say the opposite to the new leader.
                    hub.quality["us-1"] = 95 - quality
                    await in_time(lambda: is_settled(hub), what="the end, by another leader")
                    request.release.set()
                    await asyncio.sleep(100)
                    await in_time(lambda: is_settled(hub), what="the end of both")
            assert len(hub.copies()) == 1
            assert hub.broken == []
            return True

    for quality in (5, 90):
        number = 1
        while virtual_time.run(go(number, quality)):
            number += every(6)
        assert number >= WRITES


DELAYS = st.lists(st.floats(min_value=0, max_value=8), min_size=1, max_size=30)


@settings(examples(6), suppress_health_check=[HealthCheck.too_slow])
@given(delays=DELAYS, qualities=st.lists(st.sampled_from([5, 90, None]), min_size=1, max_size=6))
def test_two_leaders_never_complete_and_return_the_same_move(
    delays: list[float], qualities: list[int | None]
) -> None:
    """Both believe to lead, whatever the order of their requests and whatever is measured."""

    async def go() -> None:
        async with VerifyHub(verification=QUICK) as hub:
            shops(hub)
            each = cycle(delays)

            async def arrives(word: str) -> None:
                if not word.startswith(("WATCH", "POST events")):
                    await asyncio.sleep(next(each))

            async with publishing(hub), verifying(hub), verifying(hub):
                hub.arrives = arrives
                for quality in qualities:
                    hub.quality["us-1"] = quality
                    await asyncio.sleep(90)
                hub.arrives = None
                hub.quality["us-1"] = 90
                await in_time(lambda: is_settled(hub), what="the end")
            assert hub.broken == []

    virtual_time.run(go())
