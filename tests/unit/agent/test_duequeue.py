"""The queue of due times: order, replaced times, and that nothing is lost or taken twice."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from dsf_agent.publish.duequeue import DueQueue
from tests.support.virtual_time import VirtualLoop


def wall() -> float:
    return 1_000.0 + asyncio.get_running_loop().time()


async def taken(queue: DueQueue[str], count: int) -> list[tuple[str, float]]:
    """The next items, and the seconds since the start at which they came."""
    return [(await queue.take(), wall() - 1_000.0) for _ in range(count)]


async def test_items_come_when_they_are_due_and_by_rank_when_they_are_due_together() -> None:
    queue = DueQueue[str](wall=wall)
    queue.plan("later", at=1_020.0, rank=0)
    queue.plan("second of the second", at=0.0, rank=2)
    queue.plan("first", at=0.0, rank=1)
    queue.plan("third of the second", at=0.0, rank=2)
    assert await taken(queue, 4) == [
        ("first", 0),
        ("second of the second", 0),
        ("third of the second", 0),
        ("later", 20),
    ]


async def test_a_new_time_replaces_the_old_one_in_both_directions() -> None:
    queue = DueQueue[str](wall=wall)
    queue.plan("sooner", at=1_100.0, rank=0)
    queue.plan("later", at=1_010.0, rank=0)
    waiting = asyncio.create_task(taken(queue, 2))
    await asyncio.sleep(1)
    queue.plan("sooner", at=1_005.0, rank=0)
    queue.plan("later", at=1_050.0, rank=0)
    assert await waiting == [("sooner", 5), ("later", 50)]


async def test_an_item_that_was_taken_can_be_planned_for_the_same_time_again() -> None:
    queue = DueQueue[str](wall=wall)
    queue.plan("a", at=0.0, rank=0)
    assert queue.is_due("a")
    assert await queue.take() == "a"
    assert not queue.is_planned("a")
    queue.plan("a", at=0.0, rank=0)
    assert await queue.take() == "a"


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 50), st.integers(0, 3)), min_size=1, max_size=40
    )
)
def test_each_item_is_taken_once_at_the_time_that_was_planned_last(
    plans: list[tuple[int, int, int]],
) -> None:
    """Each plan is an item, its due time in seconds, and its rank."""
    items = [f"item {number}" for number in range(6)]
    expected = {items[number]: at for number, at, _rank in plans}

    async def run() -> list[tuple[str, float]]:
        queue = DueQueue[str](wall=wall)
        for number, at, rank in plans:
            queue.plan(items[number], at=1_000.0 + at, rank=rank)
        return await taken(queue, len(expected))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        result = runner.run(run())
    assert {item: round(at) for item, at in result} == expected
    assert [at for _, at in result] == sorted(at for _, at in result)
