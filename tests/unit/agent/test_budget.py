"""Bytes in flight: who waits for whom."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_agent.endpoints.budget import FREE_BYTES, Budget, BudgetFullError
from dsf_agent.errors import CallError

MB = FREE_BYTES
LIMIT = 10 * MB


class Holder:
    """A cycle that holds its room until told."""

    def __init__(self, budget: Budget, expected: int | None, *, actual: int | None = None) -> None:
        self.inside = False
        self.done = asyncio.Event()
        self.task = asyncio.create_task(self._run(budget, expected, actual))

    async def _run(self, budget: Budget, expected: int | None, actual: int | None) -> None:
        async with budget.room(expected) as reservation:
            if actual is not None:
                reservation.holds(actual)
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


async def test_those_that_fit_go_and_the_others_follow_in_their_order() -> None:
    """Two of four fit, the third waits, and a small one that came later does not overtake it; a cancelled one
    gives its place away.
    """
    budget = Budget(limit=LIMIT)
    one, two, three, four, five = (Holder(budget, size * MB) for size in (4, 4, 4, 2, 2))
    assert await _inside(one, two, three, four, five) == [True, True, False, False, False]
    await one.leave()
    assert await _inside(two, three, four, five) == [True, True, True, False]
    await four.cancel()
    assert await _inside(two, three, five) == [True, True, True]
    for holder in (two, three, five):
        await holder.leave()


async def test_one_that_is_larger_than_the_budget_goes_alone() -> None:
    """It waits until nobody holds anything, and is not overtaken for ever by smaller ones."""
    budget = Budget(limit=LIMIT)
    first, huge, later = (Holder(budget, size * MB) for size in (4, 100, 4))
    assert await _inside(first, huge, later) == [True, False, False]
    await first.leave()
    assert await _inside(huge, later) == [True, False]
    await huge.leave()
    assert await _inside(later) == [True]
    await later.leave()


async def test_small_ones_and_first_runs_pass() -> None:
    """A small one always; one of unknown size unless the budget is used up, and then it counts as what it
    turned out to be.
    """
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
@pytest.mark.real_time
async def test_everybody_comes_to_an_end(askers: list[tuple[int | None, int, bool]]) -> None:
    """Whatever was expected and came, and whoever is cancelled where: nobody waits for ever, and all room is
    given back.
    """
    budget = Budget(limit=LIMIT)
    holders = [
        Holder(budget, None if size is None else size * MB, actual=actual * MB) for size, actual, _ in askers
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


async def test_bytes_count_as_they_arrive_and_never_beyond_the_limit() -> None:
    """Eight answers that grow and grow: those that find no room let go of all they have and ask for twice as
    much; in the end one is alone, and too large by itself.
    """
    budget, most = Budget(limit=LIMIT), 0
    ends: list[str] = []

    async def endless() -> None:
        nonlocal most
        reservation, expected = budget.reservation(), None
        while True:
            try:
                async with reservation.room(expected):
                    for _ in range(1000):
                        reservation.arrives(MB // 4)
                        most = max(most, budget.used)
                        await asyncio.sleep(0)
            except BudgetFullError as error:
                expected = error.wanted
            except CallError as error:
                ends.append(error.reason.value)
                return

    async with asyncio.timeout(60):
        await asyncio.gather(*(endless() for _ in range(8)))
    assert ends == ["too_large"] * 8
    assert LIMIT // 2 < most <= LIMIT
    assert budget.used == 0


async def test_what_was_expected_has_its_room() -> None:
    """An answer as large as last time finds it, whoever came meanwhile."""
    budget = Budget(limit=LIMIT)
    async with budget.room(6 * MB) as reservation:
        async with budget.room(None) as other:
            other.arrives(4 * MB)
            with pytest.raises(BudgetFullError):
                other.arrives(1)
        for _ in range(6):
            reservation.arrives(MB)
        reservation.holds(2 * MB)
        assert budget.used == 6 * MB, "room for the results is kept, too"
    assert budget.used == 0
