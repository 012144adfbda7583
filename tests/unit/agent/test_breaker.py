"""The circuit breaker of a scorer.

Its rates, what it shows, and that a healthy peer does not notice it.
"""

import asyncio
import itertools
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest

from dsf_agent.errors import AgentError
from dsf_agent.metrics import AgentMetrics
from dsf_agent.schedule.cycle import CycleResult
from dsf_agent.schedule.worker import Grid, Worker
from dsf_wire.scored import Reason
from dsf_wire.summary import ScorerSummary
from tests.support.laws import examples
from tests.support.virtual_time import VirtualLoop

FIVE_MINUTES = 300.0
JITTER = 0.2


class Peer:
    """A peer that is down at some times, and a worker that calls it in every cycle."""

    def __init__(
        self,
        *,
        interval: float,
        is_down: Callable[[float], bool],
        reason: Reason = Reason.UNREACHABLE,
        retry_after: float | None = None,
    ) -> None:
        self._is_down = is_down
        self._reason = reason
        self._retry_after = retry_after
        self.calls: list[float] = []
        """Seconds from the start."""
        self.answered: list[bool] = []
        self.metrics = AgentMetrics(cluster="c")
        self.worker = Worker(
            scorer=ScorerSummary(name="cpu", score_name="cpu", scoring_interval=1),
            cycle=self._cycle,
            publication=None,
            grid=Grid(interval=interval, phase=0.0),
            metrics=self.metrics.of("cpu"),
            wall=lambda: 1_800_000_000.0 + asyncio.get_running_loop().time(),
        )

    async def _cycle(self) -> CycleResult:
        now = asyncio.get_running_loop().time()
        self.calls.append(now)
        self.answered.append(not self._is_down(now))
        if not self.answered[-1]:
            raise AgentError("away", reason=self._reason, retry_after=self._retry_after)
        return CycleResult()

    async def watch(self, seconds: float) -> None:
        running = asyncio.create_task(self.worker.run(splay=0.0))
        await asyncio.sleep(seconds)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    def watched(self, seconds: float) -> "Peer":
        """Runs the worker for so long in a virtual loop of its own."""
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(self.watch(seconds))
        return self

    def sample(self, name: str) -> float:
        text = generate_latest(self.metrics.registry).decode()
        [line] = [
            line
            for line in text.splitlines()
            if line.startswith(f'gitops_dsf_agent_{name}{{score_name="cpu"}}')
        ]
        return float(line.split()[-1])


@examples(25, soak=1000)
@given(interval=st.sampled_from([5, 30, 60, 300]), hours=st.integers(1, 6))
def test_a_peer_that_stays_down_gets_seven_calls_and_then_one_every_five_minutes(
    interval: int, hours: int
) -> None:
    peer = Peer(interval=interval, is_down=lambda _: True).watched(hours * 3600)
    pauses = [after - before for before, after in pairwise(peer.calls)]
    for number, pause in enumerate(pauses):
        nominal = min(5 * 2**number, FIVE_MINUTES)
        assert (1 - JITTER) * nominal <= pause <= (1 + JITTER) * nominal + 0.001
    assert len(peer.calls) <= 7 + hours * 3600 / (FIVE_MINUTES * (1 - JITTER))
    assert peer.sample("circuit_open") == 1
    assert peer.sample("circuit_opened_total") == 1


@given(interval=st.sampled_from([600, 3600, 86_400]))
def test_a_peer_with_a_long_interval_is_never_tried_more_rarely_than_it_would_be_called(
    interval: int,
) -> None:
    peer = Peer(interval=interval, is_down=lambda _: True).watched(interval * 6)
    pauses = [after - before for before, after in pairwise(peer.calls)]
    assert max(pauses) <= interval * (1 + JITTER) + 0.001
    assert peer.sample("circuit_open") == 1


@examples(25, soak=1000)
@given(
    interval=st.sampled_from([1, 5, 30, 60, 300, 3600]),
    cycle=st.integers(0, 8),
)
def test_one_hiccup_is_not_noticed(interval: int, cycle: int) -> None:
    """One failed call is tried again once; every other cycle starts when it would have started."""
    end = 10.5 * interval + 10
    undisturbed = Peer(interval=interval, is_down=lambda _: False).watched(end)
    hiccup = undisturbed.calls[cycle]
    peer = Peer(interval=interval, is_down=lambda now: now == hiccup).watched(end)
    assert peer.answered.count(False) == 1
    retry = peer.calls[cycle + 1]
    assert retry - hiccup <= min(5, interval) * (1 + JITTER) + 0.001
    # The retry can take the place of a cycle that was due at almost the same time.
    missed = set(undisturbed.calls) - set(peer.calls)
    assert all(abs(time - retry) <= interval / 2 + 0.001 for time in missed)
    assert len(missed) <= 1
    assert peer.sample("circuit_open") == 0
    assert peer.sample("circuit_opened_total") == 0
    assert peer.worker.state.failures == 0


@examples(15, soak=1000)
@given(
    interval=st.sampled_from([5, 30, 60]),
    outage=st.floats(1, 7200),
    begin=st.floats(0, 120),
)
def test_after_an_outage_one_success_restores_the_grid(
    interval: int, outage: float, begin: float
) -> None:
    """The wait after the peer is back is short after a short outage, and six minutes at most."""
    end = begin + outage
    peer = Peer(interval=interval, is_down=lambda now: begin <= now < end).watched(end + 1000)
    back = next(time for time in peer.calls if time >= end)
    assert back - end <= max(interval, min(1.5 * outage + 6, FIVE_MINUTES * (1 + JITTER))) + 0.001
    after = [time for time in peer.calls if time > back]
    assert all(abs(time - round(time / interval) * interval) < 0.001 for time in after)
    assert len(after) >= (1000 - (back - end)) / interval - 2
    assert peer.sample("circuit_open") == 0
    if outage < 200:
        assert peer.sample("circuit_opened_total") == 0


@given(interval=st.sampled_from([60, 300, 600]), hours=st.integers(1, 3))
def test_answers_without_results_never_open_the_circuit(interval: int, hours: int) -> None:
    """A new cluster has no data yet.

    The peers are healthy, and scores follow within one interval.
    """
    peer = Peer(interval=interval, is_down=lambda _: True, reason=Reason.NO_RESULTS)
    peer.watched(hours * 3600)
    pauses = [after - before for before, after in pairwise(peer.calls)]
    assert max(pauses) <= interval + 0.001
    assert peer.sample("circuit_open") == 0
    assert peer.sample("circuit_opened_total") == 0


@pytest.mark.parametrize("answer", ["scores", "no results"])
def test_failures_count_only_in_a_row(answer: str) -> None:
    """A peer that fails four times of five never opens the circuit, and its pauses stay short."""
    calls = itertools.count()

    class Unreliable(Peer):
        async def _cycle(self) -> CycleResult:
            self.calls.append(asyncio.get_running_loop().time())
            if next(calls) % 5:
                raise AgentError("away", reason=Reason.UNREACHABLE)
            if answer == "no results":
                raise AgentError("nothing", reason=Reason.NO_RESULTS)
            return CycleResult()

    peer = Unreliable(interval=60, is_down=lambda _: False).watched(3600)
    pauses = [after - before for before, after in pairwise(peer.calls)]
    assert len(pauses) > 100
    assert max(pauses) <= 60
    assert peer.sample("circuit_opened_total") == 0


def test_the_wait_that_a_peer_asks_for_is_obeyed() -> None:
    peer = Peer(interval=60, is_down=lambda _: True, retry_after=1800.0).watched(4000)
    assert [after - before for before, after in pairwise(peer.calls)] == [1800.0, 1800.0]


async def test_an_open_circuit_is_told_in_the_reason_until_it_closes() -> None:
    """The circuit opens at the seventh failure, between 252 and 378 seconds after the first."""
    peer = Peer(interval=60, is_down=lambda now: now < 400)
    watching = asyncio.create_task(peer.watch(1200))
    await asyncio.sleep(200)
    state = peer.worker.state
    assert (state.failures, state.circuit_open, state.message) == (6, False, "away")
    assert peer.sample("circuit_open") == 0
    await asyncio.sleep(190)
    state = peer.worker.state
    assert (state.failures, state.circuit_open) == (7, True)
    assert state.reason is Reason.UNREACHABLE
    assert state.message == "away (the circuit is open after 7 failures in a row)"
    assert state.next_attempt is not None
    planned = state.next_attempt - 1_800_000_000.0
    await asyncio.sleep(400)
    assert min(peer.calls, key=lambda time: abs(time - planned)) - planned < 0.01
    state = peer.worker.state
    assert (state.failures, state.circuit_open, state.next_attempt) == (0, False, None)
    assert (peer.sample("circuit_open"), peer.sample("circuit_opened_total")) == (0, 1)
    await watching
