"""The queue of moves as `status` shows it: what is under way, and what waits for what."""

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from gitops_dsf.pacing.admit import Waiting
from gitops_dsf.pacing.ledger import MOST_MOVES


class Queued(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A move that waits. Times are seconds since 1970."""

    placement: str
    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    points: float
    reason: str
    message: str
    since: float
    """Since when it waits."""
    until: float | None = None
    """When it may begin, if only time must pass."""


class Queue(Struct, frozen=True):
    """The moves that wait, the largest gain first."""

    waiting: Annotated[tuple[Queued, ...], Meta(max_length=MOST_MOVES)] = ()


def queue_of(waiting: Iterable[Waiting], before: Queue, *, now: float) -> Queue:
    """The queue now. A move to the same cluster keeps the time since when it waits."""
    since = {(each.placement, each.target): each.since for each in before.waiting}
    return Queue(
        tuple(
            Queued(
                placement=each.wish.placement,
                source=each.wish.source,
                target=each.wish.target,
                points=round(each.wish.points, 1),
                reason=str(each.reason),
                message=each.message,
                since=since.get((each.wish.placement, each.wish.target), now),
                until=each.until,
            )
            for each in waiting
        )
    )


def read_queue(text: str | bytes) -> Queue:
    """Reads JSON. Raises msgspec.DecodeError."""
    return msgspec.json.decode(text, type=Queue)


def queue_text(queue: Queue) -> str:
    """The queue as JSON."""
    return msgspec.json.encode(queue).decode()
