"""The memory budget: which cycles wait for which."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_agent.endpoints.budget import Budget, BudgetFullError
from dsf_agent.errors import AgentError
from dsf_wire.scored import Reason

FREE_BYTES = 1 << 20

MB = FREE_BYTES
LIMIT = 10 * MB


class Holder:
    def __init__(self, budget: Budget, expected: int | None, *, actual: int | None = None) -> None:
        self.inside = False
        self.done = asyncio.Event()
        self.task = asyncio.create_task(self._run(budget, expected, actual))

    async def _run(self, budget: Budget, expected: int | None, actual: int | None) -> None:
        reservation = budget.reservation()
        async with reservation.room(expected):
            if actual is not None:
                reservation.set_size(actual)
            self.inside = True
            try:
                await self.done.wait()
            finally:
                self.inside = False

    async def leave(self) -> None:
        self.done.set()
        await self.task

    async def cancel(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


async def _inside(*holders: Holder) -> list[bool]:
    for _ in range(5):
        await asyncio.sleep(0)
    return [holder.inside for holder in holders]


async def test_cycles_that_fit_run_and_others_follow_in_order() -> None:
    budget = Budget(limit=LIMIT)
    one, two, three, four, five = (Holder(budget, size * MB) for size in (4, 4, 4, 2, 2))
    assert await _inside(one, two, three, four, five) == [True, True, False, False, False]
    await one.leave()
    assert await _inside(two, three, four, five) == [True, True, True, False]
    await four.cancel()
    assert await _inside(two, three, five) == [True, True, True]
    for holder in (two, three, five):
        await holder.leave()


async def test_a_cycle_larger_than_the_budget_runs_alone() -> None:
    budget = Budget(limit=LIMIT)
    first, huge, later = (Holder(budget, size * MB) for size in (4, 100, 4))
    assert await _inside(first, huge, later) == [True, False, False]
    await first.leave()
    assert await _inside(huge, later) == [True, False]
    await huge.leave()
    assert await _inside(later) == [True]
    await later.leave()


async def test_small_and_first_cycles_do_not_wait() -> None:
    budget = Budget(limit=LIMIT)
    large, waiting, small, fresh = (
        Holder(budget, 6 * MB),
        Holder(budget, 6 * MB),
        Holder(budget, MB),
        Holder(budget, None, actual=5 * MB),
    )
    assert await _inside(large, waiting, small, fresh) == [True, False, True, True]
    another, small_one = Holder(budget, None), Holder(budget, MB)
    assert await _inside(another, small_one) == [False, True]
    await large.leave()
    assert await _inside(another, waiting) == [True, False], "5 of 10 are held by the fresh one"
    await fresh.leave()
    assert await _inside(waiting) == [True]
    for holder in (waiting, small, another, small_one):
        await holder.leave()


@given(
    st.lists(
        st.tuples(st.one_of(st.none(), st.integers(0, 15)), st.integers(0, 15), st.booleans()),
        min_size=1,
        max_size=12,
    )
)
async def test_every_cycle_ends_and_releases_its_bytes(
    askers: list[tuple[int | None, int, bool]],
) -> None:
    budget = Budget(limit=LIMIT)
    holders = [
        Holder(budget, None if size is None else size * MB, actual=actual * MB)
        for size, actual, _ in askers
    ]
    await _inside()
    for holder, (_, _, cancelled) in zip(holders, askers, strict=True):
        if cancelled:
            await holder.cancel()
        else:
            holder.done.set()
    async with asyncio.timeout(60):
        await asyncio.gather(*(holder.task for holder in holders), return_exceptions=True)
    whole = Holder(budget, LIMIT)
    assert await _inside(whole) == [True]
    await whole.leave()


async def test_bytes_count_as_they_arrive_and_never_exceed_the_limit() -> None:
    budget, most = Budget(limit=LIMIT), 0
    ends: list[str] = []

    async def endless() -> None:
        nonlocal most
        reservation, expected = budget.reservation(), None
        while True:
            try:
                async with reservation.room(expected):
                    for _ in range(1000):
                        reservation.add(MB // 4)
                        most = max(most, budget.used)
                        await asyncio.sleep(0)
            except BudgetFullError as error:
                expected = error.wanted
            except AgentError as error:
                ends.append(error.reason.value)
                return

    async with asyncio.timeout(60):
        await asyncio.gather(*(endless() for _ in range(8)))
    assert ends == ["too_large"] * 8
    assert LIMIT // 2 < most <= LIMIT
    assert budget.used == 0


async def test_expected_bytes_are_reserved() -> None:
    budget = Budget(limit=LIMIT)
    reservation, other = budget.reservation(), budget.reservation()
    async with reservation.room(6 * MB):
        async with other.room(None):
            other.add(4 * MB)
            with pytest.raises(BudgetFullError):
                other.add(1)
        for _ in range(6):
            reservation.add(MB)
        reservation.set_size(2 * MB)
        assert budget.used == 6 * MB, "room for the results is kept, too"
    assert budget.used == 0


def test_scorers_share_a_bound_for_the_texts_that_they_keep() -> None:
    budget = Budget(limit=8 * FREE_BYTES)
    first, second, small = budget.reservation(), budget.reservation(), budget.reservation()
    first.keep(3 * FREE_BYTES)
    with pytest.raises(
        AgentError, match="all scorers have more than 4194304 bytes together"
    ) as caught:
        second.keep(2 * FREE_BYTES)
    assert caught.value.reason is Reason.TOO_LARGE
    small.keep(FREE_BYTES)
    first.keep(3 * FREE_BYTES + 1)
    first.keep(2 * FREE_BYTES)
    second.keep(2 * FREE_BYTES)
    del first
    second.keep(4 * FREE_BYTES)
