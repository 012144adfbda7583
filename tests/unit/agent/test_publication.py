"""What a process writes over hours, in order. In virtual time, with stores in memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from dsf_agent.errors import AgentError
from dsf_agent.publish.publication import ScorePublication
from dsf_wire.scored import Reason
from tests.support.agent.publishing import (
    HUB_SCORER_WRITES_PER_SECOND,
    MIN_INTERVAL_SECONDS,
    NO_SERIES,
    TTL,
    PublishingHub,
    offer,
    publishing,
)

AUDIT_SECONDS = 300.0


@asynccontextmanager
async def one_scorer(
    *, seconds: float = 0.01, ttl: float = TTL
) -> AsyncIterator[tuple[PublishingHub, ScorePublication]]:
    """The scorer cpu with a publisher of its own."""
    hub = PublishingHub(seconds=seconds)
    async with publishing(hub) as running:
        yield hub, running.publication("cpu", ttl=ttl)


CLUSTERS = [f"c{index:03}" for index in range(400)]


async def test_the_first_scorer_has_scores_everywhere_before_the_second_begins() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        scorers = [running.publication(name) for name in ("cpu", "mem")]
        for start in range(0, len(CLUSTERS), 100):
            # Cycles of several scorers run at the same time.
            for publication in reversed(scorers):
                offer(publication, CLUSTERS[start : start + 100])
        await asyncio.sleep(60)
    assert len(hub.writes) == 800
    assert max(hub.of("cpu")) - 0.1 <= min(hub.of("mem"))
    assert max(hub.of("cpu")) <= len(CLUSTERS) / HUB_SCORER_WRITES_PER_SECOND + 2
    times = sorted(at for at, _, _ in hub.writes)
    busiest = max(sum(start <= at < start + 1 for at in times) for start in times)
    assert busiest <= HUB_SCORER_WRITES_PER_SECOND + 1
    assert hub.lists < 1.2 * len(CLUSTERS), "one list for each cluster, and a few of the audit"


async def test_unchanged_scores_are_renewed_at_half_of_their_ttl_and_spread() -> None:
    async with one_scorer() as (hub, cpu):
        for _ in range(10):
            offer(cpu, CLUSTERS[:50])
            await asyncio.sleep(60)
    first = {cluster: at for at, cluster, _ in hub.writes[:50]}
    again = {cluster: at - first[cluster] for at, cluster, _ in hub.writes[50:]}
    assert again.keys() == first.keys()
    assert all(0.9 * TTL / 2 - 1 <= wait <= TTL / 2 + 1 for wait in again.values())
    assert max(again.values()) - min(again.values()) > 20


async def test_a_change_of_the_deadband_is_written_once_in_the_least_interval() -> None:
    """What became of each offer is counted; an offer is deferred first, and written some time
    later.
    """
    hub = PublishingHub()
    async with publishing(hub) as running:
        cpu = running.publication("cpu")
        for value in (10, 11, 12, 20, 30, 40):
            offer(cpu, ["c1"], {"a": value})
            await asyncio.sleep(15)
        await asyncio.sleep(60)
        assert running.outcomes() == {"written": 3, "unchanged": 1, "deferred": 5}
    assert [round(at / 15) for at, _, _ in hub.writes] == [0, 4, 8]
    assert hub.objects["c1", "cpu"].values == {"a": 40}


async def test_what_is_paused_is_not_renewed() -> None:
    async with one_scorer() as (hub, cpu):
        offer(cpu, ["c1"])
        cpu.pause_cluster("c1", NO_SERIES)
        await asyncio.sleep(30)
        assert (hub.lists, hub.attempts) == (1, []), "no score is written"
        offer(cpu, ["c1", "c2", "c3"])
        await asyncio.sleep(10)
        cpu.pause_cluster("c1", NO_SERIES)
        await asyncio.sleep(TTL)
        assert sorted({cluster for _, cluster, _ in hub.writes[3:]}) == ["c2", "c3"]
        for cluster in ("c1", "c2", "c3"):
            cpu.pause_cluster(cluster, NO_SERIES)
        written = len(hub.writes)
        await asyncio.sleep(2 * TTL)
        assert len(hub.writes) == written
        offer(cpu, ["c1", "c2", "c3"])
        await asyncio.sleep(10)
        assert len(hub.writes) == written + 3


LONG = 1000 * AUDIT_SECONDS
"""A TTL. Until half of it is over, only the audit finds what is missing."""


async def test_a_deleted_object_is_written_again() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        offer(running.publication("cpu", ttl=LONG), CLUSTERS[:10])
        await asyncio.sleep(20)
        for times in (1, 2, 3):
            assert len(hub.writes) == 10 * times
            hub.objects.clear()
            await asyncio.sleep(AUDIT_SECONDS)
            assert len(hub.objects) == 10


async def test_a_scorer_that_replaced_another_one_is_still_audited_when_the_old_one_goes() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        old, new = (running.publication("cpu", ttl=LONG) for _ in range(2))
        offer(old, ["c1"])
        await asyncio.sleep(5)
        offer(new, ["c1"])
        old.keep_only(frozenset())
        await asyncio.sleep(20)
        hub.objects.clear()
        written = len(hub.writes)
        await asyncio.sleep(2 * AUDIT_SECONDS)
        assert len(hub.writes) == written + 1


async def test_the_scores_of_a_cluster_are_read_by_one_list() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        for name in ("cpu", "mem", "net"):
            offer(running.publication(name), ["c1"])
        await asyncio.sleep(10)
        assert running.publisher._reading == {}, "nothing is kept of it"
    assert (len(hub.writes), hub.lists) == (3, 1)


async def test_a_write_without_an_answer_that_took_effect_is_not_repeated() -> None:
    async with one_scorer() as (hub, cpu):
        hub.lost["c1"] = AgentError("no answer", reason=Reason.TIMEOUT)
        offer(cpu, ["c1"])
        await asyncio.sleep(1)
        assert cpu.fault is not None
        await asyncio.sleep(19)
        assert cpu.fault is None
        offer(cpu, ["c1"], {"a": 50})
        await asyncio.sleep(MIN_INTERVAL_SECONDS)
    assert len(hub.writes) == 2
    assert hub.objects["c1", "cpu"].values == {"a": 50}


async def test_a_cluster_that_keeps_failing_is_tried_ever_more_rarely_and_alone() -> None:
    async with one_scorer() as (hub, cpu):
        hub.faults["c1"] = AgentError("no rights", reason=Reason.FORBIDDEN)
        offer(cpu, ["c1", "c2"])
        await asyncio.sleep(400)
        times = [at for at, cluster in hub.attempts if cluster == "c1"]
        waits = [after - before for before, after in pairwise(times)]
        assert all(
            0.7 * wait <= found <= 1.3 * wait + 1
            for wait, found in zip((2, 4, 8, 16, 32, 64), waits, strict=False)
        )
        assert len(waits) >= 6
        offer(cpu, ["c3"])
        await asyncio.sleep(1)
        assert ("c3", "cpu") in hub.objects
        assert str(cpu.fault) == "cluster c1: no rights"
        cpu.keep_only(frozenset({"c2", "c3"}))
        assert cpu.fault is None


async def test_failures_at_the_same_time_are_one_failure_of_the_hub() -> None:
    hub = PublishingHub()
    hub.faults = {cluster: AgentError("down", reason=Reason.UNREACHABLE) for cluster in CLUSTERS}
    async with publishing(hub) as running:
        offer(running.publication("cpu"), CLUSTERS)
        await asyncio.sleep(25)
        starts = [at for at, _ in hub.attempts]
        # Several requests fail together; the first failure of such a burst begins the pause.
        bursts = [starts[0], *(after for before, after in pairwise(starts) if after - before > 1)]
        pauses = [after - before for before, after in pairwise(bursts)]
        assert all(
            0.7 * wait <= found <= 1.3 * wait + 1
            for wait, found in zip((2, 4, 8), pauses, strict=False)
        )
        assert len(pauses) >= 3
        await asyncio.sleep(275)
        assert hub.lists < 150, "requests become rare"
        hub.faults = {}
        await asyncio.sleep(400)
        assert len({cluster for _, cluster, _ in hub.writes}) == len(CLUSTERS)


@pytest.mark.parametrize("idle", [False, True])
async def test_a_step_that_sends_nothing_does_not_say_that_the_hub_is_back(idle: bool) -> None:
    """A scorer whose scores are paused has steps without a request, also while the hub is away."""
    hub = PublishingHub()
    away = AgentError("away", reason=Reason.UNREACHABLE)
    hub.faults = dict.fromkeys(CLUSTERS[:20], away)
    async with publishing(hub) as running:
        cpu, mem = running.publication("cpu"), running.publication("mem")
        offer(cpu, CLUSTERS[:20])
        for _ in range(600):
            if idle:
                # It has a new score in each cycle, and loses it before the write is due.
                offer(mem, ["c999"])
                mem.pause_cluster("c999", NO_SERIES)
            await asyncio.sleep(1)
        asked = len(hub.attempts) + hub.lists
        assert asked <= 120
        hub.faults = {}
        await asyncio.sleep(200)
        assert len({cluster for _, cluster, _ in hub.writes}) == 20, (
            "it does not take long to return"
        )


async def test_failures_of_a_cluster_are_logged_once_for_each_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    async with one_scorer() as (hub, cpu):
        offer(cpu, ["c3"])
        for reason in (Reason.FORBIDDEN, Reason.INVALID_BODY):
            hub.faults["c1"] = AgentError(reason.value, reason=reason)
            offer(cpu, ["c1"])
            await asyncio.sleep(200)
        hub.faults["c2"] = hub.faults["c1"]
        offer(cpu, ["c2"])
        await asyncio.sleep(1)
        assert str(cpu.fault) == "cluster c1 and 1 more: invalid_body"
        hub.faults.clear()
        await asyncio.sleep(300)
    messages = [record.getMessage() for record in caplog.records]
    assert messages[:3] == [
        "the scores of c1 are not published: forbidden",
        "the scores of c1 are not published: invalid_body",
        "the scores of c2 are not published: invalid_body",
    ]
    # Which one is tried again first, its back-off draws.
    assert sorted(messages[3:]) == [
        "the scores of c1 are published again",
        "the scores of c2 are published again",
    ]


async def test_a_change_during_a_write_waits_for_the_least_interval() -> None:
    async with one_scorer(seconds=2) as (hub, cpu):
        offer(cpu, ["c1"])
        await asyncio.sleep(3)
        offer(cpu, ["c1"], {"a": 50})
        await asyncio.sleep(20)
        assert [at for at, _ in hub.attempts] == pytest.approx([2.0], abs=0.5)
        await asyncio.sleep(MIN_INTERVAL_SECONDS)
        assert hub.objects["c1", "cpu"].values == {"a": 50}


@pytest.mark.parametrize(("asked", "waited"), [(100.0, 100.0), (100_000.0, TTL / 4)])
async def test_a_pause_that_the_hub_asks_for_is_kept_up_to_a_quarter_of_the_ttl(
    asked: float, waited: float
) -> None:
    hub = PublishingHub()
    hub.faults["c1"] = AgentError("later", reason=Reason.THROTTLED, retry_after=asked)
    async with publishing(hub) as running:
        offer(running.publication("cpu"), ["c1"])
        await asyncio.sleep(300)
        (first, _), (second, _), *_ = hub.attempts
    assert second - first == pytest.approx(waited, abs=3)


async def test_offers_that_change_nothing_do_not_fill_the_schedule() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        cpu = running.publication("cpu")
        for _ in range(20):
            offer(cpu, ["c1"])
            await asyncio.sleep(5)
        assert len(running.publisher._queue) == 1


async def test_a_bug_in_a_write_is_a_failure_of_its_cluster(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hub = PublishingHub()
    hub.faults["c1"] = RuntimeError("oops")
    async with publishing(hub) as running:
        cpu = running.publication("cpu")
        for value in range(30):
            # Offers do not hurry a cluster that fails.
            offer(cpu, ["c1"], {"a": value})
            offer(cpu, ["c2"])
            await asyncio.sleep(1)
        assert ("c2", "cpu") in hub.objects
        assert cpu.fault is not None
        assert cpu.fault.reason is Reason.INTERNAL
        # Not one that is under way.
        failed = [one for at, one in hub.attempts if at + hub._seconds <= hub.elapsed].count("c1")
        assert 3 <= failed <= 6
        assert running.outcomes()["failed"] == running.failures(Reason.INTERNAL) == failed
        hub.faults.clear()
        await asyncio.sleep(60)
        assert cpu.fault is None
    assert "publishing failed because of a bug in the agent" in caplog.text


async def test_a_cluster_that_failed_and_was_paused_is_written_when_it_has_scores_again() -> None:
    async with one_scorer() as (hub, cpu):
        hub.faults["c1"] = AgentError("no rights", reason=Reason.FORBIDDEN)
        offer(cpu, ["c1"])
        await asyncio.sleep(1)
        cpu.pause_cluster("c1", NO_SERIES)
        hub.faults.clear()
        await asyncio.sleep(60)
        assert hub.writes == []
        offer(cpu, ["c1"])
        await asyncio.sleep(1)
        assert len(hub.writes) == 1


async def test_a_score_that_is_paused_while_its_cluster_is_read_is_not_written() -> None:
    hub = PublishingHub(seconds=2)
    async with publishing(hub) as running:
        offer(running.publication("cpu"), ["c1"])
        await asyncio.sleep(10)
    async with publishing(hub) as running:
        cpu = running.publication("cpu")
        offer(cpu, ["c1"], {"a": 90})
        await asyncio.sleep(1)
        cpu.pause_cluster("c1", NO_SERIES)
        await asyncio.sleep(TTL)
        assert cpu.fault is None
    assert len(hub.writes) == 1


async def test_after_an_outage_of_the_hub_the_audit_goes_on() -> None:
    hub = PublishingHub()
    hub.faults["c1"] = AgentError("down", reason=Reason.UNREACHABLE)
    async with publishing(hub) as running:
        offer(running.publication("cpu", ttl=LONG), ["c1"])
        await asyncio.sleep(60)
        hub.faults.clear()
        await asyncio.sleep(200)
        assert len(hub.writes) == 1
        hub.objects.clear()
        await asyncio.sleep(AUDIT_SECONDS)
        assert len(hub.writes) == 2


@pytest.mark.parametrize("hidden", [False, True])
async def test_what_the_hub_has_is_read_for_every_scorer_of_a_cluster(hidden: bool) -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        for name in ("cpu", "mem"):
            offer(running.publication(name), ["c1"])
        await asyncio.sleep(10)
    async with publishing(hub) as running:
        offer(running.publication("cpu"), ["c1"])
        await asyncio.sleep(10)
        hub.hidden = {"c1"} if hidden else set()
        offer(running.publication("mem"), ["c1"])
        await asyncio.sleep(10)
    assert [name for _, _, name in hub.writes] == ["cpu", "mem", *(["mem"] if hidden else [])]


async def test_a_list_of_the_audit_that_fails_ends_nothing() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        offer(running.publication("cpu", ttl=LONG), ["c1", "c2"])
        await asyncio.sleep(20)
        hub.list_faults = [AgentError("down", reason=Reason.TIMEOUT)]
        await asyncio.sleep(AUDIT_SECONDS)
        assert (hub.list_faults, len(hub.writes)) == ([], 2)
        hub.objects.clear()
        await asyncio.sleep(2 * AUDIT_SECONDS)
        assert len(hub.writes) == 4


async def test_a_write_just_before_a_list_of_the_audit_may_be_missing_in_it() -> None:
    async with one_scorer(ttl=LONG) as (hub, cpu):
        offer(cpu, ["c1"])
        await asyncio.sleep(AUDIT_SECONDS - 3)
        hub.hidden = {"c1"}
        offer(cpu, ["c1"], {"a": 50})
        await asyncio.sleep(20)
        assert len(hub.writes) == 2
        await asyncio.sleep(AUDIT_SECONDS)
        assert len(hub.writes) == 3


async def test_an_object_that_is_being_written_during_an_audit_is_not_written_twice() -> None:
    async with one_scorer(seconds=5, ttl=LONG) as (hub, cpu):
        offer(cpu, ["c1"])
        await asyncio.sleep(AUDIT_SECONDS - 20)
        hub.objects.clear()
        await asyncio.sleep(21)
        offer(cpu, ["c1"], {"a": 50})
        await asyncio.sleep(30)
        assert len(hub.attempts) == 2


async def test_the_audit_still_looks_at_a_cluster_that_one_of_two_scorers_left() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        cpu, mem = (running.publication(name, ttl=LONG) for name in ("cpu", "mem"))
        for publication in (cpu, mem):
            offer(publication, ["c1"])
        await asyncio.sleep(20)
        cpu.keep_only(frozenset())
        hub.objects.clear()
        await asyncio.sleep(2 * AUDIT_SECONDS)
        assert hub.of("mem")[1:] != []
        mem.keep_only(frozenset())
        await asyncio.sleep(AUDIT_SECONDS)
        lists, written = hub.lists, len(hub.writes)
        await asyncio.sleep(2 * TTL)
        assert (hub.lists, len(hub.writes)) == (lists, written), "both left"
        assert len(hub.of("cpu")) == 1


@pytest.mark.parametrize("way", ["another program", "clock"])
async def test_an_expiry_that_is_too_late_delays_no_write(way: str) -> None:
    hub = PublishingHub()
    hub.ahead = 10 * TTL
    async with publishing(hub) as running:
        cpu = running.publication("cpu")
        offer(cpu, ["c1"])
        await asyncio.sleep(5)
        if way == "clock":
            hub.ahead = 0.0
            offer(cpu, ["c1"])
            await asyncio.sleep(5)
            assert len(hub.writes) == 2
    if way == "another program":
        hub.ahead = 0.0
        async with publishing(hub) as running:
            offer(running.publication("cpu"), ["c1"])
            await asyncio.sleep(5)
        assert len(hub.writes) == 2


async def test_a_score_that_is_paused_while_it_waits_for_its_turn_is_not_written() -> None:
    hub = PublishingHub()
    async with publishing(hub, writes_per_second=0.1) as running:
        cpu = running.publication("cpu")
        offer(cpu, ["c1", "c2"])
        await asyncio.sleep(5)
        cpu.pause_cluster("c2", NO_SERIES)
        await asyncio.sleep(30)
        assert cpu.fault is None
    assert [cluster for _, cluster in hub.attempts] == ["c1"]


_AWAY = {
    Reason.UNREACHABLE,
    Reason.TIMEOUT,
    Reason.TLS,
    Reason.CONNECTION_LOST,
    Reason.THROTTLED,
    Reason.SERVER_ERROR,
    Reason.UNAUTHORIZED,
    Reason.BAD_CREDENTIALS,
}


@pytest.mark.parametrize(
    "reason", [*sorted(_AWAY), Reason.FORBIDDEN, Reason.INVALID_BODY, Reason.INTERNAL]
)
async def test_failures_that_every_cluster_would_have_pause_all_of_them(reason: Reason) -> None:
    async with one_scorer() as (hub, cpu):
        hub.faults["c1"] = AgentError("no", reason=reason)
        offer(cpu, ["c1"])
        await asyncio.sleep(0.1)
        offer(cpu, ["c2"])
        await asyncio.sleep(1)
        assert len(hub.writes) == (reason not in _AWAY)
        await asyncio.sleep(5)
        assert len(hub.writes) == 1


async def test_the_end_of_a_worker_waits_for_writes_that_are_due() -> None:
    async with one_scorer(seconds=5) as (hub, cpu):
        await cpu.wait_until_handled()
        offer(cpu, ["c1"])
        await cpu.wait_until_handled()
        assert len(hub.writes) == 1
        offer(cpu, ["c1"], {"a": 90})
        await cpu.wait_until_handled()
        assert len(hub.writes) == 1
        hub.faults["c2"] = AgentError("no rights", reason=Reason.FORBIDDEN)
        offer(cpu, ["c2"])
        await cpu.wait_until_handled()
        assert cpu.fault is not None
        offer(cpu, ["c3"])
        await asyncio.sleep(1)
        cpu.pause_cluster("c3", NO_SERIES)
        began = hub.elapsed
        await cpu.wait_until_handled()
        assert hub.elapsed == began


async def test_a_write_of_an_edited_scorer_does_not_end_after_the_next_one() -> None:
    hub = PublishingHub(seconds=5)
    async with publishing(hub) as running:
        old, new = running.publication("cpu"), running.publication("cpu")
        offer(old, ["c1"], {"a": 1})
        await asyncio.sleep(6)
        old.keep_only(frozenset())
        hub._seconds = 0.1
        offer(new, ["c1"], {"a": 90})
        await asyncio.sleep(MIN_INTERVAL_SECONDS + 20)
    assert hub.objects["c1", "cpu"].values == {"a": 90}
