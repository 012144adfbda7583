"""Limits that keep one peer from harming others: slots, and texts in messages."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_agent.endpoints.transport import OriginLimit
from dsf_runtime.calls import display, excerpt
from dsf_wire.retryafter import retry_after

TEXT_LIMIT = 400


async def test_one_origin_never_waits_for_another() -> None:
    limit, release = OriginLimit(per_origin=2), asyncio.Event()

    async def hang() -> None:
        async with limit.slot("slow"):
            await release.wait()

    hanging = [asyncio.create_task(hang()) for _ in range(8)]
    await asyncio.sleep(0)
    async with asyncio.timeout(60), limit.slot("fast"):
        pass
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), limit.slot("slow"):
            pass
    release.set()
    await asyncio.gather(*hanging)
    async with asyncio.timeout(60), limit.slot("slow"):
        pass


async def test_callers_without_answers_leave_half_of_the_slots_to_others() -> None:
    """A hundred of them wait in order for four of eight slots.

    A caller that gets answers runs at once.
    """
    limit, hanging, order = OriginLimit(per_origin=8), asyncio.Event(), list[int]()

    async def hang(number: int) -> None:
        async with limit.slot("slow", unresponsive=True):
            order.append(number)
            await hanging.wait()

    tasks = [asyncio.create_task(hang(number)) for number in range(100)]
    await asyncio.sleep(0)
    assert order == [0, 1, 2, 3]
    # The one that waits is cancelled while its turn would come.
    tasks[0].cancel()
    tasks[4].cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert order == [0, 1, 2, 3, 5]
    async with AsyncExitStack() as stack:
        for _ in range(4):
            await asyncio.wait_for(stack.enter_async_context(limit.slot("slow")), timeout=60)
        fifth = asyncio.create_task(stack.enter_async_context(limit.slot("slow")))
        await asyncio.sleep(0)
        assert not fifth.done(), "eight are at work"
        tasks[1].cancel()
        await asyncio.wait_for(fifth, timeout=60)
        assert order == [0, 1, 2, 3, 5], "those with answers come first"
    hanging.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [0, 1, 2, 3, *range(5, 100)]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (
            "https://user:secret@host:9090/api/v1/query?token=secret#x",
            "https://host:9090/api/v1/query",
        ),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
        ("http://[::1/x", "(unreadable URL)"),
    ],
)
def test_urls_are_shown_without_secrets(url: str, shown: str) -> None:
    assert display(url) == shown


@given(st.binary(max_size=5000) | st.text(max_size=5000))
def test_texts_of_peers_become_one_short_printable_line(data: bytes | str) -> None:
    text = excerpt(data)
    assert len(text) <= TEXT_LIMIT
    assert text.isprintable()


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("99999999", 3600.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("Thu, 01 Jan 1970 00:03:20 GMT", 100.0),
    ],
)
def test_retry_after(header: str, seconds: float | None) -> None:
    """Seconds or a date, with a limit.

    An invalid value is ignored. The time is 100 s after the epoch.
    """
    assert retry_after({"retry-after": header}, now=100.0) == seconds
