"""Paced moves by the reconciler, over the simulator's OCM in virtual time.

The pace holds whatever process dies or is frozen when, and every move that began comes to its end.
"""

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator
from itertools import cycle, pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.pacing.stored import read_moves
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.show.status.moves import queue_lines
from gitops_dsf.views.status.queue import queue_view
from gitops_dsf.views.status.verification import VerifierFacts
from tests.integration.reconciler.pacing.pacehub import PACE, PaceHub, herd, leading
from tests.integration.reconciler.replica import in_time
from tests.support import virtual_time
from tests.support.agent.http import RecordedRequest, SentReply
from tests.support.apiserver import failure
from tests.support.heldrequest import HeldRequest
from tests.support.hubobjects import ARGOCD, HUB, NOW
from tests.support.laws import every, examples
from tests.support.pages import blocks
from tests.support.virtual_time import wall

FREE = {"c1": 40, "c2": 62, "c3": 58, "c4": 20}
SPREAD = {"app-0": "c2", "app-1": "c3", "app-2": "c1"}
"""Where three applications of the demand 5 end: c2 for its 62 points, then c3 for its 58, when c2
counts as 57; with 45 and 52 the third one would gain less than it takes.
"""


def settled(hub: PaceHub) -> bool:
    """Whether two moves are done, and nothing is under way."""
    return len(hub.moved) == 2 and not list(hub.ledger().under_way) and not hub.items()


async def test_a_herd_moves_one_after_the_other_and_no_further() -> None:
    async with PaceHub() as hub:
        herd(hub, FREE, count=3, on="c1")
        async with leading(hub) as replica:
            await in_time(lambda: settled(hub), what="two moves")
            await asyncio.sleep(600)
            assert replica.metric("paced_moves_admitted_total") == 2
            assert replica.metric("paced_moves_under_way") == 0
        assert sorted(hub.moved) == [("app-0", "c1", "c2"), ("app-1", "c1", "c3")]
        assert hub.broken == []
        assert hub.events("MoveAdmitted") == [
            "c1 -> c2: pace: +22.0 points by the written weights",
            "c1 -> c3: pace: +13.0 points by the written weights",
        ]
        assert len(hub.events("MoveEnded")) == 2
        assert hub.ledger().moves == ()


REQUESTS = 40
"""Of a leader from its first look until two moves are done, at least."""


@pytest.mark.parametrize("takes_effect", [False, True])
def test_a_leader_that_dies_at_any_request_exceeds_nothing(takes_effect: bool) -> None:
    async def go(number: int) -> int:
        async with PaceHub() as hub:
            herd(hub, FREE, count=3, on="c1")
            last = HeldRequest(number, besides=("GET managedclusters", "WATCH"))
            if takes_effect:
                last.release.set()
            async with leading(hub):
                hub.arrives = last
                await last.interrupts(in_time(lambda: settled(hub), what="two moves"))
            hub.arrives = None
            async with leading(hub):
                await in_time(lambda: settled(hub), what="two moves, by the next leader")
            assert {name: hub.where(name) for name in SPREAD} == SPREAD
            assert hub.broken == []
            return last.arrived

    number = 5 if takes_effect else 1
    while virtual_time.run(go(number)) == number:
        number += every(8)
    assert number >= REQUESTS


def test_a_request_of_a_frozen_leader_that_arrives_late_moves_nothing() -> None:
    """While it is frozen, another one carries out the moves, and the scores change."""

    async def go(number: int) -> int:
        async with PaceHub() as hub:
            herd(hub, FREE, count=3, on="c1")
            # Events are sent beside the controller, so it would not be frozen.
            request = HeldRequest(number, besides=("GET", "WATCH", "POST events"))
            async with leading(hub):
                hub.arrives = request
                if await request.interrupts(in_time(lambda: settled(hub), what="two moves")):
                    async with leading(hub):
                        await in_time(lambda: settled(hub), what="two moves, by the other leader")
                        request.release.set()
                        await asyncio.sleep(120)
            assert {name: hub.where(name) for name in SPREAD} == SPREAD
            assert hub.broken == []
            return request.arrived

    number = 1
    while virtual_time.run(go(number)) == number:
        number += every(3)
    assert number > 4


DELAYS = st.lists(st.floats(min_value=0, max_value=3), min_size=1, max_size=20)


@settings(examples(6), suppress_health_check=[HealthCheck.too_slow])
@given(delays=DELAYS, begins=st.floats(min_value=0, max_value=40))
def test_two_leaders_do_not_exceed_the_pace_together(delays: list[float], begins: float) -> None:
    async def go() -> None:
        async with PaceHub() as hub:
            herd(hub, FREE, count=3, on="c1")
            each = cycle(delays)

            async def wait(word: str) -> None:
                await asyncio.sleep(
                    next(each) * (3 if word.startswith(("PUT", "PATCH", "POST")) else 1)
                )

            hub.arrives = wait
            async with leading(hub):
                await asyncio.sleep(begins)
                async with leading(hub):
                    await in_time(lambda: settled(hub), what="two moves")
            assert {name: hub.where(name) for name in SPREAD} == SPREAD
            assert hub.broken == []

    virtual_time.run(go())


async def test_what_ocm_does_not_follow_is_withdrawn() -> None:
    """OCM is away for minutes. When it comes back, nothing moves that was not admitted anew."""
    async with PaceHub() as hub:
        herd(hub, FREE, count=1, on="c1")
        async with leading(hub):
            with hub.nobody_decides():
                await in_time(
                    lambda: bool(hub.events("MoveWithdrawn")), what="the move is withdrawn"
                )
                await in_time(lambda: not hub.items(), what="no item")
                assert hub.where("app-0") == "c1"
            await in_time(lambda: hub.where("app-0") == "c2", what="it is admitted again")
        assert hub.broken == []


async def test_a_hub_whose_clock_was_wrong_delays_nothing_for_hours() -> None:
    """The clock of the hub was six hours ahead while a move was admitted, and so are the times of
    the ledger. When the clock is right again, the move is withdrawn as soon as any other one would
    be.
    """
    async with PaceHub() as hub:
        herd(hub, FREE, count=1, on="c1")
        with hub.nobody_decides():
            hub.ahead = 6 * 3600.0
            async with leading(hub):
                await in_time(lambda: bool(hub.items()), what="an item")
            (poisoned,) = hub.ledger().moves
            assert poisoned.since > wall() + 5 * 3600
            hub.ahead = 0.0
            async with leading(hub):
                began = wall()
                await in_time(
                    lambda: bool(hub.events("MoveWithdrawn")), what="the move is withdrawn"
                )
                assert wall() - began < 90
        assert hub.broken == []


async def test_wrong_dates_of_a_few_answers_are_not_written_into_the_ledger() -> None:
    async with PaceHub() as hub:
        herd(hub, {"c1": 50, "c2": 50}, count=1, on="c1")
        async with leading(hub):
            await in_time(lambda: len(hub.ledger().decided) == 1, what="a first look")
            await asyncio.sleep(60)
            hub.score("c2", 90)
            hub.ahead = 6 * 3600.0
            await asyncio.sleep(15)
            hub.ahead = 0.0
            await in_time(lambda: bool(hub.admitted()), what="an admission")
            assert hub.admitted()[0].since <= wall()
        assert hub.broken == []


def refuse_large(hub: PaceHub, max_bytes: int) -> None:
    """The hub refuses ConfigMaps with more bytes than this, as the API server does with
    1,048,576.
    """

    def before(seen: RecordedRequest) -> SentReply | None:
        if seen.method not in {"PUT", "POST"} or "/configmaps" not in seen.path:
            return None
        data = json.loads(seen.body).get("data") or {}
        size = sum(len(key) + len(text) for key, text in data.items())
        return (
            failure(422, f"Too long: may not be more than {max_bytes} bytes")
            if size > max_bytes
            else None
        )

    hub.before = before


async def test_a_queue_that_outgrows_the_configmap_holds_up_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Keys of somebody else leave room for a few of sixty moves that wait.

    The moves go on, the oldest wait is still counted, and it is told that only a part is shown.
    """
    async with PaceHub() as hub:
        herd(hub, {"c1": 10, "c2": 90}, count=60, on="c1")
        hub.put("configmaps", MOVES_SCORE, namespace=HUB, data={"theirs": "x" * 992_000})
        refuse_large(hub, 1_048_576 - 48_000)
        async with leading(hub) as replica:
            await in_time(lambda: len(hub.moved) >= 3, what="three moves")
            await asyncio.sleep(60)
            stored = hub.get("configmaps", MOVES_SCORE, namespace=HUB)
            assert stored is not None
            assert stored["data"]["theirs"] == "x" * 992_000
            moves = read_moves(stored["data"])
            assert moves.queue.omitted > 0
            assert sum(replica.samples("paced_moves_waiting", "reason").values()) == (
                len(moves.queue.waiting) + moves.queue.omitted
            )
            assert (replica.metric("paced_moves_waiting_seconds") or 0) > 120
            view = queue_view(
                moves,
                placements=None,
                cluster=None,
                facts=VerifierFacts(now=wall()),
                hub_namespace=HUB,
            )
            assert view is not None
            *_, last = queue_lines(view, everything=True)
            more = f"  and {moves.queue.omitted} more that wait, with a smaller gain"
            assert last == f"{more}; there is no room to name them"
        assert hub.broken == []
    assert "ConfigMap gitops-dsf-moves has no room for all of these: " in caplog.text


async def test_a_target_that_is_lost_before_ocm_follows_is_left_out() -> None:
    """OCM chooses another cluster by the scores, which is an arrival there."""
    async with PaceHub() as hub:
        herd(hub, FREE, count=1, on="c1")
        with hub.nobody_decides():
            async with leading(hub):
                await in_time(lambda: bool(hub.items()), what="an item")
        taints = [{"key": "test", "effect": "NoSelect"}]
        hub.put("managedclusters", "c2", kind="ManagedCluster", spec={"taints": taints})
        assert hub.where("app-0") == "c3"
        async with leading(hub):
            await in_time(lambda: not hub.items(), what="no item")
            moves = {(each.target, each.admitted) for each in hub.ledger().moves}
            assert ("c3", False) in moves
        assert hub.where("app-0") == "c3"


async def test_what_ocm_moves_itself_counts_as_an_arrival() -> None:
    """A cluster is lost, its application goes to c2 at once, and another one that would be best
    there goes elsewhere, because nobody has measured that yet.
    """
    async with PaceHub() as hub:
        herd(hub, {**FREE, "c1": 60, "c5": 61}, count=1, on="c5")
        hub.place("app-1", "c1")
        async with leading(hub):
            await in_time(lambda: len(hub.ledger().decided) == 2, what="a first look")
            hub.remove({"kind": "ManagedCluster", "metadata": {"name": "c5"}})
            hub.score("c1", 40)
            await in_time(lambda: hub.where("app-0") == "c2", what="the lost cluster is left")
            await in_time(lambda: hub.where("app-1") == "c3", what="the other one goes elsewhere")
        assert hub.broken == []


async def test_nothing_begins_while_a_decision_is_not_settled() -> None:
    """A cluster is lost, and its application goes to c2, the best one by far.

    Another one wants to go there in the same second, when the ledger does not know of the arrival
    yet.
    """
    async with PaceHub() as hub:
        herd(hub, {"c1": 60, "c2": 64, "c5": 64}, count=1, on="c5")
        hub.place("app-1", "c1")
        async with leading(hub):
            await in_time(lambda: len(hub.ledger().decided) == 2, what="a first look")
            hub.remove({"kind": "ManagedCluster", "metadata": {"name": "c5"}})
            hub.score("c1", 10)
            assert hub.where("app-0") == "c2"
            await asyncio.sleep(3)
            assert hub.ledger().moves == ()
            await asyncio.sleep(15)
            assert [(each.target, each.admitted) for each in hub.ledger().moves] == [("c2", False)]
            await in_time(lambda: hub.where("app-1") == "c2", what="the arrival is measured")
        assert hub.broken == []


async def test_without_a_pace_what_an_earlier_one_left_is_taken_away() -> None:
    async with PaceHub() as hub:
        herd(hub, FREE, count=1, on="c1")
        with hub.nobody_decides():
            async with leading(hub):
                await in_time(lambda: bool(hub.items()), what="an item")
            async with leading(hub, pace=None):
                await in_time(lambda: not hub.items(), what="no item")
                assert hub.ledger() == Ledger()


async def test_an_unreadable_ledger_admits_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody knows what is under way. The message says what to do."""
    async with PaceHub() as hub:
        herd(hub, FREE, count=1, on="c1")
        hub.objects["configmaps", HUB, MOVES_SCORE] = {
            "metadata": {"name": MOVES_SCORE, "namespace": HUB, "resourceVersion": "1"},
            "data": {"ledger": '{"moves": 1}'},
        }
        async with leading(hub):
            await asyncio.sleep(60)
        assert hub.items() == {}
    assert "delete the ConfigMap to begin with an empty ledger" in caplog.text


async def test_scores_that_nobody_ranks_by_do_not_matter() -> None:
    """An equal look is not computed again."""
    async with PaceHub() as hub:
        herd(hub, {"c1": 50, "c2": 50}, count=1, on="c1")
        async with leading(hub) as replica:
            await asyncio.sleep(60)
            writes = len(hub.writes)
            hub.put("addonplacementscores", "other", namespace="c1", kind="AddOnPlacementScore")
            await asyncio.sleep(60)
            assert len(hub.writes) == writes
            assert replica.metric("paced_moves_waiting_seconds") == 0


WRITTEN = Pace(concurrent=2, arrivals_per_cluster=1, settle_seconds=600, cooldown_seconds=3600)
PAGE = Path(__file__).parents[4] / "docs/decisions/paced-moves.md"
MOMENTS = (30, 300, 640, 1300)
"""Seconds after the scores have changed."""


def test_the_page_shows_the_queue_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty applications on the worst of four clusters: what `status` prints of one of them."""
    monkeypatch.setattr(time, "time", NOW.timestamp)
    said = ""

    async def go() -> None:
        nonlocal said
        async with PaceHub(pace=WRITTEN, demand=2) as hub:
            herd(hub, {"c1": 40, "c2": 62, "c3": 58, "c4": 55}, count=20, on="c1")
            async with leading(hub, pace=WRITTEN):
                for before, moment in pairwise((0, *MOMENTS)):
                    await asyncio.sleep(moment - before)
                    stored = hub.get("configmaps", MOVES_SCORE, namespace=HUB)
                    assert stored is not None
                    queue = queue_view(
                        read_moves(stored["data"]),
                        placements={"argocd/app-1"},
                        cluster=None,
                        facts=VerifierFacts(now=wall()),
                        hub_namespace=HUB,
                    )
                    lines = queue_lines(queue, everything=False) if queue is not None else ()
                    said += f"{timestamp_of(wall())}\n" + "".join(f"{line}\n" for line in lines)
            assert hub.broken == []

    virtual_time.run(go())
    assert said in [block.text for block in blocks(PAGE, "text")]


async def test_a_conflict_about_the_ledger_is_counted_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Somebody annotates the ConfigMap between read and write."""
    caplog.set_level(logging.INFO)
    async with PaceHub() as hub:
        herd(hub, {"c1": 10, "c2": 90}, count=2, on="c1")
        async with leading(hub) as replica:
            await in_time(hub.admitted, what="the first move")
            times = iter(range(3))

            def between(word: str) -> None:
                item = hub.get("configmaps", MOVES_SCORE, namespace=HUB)
                if word == "PUT configmaps" and item is not None and next(times, None) is not None:
                    hub.put("configmaps", MOVES_SCORE, namespace=HUB, data=item["data"])

            hub.between = between
            await in_time(lambda: len(hub.moved) == 2, what="both moved")
            assert next(times, None) is None
            assert replica.metric("conflicts_total", resource="configmaps") == 3
    assert caplog.text.count("another writer changed the object first; it is read again: PUT ") == 3
    assert hub.broken == []


@contextlib.asynccontextmanager
async def flapping(hub: PaceHub) -> AsyncIterator[None]:
    """A paced Placement whose decision changes every three seconds, between c3 and c4."""
    with hub.nobody_decides():
        hub.place("flapper", "c3")

    async def flap() -> None:
        while True:
            for cluster in ("c4", "c3"):
                await asyncio.sleep(3)
                hub.decide("flapper", cluster)

    task = asyncio.create_task(flap())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_one_decision_that_keeps_changing_does_not_hold_up_the_others() -> None:
    async with PaceHub() as hub:
        herd(hub, {"c1": 40, "c2": 62, "c3": 20, "c4": 20}, count=1, on="c1")
        async with leading(hub), flapping(hub):
            await asyncio.sleep(30)
            assert hub.admitted() == [], "it may be a change of many decisions that is under way"
            await asyncio.sleep(90)
            assert [each for each in hub.moved if each[0] == "app-0"] == [("app-0", "c1", "c2")]


async def test_no_move_goes_to_a_cluster_that_a_changing_decision_names() -> None:
    """What the flapping one leaves there, no score has measured, and the ledger does not know
    it.
    """
    async with PaceHub() as hub:
        herd(hub, {"c1": 40, "c2": 20, "c3": 70, "c4": 20}, count=1, on="c1")
        async with leading(hub) as replica:
            async with flapping(hub):
                await asyncio.sleep(300)
                assert hub.admitted() == []
                assert replica.metric("paced_moves_waiting", reason="Unsettled") == 1
            await in_time(
                lambda: any(each[0] == "app-0" for each in hub.moved), what="it has settled"
            )
            assert ("app-0", "c1", "c3") in hub.moved


RESTING = PACE.model_copy(update={"cooldown_seconds": 3600})


async def test_a_move_that_is_measured_early_draws_nobody_back() -> None:
    """The scores show the move of app-0 at once, 25 beside 25, although the scorers may take 300 s.

    Counted twice, c1 would have 30 and c2 20, and app-1 would go to c1, for no gain.
    """
    async with PaceHub(pace=RESTING, delay=300) as hub:
        herd(hub, {"c1": 20, "c2": 30}, count=1, on="c1")
        hub.place("app-1", "c2")
        async with leading(hub, pace=RESTING) as replica:
            await asyncio.sleep(120)
            assert replica.metric("paced_moves_waiting", reason="Measuring") == 1
            await asyncio.sleep(3600)
            assert hub.moved == [("app-0", "c1", "c2")]
            assert not replica.metric("paced_moves_waiting", reason="Measuring")
        assert hub.broken == []


async def test_a_gain_does_not_wait_for_scores_that_cannot_take_it_away() -> None:
    """The same with 20 points more on c1: app-1 would gain them however the move of app-0 is
    measured.
    """
    async with PaceHub(pace=RESTING, delay=300) as hub:
        herd(hub, {"c1": 20, "c2": 30}, count=1, on="c1")
        hub.place("app-1", "c2")
        async with leading(hub, pace=RESTING):
            await in_time(lambda: hub.moved == [("app-0", "c1", "c2")], what="the first move")
            await asyncio.sleep(60)
            hub.score("c1", 45)
            await asyncio.sleep(20)
            assert hub.moved == [("app-0", "c1", "c2"), ("app-1", "c2", "c1")]


@pytest.mark.parametrize("cooldown", [0, 3600])
async def test_a_load_is_assumed_until_the_scorers_have_measured_it(cooldown: int) -> None:
    """Also if the pace settles after 30 s.

    When the 300 s are over, the scores are believed, although nothing is written at that time.
    """
    pace = PACE.model_copy(update={"cooldown_seconds": cooldown})
    async with PaceHub(pace=pace, delay=300, measures=False) as hub:
        herd(hub, {"c1": 20, "c2": 30}, count=2, on="c1")
        async with leading(hub, pace=pace):
            await asyncio.sleep(290)
            assert [name for name, *_ in hub.moved] == ["app-0"]
            await asyncio.sleep(60)
            assert [name for name, *_ in hub.moved] == ["app-0", "app-1"]


async def test_a_score_that_expires_is_a_reason_to_move_although_nothing_is_written() -> None:
    async with PaceHub() as hub:
        herd(hub, {"c1": 90, "c2": 60}, count=1, on="c1")
        with hub.nobody_decides():
            until = timestamp_of(wall() + 300)
            status = {"scores": [{"name": "free", "value": 90}], "validUntil": until}
            hub.put(
                "addonplacementscores",
                "free",
                namespace="c1",
                kind="AddOnPlacementScore",
                status=status,
            )
        async with leading(hub):
            await asyncio.sleep(290)
            assert hub.admitted() == []
            await asyncio.sleep(60)
            assert [each.target for each in hub.admitted()] == ["c2"]


async def test_a_toleration_that_runs_out_is_a_reason_to_move_although_nothing_is_written() -> None:
    """For a move to the cluster that is best now: the one that was the best has a taint."""
    async with PaceHub() as hub:
        herd(hub, {"c1": 40, "c2": 60, "c3": 90}, count=1, on="c1")
        hub.objects.pop(("managedclusters", "", "c3"))
        with hub.nobody_decides():
            added = timestamp_of(wall())
            taint = {"key": "works", "effect": "NoSelect", "timeAdded": added}
            hub.cluster("c3", 90, taints=[taint])
            item = hub.get("placements", "app-0", namespace=ARGOCD)
            assert item is not None
            tolerations = [{"key": "works", "operator": "Exists", "tolerationSeconds": 300}]
            item["spec"]["tolerations"] = tolerations
            # The way to c3 is not free, and that to c2 is not asked for before the toleration has
            # run out.
            hub.maintain(
                {
                    "name": "freeze",
                    "action": "Freeze",
                    "clusters": ["c3"],
                    "start": timestamp_of(wall() - 60),
                    "end": timestamp_of(wall() + 3600),
                }
            )
        async with leading(hub):
            await asyncio.sleep(280)
            assert hub.admitted() == []
            await asyncio.sleep(60)
            assert [each.target for each in hub.admitted()] == ["c2"]
