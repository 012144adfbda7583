"""Paced moves in the ConfigMap of the hub: those under way, and those that wait.

The ledger must be readable, because the pace is counted by it. Queue and maintenance are only
shown.
"""

import contextlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.hub.names import MAINTENANCE_KEY, MOVES_CONFIGMAP
from gitops_dsf.pacing.admit import Waiting
from gitops_dsf.pacing.ledger import MAX_MOVES, Ledger, encoded_size
from gitops_dsf.pacing.maintenance import MAX_NAMED, MaintenanceState

MAX_CONFIGMAP_BYTES: Final = 1_000_000
"""Bytes of all keys and values.

The API server refuses more than 1,048,576 (ValidateConfigMap of Kubernetes 1.33). Then no move
could begin or end, because the write of the ledger is the admission.
"""
NAME_LIMITS: Final = (MAX_NAMED, 10, 3, 0)
"""The number of Placements of each drained cluster that are listed.

The limits are tried in this order until everything fits.
"""
LEDGER_KEY: Final = "ledger"
QUEUE_KEY: Final = "queue"
_MIN_PART_BYTES: Final = 1_000
"""Bytes for a part of which nearly everything is left out."""
MAX_DECODED_PARTS: Final = 6
"""Parts that are kept as they were decoded: three, before and after a write of this leader."""

Part = TypeVar("Part", bound=Struct)


class Queued(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A move that waits. Times are seconds since 1970."""

    placement: str
    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    points: float
    reason: str
    message: str
    since: float
    """The time since when it waits."""
    until: float | None = None
    """The time when it may begin, if only time must pass."""


class Queue(Struct, frozen=True, omit_defaults=True):
    """The moves that wait, the largest gain first."""

    waiting: Annotated[tuple[Queued, ...], Meta(max_length=MAX_MOVES)] = ()
    omitted: int = 0
    """The number of other moves that wait and had no room in the ConfigMap."""

    def fitted(self, room: int) -> "Queue":
        """The moves with the largest gain that have room in `room` bytes."""
        used = encoded_size(Queue(omitted=MAX_MOVES))
        count = 0
        # Each with the comma after it.
        for queued in self.waiting:
            used += encoded_size(queued) + 1
            if used > room:
                break
            count += 1
        if count == len(self.waiting):
            return self
        omitted = self.omitted + len(self.waiting) - count
        return Queue(self.waiting[:count], omitted=omitted)


def queue_of(waiting: Iterable[Waiting], before: Queue, *, now: float) -> Queue:
    """The queue now. A move to the same cluster keeps the time since when it waits."""
    since = {(queued.placement, queued.target): queued.since for queued in before.waiting}
    queue: list[Queued] = []
    for held in waiting:
        move = held.move
        queued = Queued(
            placement=move.placement,
            source=move.source,
            target=move.target,
            points=round(move.points, 1),
            reason=str(held.reason),
            message=held.message,
            # It is later than now only if the hub's clock was wrong when it was written.
            since=min(since.get((move.placement, move.target), now), now),
            until=held.until,
        )
        queue.append(queued)
    return Queue(tuple(queue))


class MovesError(GitopsDsfError):
    """The ledger cannot be read, so the moves under way are unknown."""


class StoredMoves(Struct, frozen=True, kw_only=True):
    """The moves that are under way, and those that wait."""

    ledger: Ledger = Ledger()
    queue: Queue = Queue()
    maintenance: MaintenanceState = MaintenanceState()

    def not_after(self, now: float) -> "StoredMoves":
        """The moves with times in the future set to now, because the hub's clock was wrong."""
        queue = self.queue
        if any(move.since > now for move in queue.waiting):
            waiting = (replace(move, since=min(move.since, now)) for move in queue.waiting)
            queue = replace(queue, waiting=tuple(waiting))
        maintenance = self.maintenance
        if any(drain.since > now for drain in maintenance.drains):
            drains = (replace(drain, since=min(drain.since, now)) for drain in maintenance.drains)
            maintenance = replace(maintenance, drains=tuple(drains))
        return StoredMoves(ledger=self.ledger.not_after(now), queue=queue, maintenance=maintenance)

    def fitted(self, room: int, *, kept: float) -> "StoredMoves":
        """The part that has room in `room` bytes.

        `kept` is how many seconds a move matters after its last change. Values that the pace needs
        come first, and those that are only shown come afterwards: drains, the moves that wait, and
        at last the names of the Placements that must leave drained clusters.
        """
        # Names of Placements take most of the room, so they are added at the end, if there is any.
        room -= sum(map(len, (LEDGER_KEY, QUEUE_KEY, MAINTENANCE_KEY)))
        ledger = self.ledger.fitted(room, kept=kept)
        room -= encoded_size(ledger)
        maintenance = self.maintenance.naming(0)
        while encoded_size(maintenance) > max(room, _MIN_PART_BYTES) and not maintenance.is_empty:
            maintenance = maintenance.halved()
        queue_room = room - encoded_size(maintenance)
        queue = self.queue.fitted(max(queue_room, _MIN_PART_BYTES))
        room -= encoded_size(queue)
        if maintenance.omitted == self.maintenance.omitted:
            for max_names in NAME_LIMITS:
                naming = self.maintenance.naming(max_names)
                if encoded_size(naming) <= room:
                    maintenance = naming
                    break
        return StoredMoves(ledger=ledger, queue=queue, maintenance=maintenance)

    @property
    def data(self) -> dict[str, str]:
        """The keys of the ConfigMap, with their content."""
        parts = {LEDGER_KEY: self.ledger, QUEUE_KEY: self.queue, MAINTENANCE_KEY: self.maintenance}
        return {key: msgspec.json.encode(part).decode() for key, part in parts.items()}


def read_moves(data: object) -> StoredMoves:
    """The moves in the data of the ConfigMap, which may be absent. Raises MovesError.

    A queue or a maintenance that cannot be read is empty, because it is only shown.
    """
    # An unreadable ledger must not count as an empty one: then moves would begin beside those that
    # are under way.
    try:
        texts = msgspec.convert(data, dict[str, str] | None) or {}
        ledger = _decoded(texts.get(LEDGER_KEY) or "{}", Ledger)
    except msgspec.DecodeError as error:
        raise MovesError(
            f"ConfigMap {MOVES_CONFIGMAP}, key {LEDGER_KEY}: {error}; if a newer version of the"
            " reconciler wrote it, run that version: nothing moves until then. Otherwise delete the"
            " ConfigMap to begin with an empty ledger"
        ) from error
    queue = Queue()
    maintenance = MaintenanceState()
    with contextlib.suppress(msgspec.DecodeError):
        queue = _decoded(texts.get(QUEUE_KEY) or "{}", Queue)
    with contextlib.suppress(msgspec.DecodeError):
        maintenance = _decoded(texts.get(MAINTENANCE_KEY) or "{}", MaintenanceState)
    return StoredMoves(ledger=ledger, queue=queue, maintenance=maintenance)


@lru_cache(maxsize=MAX_DECODED_PARTS)
def _decoded(text: str, form: type[Part]) -> Part:
    """A part of the ConfigMap, decoded once. Raises msgspec.DecodeError.

    The leader reads the ConfigMap in each pass, which may be every second, and most passes change
    nothing in it.
    """
    return msgspec.json.decode(text, type=form)
