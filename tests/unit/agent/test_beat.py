"""The judge of the agent's pace (tests.support.agent.pace): what it forgives, and whom it still refuses."""

import asyncio
import gc
import time
from collections.abc import Callable, Iterable

import pytest

from dsf_agent.cadence import Cadence
from tests.support.agent.http import Seen
from tests.support.agent.pace import Pace
from tests.support.agent.stolen import stolen
from tests.support.in_loop import in_loop

GRID = Cadence(interval=2, phase=0.7)
MINUTE = 30


def judge(beats: Iterable[float], *, taken: Callable[[float, float], float] = lambda _start, _end: 0.0, least: int = 1) -> None:
    """Calls at these numbers of beats."""
    calls = [
        Seen(method="POST", target="/", headers={}, body=b"", at=GRID.phase + (100 + number) * GRID.interval + 0.003) for number in beats
    ]
    Pace(taken).check(calls, cadence=GRID, least=least)


def busy(at: float, seconds: float) -> Callable[[float, float], float]:
    """A machine that took these seconds at this number of beats."""
    moment = GRID.phase + (100 + at) * GRID.interval
    return lambda start, end: seconds if start <= moment + seconds and end >= moment else 0.0


GOOD = {
    "on the beat": [*range(MINUTE)],
    "a little late": [number + number % 4 / 10 for number in range(MINUTE)],
    "one very late": [number + 0.9 * (number == 12) for number in range(MINUTE)],
    "three of thirty late": [number + 0.5 * (number in {3, 12, 20}) for number in range(MINUTE)],
    "one late, so the next beat is skipped": [number + 0.6 * (number == 12) for number in range(MINUTE) if number != 13],
    "one lost": [number for number in range(MINUTE) if number != 12],
    "one of four late": [0, 1.7, 2, 3],
}


@pytest.mark.parametrize("name", GOOD)
def test_one_call_in_ten_may_be_off(name: str) -> None:
    judge(GOOD[name])


BAD = {
    "drifts": [1.05 * number for number in range(MINUTE)],
    "runs ahead": [0.95 * number for number in range(MINUTE)],
    "off the grid": [number + 0.5 for number in range(MINUTE)],
    "every third late": [number + 0.5 * (number % 3 == 0) for number in range(MINUTE)],
    "every third lost": [number for number in range(MINUTE) if number % 3],
    "half as often": [*range(0, MINUTE, 2)],
    "every other one late, and its next beat skipped": [0, 1.6, 3, 4.6, 6, 7.6, 9],
    "twice in one beat": [*range(12), 11.5, *range(12, MINUTE)],
    "started anew": [0, 1, 1.4, 2, 3],
    "twice after a late one": [0, 1, 2.6, 2.9, 4],
    "two of five late": [0, 1.7, 2, 3.7, 4],
    "away for three beats": [0, 1, 5, 6, 7],
}


@pytest.mark.parametrize("name", BAD)
def test_more_is_a_fault(name: str) -> None:
    with pytest.raises(AssertionError, match=r"off the beat|two calls in one beat"):
        judge(BAD[name])


def test_too_few_calls_prove_nothing() -> None:
    with pytest.raises(AssertionError, match="3"):
        judge(range(3), least=3)


STALLED = [0, 1, 2.75, 4, 5, 6.8, 7]
"""Beat 2 late and beat 3 skipped; beat 6 late."""


def test_what_the_machine_took_is_forgiven() -> None:
    """At its own time only, and only as much as it was."""
    judge(STALLED, taken=busy(1.9, 1.6))
    for taken in (busy(0.1, 1.6), busy(1.9, 0.3)):
        with pytest.raises(AssertionError, match=r"off the beat: \[2, 6\]"):
            judge(STALLED, taken=taken)


def test_beats_lost_while_the_machine_stood_are_forgiven() -> None:
    """It stood for five beats: the call that was due came at its end."""
    times = [0, 1, 7.1, 8, 9]
    judge(times, taken=busy(2, 10.2))
    with pytest.raises(AssertionError, match="off the beat"):
        judge(times)


@in_loop
async def test_computing_in_the_loop_is_not_forgiven() -> None:
    """Half a second of the thread's own CPU, however long the machine made of it."""
    async with stolen() as measured:
        start, cpu = time.monotonic(), time.thread_time()
        while time.thread_time() - cpu < 0.5:
            pass
        held = time.monotonic() - start
        await asyncio.sleep(0.1)
        assert measured.between(start, start + held) <= time.monotonic() - start - 0.5


@in_loop
async def test_a_thread_that_may_not_run_is_forgiven() -> None:
    """Also while nothing has looked since."""
    async with stolen() as measured:
        start = time.monotonic()
        time.sleep(0.3)  # noqa: ASYNC251 - the very thing
        assert measured.between(start, time.monotonic()) > 0.25
        await asyncio.sleep(0.1)
        assert measured.between(start, start + 0.3) > 0.25
        assert measured.between(start - 10, start - 5) == 0


@in_loop
async def test_a_collection_of_the_whole_heap_is_forgiven() -> None:
    """It is not the agent's CPU."""
    heap = [[number] for number in range(300_000)]
    async with stolen() as measured:
        start, cpu = time.monotonic(), time.thread_time()
        for _ in range(5):
            gc.collect()
        used = time.thread_time() - cpu
        assert measured.between(start, time.monotonic()) > 0.8 * used - 0.02
        assert used > 0.05
    assert len(heap) == 300_000
