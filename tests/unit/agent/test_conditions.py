"""When the condition Scored is written, on one cluster and on a fleet.

In virtual time, with stores in memory.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import pytest

from dsf_agent.errors import AgentError
from dsf_agent.publish.publication import ScoreFault, ScorePublication
from dsf_agent.publish.store import StoredScores
from dsf_wire.scored import Reason, ScoredReason
from tests.support.agent.publishing import NO_SERIES, VALUES, PublishingHub, offer, publishing

PROMPT_SECONDS = 5.0
BRIEF_SECONDS = 20.0
SPREAD_SECONDS = 720.0
MIN_INTERVAL_SECONDS = 600.0
AUDIT_SECONDS = 300.0
ALL_WRITTEN = BRIEF_SECONDS + SPREAD_SECONDS + 10
LONG = 100_000.0
"""A TTL: no refresh carries a condition."""
QUERY_FAILED = ScoreFault(reason=ScoredReason.QUERY_FAILED, message="parse error at char 12")
UNREACHABLE = ScoreFault(reason=ScoredReason.SOURCE_UNREACHABLE, message="connection refused")


def pause(publication: ScorePublication, clusters: Iterable[str], fault: ScoreFault) -> None:
    for cluster in clusters:
        publication.pause_cluster(cluster, fault)


def stated(stored: StoredScores) -> tuple[bool, str, str] | None:
    condition = stored.condition
    return None if condition is None else (condition.holds, condition.reason, condition.message)


async def test_a_central_source_that_dies_on_a_fleet_is_told_over_ten_minutes_and_once() -> None:
    hub = PublishingHub()
    clusters = [f"c{number:04}" for number in range(700)]
    async with publishing(hub, writes_per_second=1e6, conditions_per_second=1e6) as running:
        cpu = running.publication("cpu")
        offer(cpu, clusters)
        await asyncio.sleep(600)
        refreshes = len(hub.writes)
        died = hub.elapsed
        # Cycles fail for an hour, and each time with another message.
        for turn in range(4):
            pause(cpu, clusters, ScoreFault(reason=UNREACHABLE.reason, message=f"{turn}"))
            await asyncio.sleep(900)
        times = sorted(at - died for at, _, _ in hub.explanations)
        assert len(times) == len({cluster for _, cluster, _ in hub.explanations}) == 700
        assert times[0] >= BRIEF_SECONDS
        assert times[-1] - times[0] >= 600
        assert max(Counter(int(at) for at in times).values()) <= 7
        assert max(Counter(int(at / 60) for at in times).values()) <= 80
        assert len(hub.writes) == refreshes, "no score is written meanwhile"
        # The source is back: the condition turns with the scores, which are due.
        offer(cpu, clusters)
        await asyncio.sleep(60)
    assert len(hub.explanations) == 700
    assert {stated(stored) for stored in hub.objects.values()} == {(True, "Scored", "")}


async def test_a_short_failure_is_not_told() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        cpu = running.publication("cpu")
        offer(cpu, ["c1", "c2", "c3"])
        await asyncio.sleep(300)
        pause(cpu, ["c1", "c2", "c3"], UNREACHABLE)
        await asyncio.sleep(BRIEF_SECONDS - 5)
        offer(cpu, ["c1", "c2", "c3"])
        await asyncio.sleep(ALL_WRITTEN)
    assert hub.explanations == []


async def test_a_reason_that_changes_all_the_time_is_written_every_ten_minutes_at_most() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        cpu = running.publication("cpu", ttl=LONG)
        offer(cpu, ["c1"])
        await asyncio.sleep(300)
        for turn in range(240):
            pause(cpu, ["c1"], UNREACHABLE if turn % 2 else QUERY_FAILED)
            await asyncio.sleep(61)
        times = [at for at, _, _ in hub.explanations]
        assert 2 <= len(times) <= 240 * 61 / MIN_INTERVAL_SECONDS
        waits = [after - before for before, after in pairwise(times)]
        assert min(waits) >= MIN_INTERVAL_SECONDS


async def test_a_scorer_that_never_had_a_score_gets_an_object_without_items_at_once() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        cpu = running.publication("cpu")
        pause(cpu, ["c1"], QUERY_FAILED)
        await asyncio.sleep(PROMPT_SECONDS + 1)
        stored = hub.objects["c1", "cpu"]
        assert (stored.values, stored.valid_until) == ({}, None)
        assert stated(stored) == (False, "QueryFailed", "parse error at char 12")
        offer(cpu, ["c1"])
        await asyncio.sleep(1)
        stored = hub.objects["c1", "cpu"]
        assert (stored.values, stated(stored)) == (VALUES, (True, "Scored", ""))
    assert len(hub.explanations) == 1


@pytest.mark.parametrize("edited", [True, False])
async def test_after_an_edit_the_author_waits_for_seconds(edited: bool) -> None:
    """A restart of the process is not an edit: all agents of a fleet may restart at once."""
    hub = PublishingHub()
    async with publishing(hub) as running:
        offer(running.publication("cpu"), ["c1"])
        await asyncio.sleep(60)
        before = hub.objects["c1", "cpu"]
    async with publishing(hub) as running:
        cpu = running.publication("cpu", edited=edited)
        pause(cpu, ["c1"], QUERY_FAILED)
        await asyncio.sleep(PROMPT_SECONDS + 1)
        assert len(hub.explanations) == edited
        await asyncio.sleep(ALL_WRITTEN)
        after = hub.objects["c1", "cpu"]
        assert stated(after) == (False, "QueryFailed", "parse error at char 12")
        assert (after.values, after.valid_until) == (before.values, before.valid_until)


async def test_a_restart_writes_nothing_that_is_there_already_and_keeps_its_time() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        pause(running.publication("cpu"), ["c1"], QUERY_FAILED)
        await asyncio.sleep(60)
        before = hub.objects["c1", "cpu"].condition
    assert before is not None
    async with publishing(hub) as running:
        cpu = running.publication("cpu")
        pause(cpu, ["c1"], ScoreFault(reason=QUERY_FAILED.reason, message="at char 13"))
        await asyncio.sleep(ALL_WRITTEN)
        assert len(hub.explanations) == 1
        pause(cpu, ["c1"], NO_SERIES)
        await asyncio.sleep(2 * ALL_WRITTEN)
        after = hub.objects["c1", "cpu"].condition
        assert after is not None
        assert (after.reason, after.since) == ("NoSeries", before.since), (
            "the status did not change"
        )


async def test_the_time_is_that_of_the_failure_by_the_hubs_clock() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        cpu = running.publication("cpu")
        offer(cpu, ["c1"])
        await asyncio.sleep(100)
        failed = hub.wall()
        pause(cpu, ["c1"], QUERY_FAILED)
        await asyncio.sleep(30)
        # The hub answers again, and it turns out that its clock is an hour ahead.
        hub.ahead = 3600
        await asyncio.sleep(ALL_WRITTEN)
        condition = hub.objects["c1", "cpu"].condition
        assert condition is not None
        assert condition.since == pytest.approx(failed + 3600, abs=1)


async def test_a_condition_that_hangs_delays_no_score_and_does_not_undo_it() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        cpu = running.publication("cpu", edited=True)
        offer(cpu, ["c1", "c2"])
        await asyncio.sleep(80)
        hub.explain_seconds = 10_000.0
        pause(cpu, ["c1"], QUERY_FAILED)
        await asyncio.sleep(PROMPT_SECONDS + 1)
        assert len(hub.explanations) == 1, "it is under way"
        began = hub.elapsed
        offer(cpu, ["c1", "c2"], {"a": 90})
        await asyncio.sleep(1)
        assert [at - began < 1 for at, _, _ in hub.writes[2:]] == [True, True]
        await asyncio.sleep(20_000)
        assert stated(hub.objects["c1", "cpu"]) == (True, "Scored", "")


async def test_scores_end_a_condition_whose_answer_would_come_after_theirs() -> None:
    """Its answer would tell of the object as it was before the scores."""
    hub = PublishingHub()
    async with publishing(hub) as running:
        cpu = running.publication("cpu", ttl=LONG, edited=True)
        offer(cpu, ["c1"])
        await asyncio.sleep(80)
        hub.explain_answers_late = 30.0
        pause(cpu, ["c1"], QUERY_FAILED)
        await asyncio.sleep(PROMPT_SECONDS + 1)
        assert stated(hub.objects["c1", "cpu"]) == (False, "QueryFailed", "parse error at char 12")
        offer(cpu, ["c1"], {"a": 90})
        await asyncio.sleep(3 * ALL_WRITTEN)
        assert stated(hub.objects["c1", "cpu"]) == (True, "Scored", "")
        assert len(hub.explanations) == 1


async def test_conditions_that_the_hub_refuses_pause_no_scores_and_come_ever_more_rarely() -> None:
    hub = PublishingHub()
    clusters = [f"c{number}" for number in range(20)]
    hub.explain_faults = dict.fromkeys(clusters, AgentError("away", reason=Reason.UNREACHABLE))
    async with publishing(hub) as running:
        cpu, mem = running.publication("cpu"), running.publication("mem")
        pause(cpu, clusters, QUERY_FAILED)
        await asyncio.sleep(60)
        tried = len(hub.explanations)
        assert tried >= 20
        offer(mem, clusters)
        await asyncio.sleep(2)
        assert len(hub.of("mem")) == 20
        await asyncio.sleep(7200)
        assert len(hub.explanations) <= 20 * 12
        hub.explain_faults = {}
        await asyncio.sleep(3000)
        assert all(stated(hub.objects[name, "cpu"]) is not None for name in clusters)


async def test_a_hub_that_returns_learns_the_reason_though_no_score_is_written_any_more() -> None:
    """The network of a cluster failed: the hub is back, and the source is not."""
    hub = PublishingHub()
    hub.faults["c1"] = AgentError("away", reason=Reason.UNREACHABLE)
    async with publishing(hub) as running:
        cpu = running.publication("cpu")
        offer(cpu, ["c1"])
        await asyncio.sleep(1)
        assert len(hub.attempts) == 1
        pause(cpu, ["c1"], UNREACHABLE)
        hub.faults = {}
        await asyncio.sleep(600)
        assert stated(hub.objects["c1", "cpu"]) == (
            False,
            "SourceUnreachable",
            "connection refused",
        )
        assert len(hub.attempts) == 1
        # Deleted by somebody: the audit of the objects goes on, too.
        hub.objects.clear()
        await asyncio.sleep(2 * AUDIT_SECONDS)
        assert ("c1", "cpu") in hub.objects


async def test_after_an_upgrade_no_score_is_written_only_to_say_that_it_is_there() -> None:
    hub = PublishingHub()
    hub.objects["c1", "cpu"] = StoredScores(
        name="cpu", values=VALUES, valid_until=hub.wall() + LONG, labels={}, version="1"
    )
    async with publishing(hub) as running:
        offer(running.publication("cpu", ttl=LONG), ["c1"])
        await asyncio.sleep(3 * ALL_WRITTEN)
    assert (hub.explanations, hub.writes) == ([], [])


async def test_scores_that_return_and_are_not_due_turn_the_condition_alone() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        cpu = running.publication("cpu", ttl=LONG)
        offer(cpu, ["c1"])
        await asyncio.sleep(60)
        pause(cpu, ["c1"], QUERY_FAILED)
        await asyncio.sleep(LONG / 2 - 20_000)
        assert [reason for _, _, reason in hub.explanations] == ["QueryFailed"]
        offer(cpu, ["c1"])
        await asyncio.sleep(2)
        written = len(hub.writes)
    async with publishing(hub) as running:
        offer(running.publication("cpu", ttl=LONG, edited=True), ["c1"])
        await asyncio.sleep(PROMPT_SECONDS + 1)
        assert stated(hub.objects["c1", "cpu"]) == (True, "Scored", "")
        assert len(hub.writes) == written


async def test_scores_that_the_hub_can_never_take_are_a_reason_too() -> None:
    hub = PublishingHub()
    hub.faults["c1"] = AgentError("20000 items make an object of ...", reason=Reason.TOO_LARGE)
    async with publishing(hub) as running:
        cpu = running.publication("cpu")
        for _ in range(10):
            offer(cpu, ["c1"])
            await asyncio.sleep(60)
        assert stated(hub.objects["c1", "cpu"]) == (
            False,
            "TooLarge",
            "20000 items make an object of ...",
        )
        assert len(hub.explanations) == 1, "also if a cycle has scores each minute"
        hub.faults.clear()
        for _ in range(3):
            offer(cpu, ["c1"])
            await asyncio.sleep(60)
        assert stated(hub.objects["c1", "cpu"]) == (True, "Scored", "")


async def test_the_condition_of_a_removed_scorer_is_not_written() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        cpu = running.publication("cpu")
        pause(cpu, ["c1"], QUERY_FAILED)
        cpu.keep_only(frozenset())
        await asyncio.sleep(ALL_WRITTEN)
        assert (hub.objects, hub.explanations) == ({}, [])


async def test_a_condition_that_somebody_deleted_is_written_again() -> None:
    hub = PublishingHub()
    async with publishing(hub) as running:
        pause(running.publication("cpu"), ["c1"], QUERY_FAILED)
        await asyncio.sleep(60)
        hub.objects.clear()
        await asyncio.sleep(2 * AUDIT_SECONDS)
        assert stated(hub.objects["c1", "cpu"]) == (False, "QueryFailed", "parse error at char 12")
    assert len(hub.explanations) == 2


async def test_an_object_of_another_program_gets_no_condition() -> None:
    hub = PublishingHub()
    hub.objects["c1", "cpu"] = StoredScores(
        name="cpu", values={"x": 1}, valid_until=None, labels={}, version="1", shared=True
    )
    hub.hidden.add("c1")
    async with publishing(hub) as running:
        pause(running.publication("cpu"), ["c1"], QUERY_FAILED)
        await asyncio.sleep(7200)
        assert hub.objects["c1", "cpu"].values == {"x": 1}
        assert hub.objects["c1", "cpu"].condition is None
