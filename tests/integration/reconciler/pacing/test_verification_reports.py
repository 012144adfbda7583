"""What people see of verified moves while the reconciler runs: Events, metrics and the journal."""

import asyncio
from datetime import UTC, datetime

from msgspec.structs import replace

from gitops_dsf.pacing.ledger import Phase
from tests.integration.reconciler.pacing.pacehub import PACE
from tests.integration.reconciler.pacing.verifyhub import (
    VERIFICATION,
    VerifyHub,
    publishing,
    shops,
    verifying,
)
from tests.integration.reconciler.replica import Replica, in_time
from tests.support.hubobjects import stamp

QUICK = replace(
    VERIFICATION,
    seconds=400.0,
    checks=(replace(VERIFICATION.checks[0], for_seconds=60.0, delay=30.0, range=0.0),),
)
"""Decided within two minutes, because each minute of virtual time takes some real time."""


def is_done(hub: VerifyHub) -> bool:
    return bool(hub.moved) and not list(hub.ledger().under_way)


async def is_verifying(hub: VerifyHub) -> None:
    await in_time(
        lambda: [move.phase for move in hub.ledger().under_way] == [Phase.VERIFYING],
        what="the new copy is verified",
    )


def decided(replica: Replica, outcome: str) -> float:
    return replica.metric("moves_verification_seconds_count", outcome=outcome)


async def test_a_move_that_passes_says_when_it_is_verified_and_what_was_measured() -> None:
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub)
        async with publishing(hub), verifying(hub) as replica:
            await is_verifying(hub)
            assert replica.metric("moves_verifying") == 1
            [verified] = hub.ledger().under_way
            until = stamp(datetime.fromtimestamp(verified.phase_since + 400, UTC))
            [event] = hub.events("MoveVerifying", "Normal")
            assert event == (
                "eu-1 -> us-1: both copies stay until the checks pass: shop-slo/shop of at least"
                f" 80, to be decided by {until}"
            )
            assert hub.events("MovePassed") == []
            await in_time(lambda: is_done(hub), what="the move completed")
            assert replica.metric("moves_verifying") == 0
            assert decided(replica, "Completed") == 1
            seconds = replica.metric("moves_verification_seconds_sum", outcome="Completed")
            # The agent writes an unchanged score again after 450 s.
            assert seconds is not None
            assert 30 <= seconds <= 480
            assert replica.metric("moves_returned_total") == 0
        assert hub.events("MovePassed", "Normal") == [
            "eu-1 -> us-1: shop-slo/shop 90 of at least 80"
        ]
        assert len(hub.events("MoveEnded")) == 1


async def test_a_move_that_returns_is_a_warning_with_what_was_measured() -> None:
    """And no move that was done: it ended where it began."""
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub)
        hub.quality["us-1"] = 62
        async with publishing(hub), verifying(hub) as replica:
            await in_time(lambda: "shop-us-1" in hub.removed, what="the application went back")
            await in_time(lambda: is_done(hub), what="the return ended")
            assert replica.metric("moves_returned_total") == 1
            assert replica.metric("moves_held") == 1
            assert decided(replica, "Returned") == 1
            assert decided(replica, "Completed") == 0
            assert replica.metric("paced_moves_admitted_total") == 1, "a return is admitted by none"
        assert hub.events("MoveReturned", "Warning") == [
            "us-1 -> eu-1: return: shop-slo/shop 62 of at least 80"
        ]
        assert hub.events("MovePassed") == []
        [ended] = hub.events("MoveEnded")
        assert ended.startswith("us-1 -> eu-1: done after ")
        assert len(hub.events("MoveAdmitted")) == 1


async def test_a_fleet_that_stops_and_goes_on_is_said_about_its_ledger() -> None:
    pace = PACE.model_copy(update={"stop_after_returns": 1})
    async with VerifyHub(pace=pace, verification=QUICK) as hub:
        shops(hub)
        hub.quality["us-1"] = 62
        async with publishing(hub), verifying(hub) as replica:
            await in_time(lambda: bool(hub.events("MovesStopped")), what="the fleet stopped")
            since = stamp(datetime.fromtimestamp(hub.ledger().stopped_since, UTC))
            [event] = hub.events("MovesStopped", "Warning")
            assert event == (
                "1 move went back, so no move begins until somebody acknowledges it:"
                f" spec.pace.acknowledgedStop: {since} in gitops-dsf.yaml, or the annotation"
                f" gitops-dsf.io/acknowledged-stop={since} on this ConfigMap"
            )
            assert replica.metric("fleet_stopped") == 1
            await asyncio.sleep(60)
            hub.acknowledge(since)
            await in_time(lambda: bool(hub.events("MovesGoOn")), what="the fleet goes on")
            assert replica.metric("fleet_stopped") == 0
            await asyncio.sleep(60)
        assert hub.events("MovesGoOn", "Normal") == [
            f"moves begin again: somebody acknowledged the stop of {since}"
        ]
        assert len(hub.events("MovesStopped")) == 1


async def test_a_move_that_nobody_can_decide_is_counted_until_it_can_be() -> None:
    """Its agent is dead, and onUnknown is Hold."""
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub)
        hub.quality["us-1"] = None
        async with publishing(hub), verifying(hub) as replica:
            await is_verifying(hub)
            await asyncio.sleep(380)
            assert replica.samples("moves_verification_overdue_seconds", "placement") == {}
            await asyncio.sleep(180)
            late = replica.samples("moves_verification_overdue_seconds", "placement")
            assert 90 <= late["argocd/shop"] <= 180
            assert replica.metric("moves_verifying") == 1
            hub.quality["us-1"] = 90
            await in_time(lambda: is_done(hub), what="the move completed")
            assert replica.samples("moves_verification_overdue_seconds", "placement") == {}
        assert len(hub.events("MovePassed")) == 1


async def test_a_move_that_completes_without_a_score_is_a_warning() -> None:
    verification = replace(QUICK, on_unknown="Complete")
    async with VerifyHub(verification=verification) as hub:
        shops(hub)
        hub.quality["us-1"] = None
        async with publishing(hub), verifying(hub) as replica:
            await is_verifying(hub)
            await asyncio.sleep(400)
            await in_time(lambda: is_done(hub), what="the move completed")
            assert decided(replica, "UnknownCompleted") == 1
        [event] = hub.events("MoveNotVerified", "Warning")
        assert event == (
            "eu-1 -> us-1: the result of its checks was still unknown when verifySeconds were"
            " over, and onUnknown is Complete: shop-slo/shop not known"
        )
        assert hub.events("MovePassed") == []


async def test_a_move_that_fails_and_has_nowhere_to_return_to_is_a_warning() -> None:
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub)
        hub.quality["us-1"] = 62
        async with publishing(hub), verifying(hub) as replica:
            await is_verifying(hub)
            hub.cluster("eu-1", 40, taints=[{"key": "closed", "effect": "NoSelect"}])
            await in_time(lambda: bool(hub.events("MoveFailed")), what="the move failed")
            assert decided(replica, "Failed") == 1
            assert replica.metric("moves_returned_total") == 0
            await asyncio.sleep(60)
        [event] = hub.events("MoveFailed", "Warning")
        assert event == (
            "eu-1 -> us-1: shop-slo/shop 62 of at least 80; it has nowhere to return to, so it"
            " stays on us-1"
        )


async def test_a_copy_that_never_becomes_healthy_is_said_to_be_that() -> None:
    """No score of it is known, so none is blamed."""
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub)
        hub.healthy = False
        async with publishing(hub), verifying(hub):
            await in_time(lambda: "shop-us-1" in hub.copies(), what="a new copy")
            hub.cluster("eu-1", 40, taints=[{"key": "closed", "effect": "NoSelect"}])
            await in_time(lambda: bool(hub.events("MoveFailed")), what="the move failed")
        [event] = hub.events("MoveFailed", "Warning")
        assert event == (
            "eu-1 -> us-1: its copy on us-1 did not become healthy in time, and it has nowhere to"
            " return to"
        )
        assert hub.events("MoveVerifying") == []


async def test_a_new_leader_says_nothing_again() -> None:
    async with VerifyHub(verification=QUICK) as hub:
        shops(hub)
        async with publishing(hub):
            async with verifying(hub):
                await is_verifying(hub)
            async with verifying(hub) as replica:
                await in_time(lambda: replica.metric("moves_verifying") == 1, what="a pass")
                await asyncio.sleep(30)
                assert len(hub.events("MoveVerifying")) == 1
