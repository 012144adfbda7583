"""The ledger of moves: what was admitted, how far it is, and what ended lately.

The reconciler keeps it in one ConfigMap and writes it with the resourceVersion that it read. A move is
admitted when that write succeeds, so two leaders cannot exceed the pace together, and a new leader goes on
where the last one stopped.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from gitops_dsf.hub.causes import MoveCause
from gitops_dsf.hub.pace import PacedRanking
from gitops_dsf.repository.model.reconciler import Pace

MOST_MOVES: Final = 20_000
"""Entries of a ledger: no ConfigMap is larger."""


class Phase(StrEnum):
    """How far a move is."""

    ADMITTED = "Admitted"
    """The items are published, or will be; OCM has not followed yet."""
    WITHDRAWN = "Withdrawn"
    """The items are being taken away, because OCM did not follow."""
    HANDOVER = "Handover"
    """OCM decided for the new cluster; the old copy still runs, or the new one is not healthy yet."""
    ENDED = "Ended"


class Move(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One application leaves a cluster for another. Times are seconds since 1970."""

    placement: str
    """namespace/name."""
    source: str = msgspec.field(name="from")
    """Empty for an application that was placed for the first time."""
    target: str = msgspec.field(name="to")
    since: float
    """When it was admitted, or seen."""
    phase: Phase = Phase.ADMITTED
    phase_since: float = 0.0
    admitted: bool = True
    """False if OCM moved it itself: a cluster was lost, or an application is new."""
    gain: float | None = None
    """Points that an admitted move was to gain."""
    cause: MoveCause | None = None
    """None if it is not known: OCM moved it itself, and its cluster was not lost."""

    @property
    def under_way(self) -> bool:
        """Whether it counts as a move at this time."""
        return self.phase is not Phase.ENDED

    def entered(self, phase: Phase, now: float) -> "Move":
        return replace(self, phase=phase, phase_since=now)

    def not_after(self, now: float) -> "Move":
        """With times in the future as now."""
        if max(self.since, self.phase_since) <= now:
            return self
        return replace(self, since=min(self.since, now), phase_since=min(self.phase_since, now))


class Ledger(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Moves in order of admission, and the decisions that were seen."""

    moves: Annotated[tuple[Move, ...], Meta(max_length=MOST_MOVES)] = ()
    decided: dict[str, tuple[str, ...]] = {}
    """By namespace/name of the Placement. What differs later, and was not admitted, OCM moved itself."""
    omitted: int = 0
    """Moves that had no room in the ConfigMap. While there are some, nobody can count, so nothing begins."""
    whole_after: float = 0.0
    """When the moves that were left out no longer matter, in seconds since 1970."""

    @property
    def under_way(self) -> Iterator[Move]:
        return (each for each in self.moves if each.under_way)

    def of(self, placement: str) -> Move | None:
        return next((each for each in self.under_way if each.placement == placement), None)

    def last_end(self, placement: str) -> float | None:
        ends = [
            each.phase_since
            for each in self.moves
            if each.placement == placement and each.admitted and not each.under_way
        ]
        return max(ends, default=None)

    def adding(self, moves: Iterable[Move]) -> "Ledger":
        return replace(self, moves=(*self.moves, *moves))

    def not_after(self, now: float) -> "Ledger":
        """With times in the future as now. The hub's clock was wrong when they were written, and what waits
        for such a time would wait until the clock gets there.
        """
        return replace(self, moves=tuple(each.not_after(now) for each in self.moves))

    def pruned(self, *, kept: float, now: float) -> "Ledger":
        """Without moves that nothing depends on. `kept` is how long one matters after it ended."""
        moves = tuple(
            each for each in self.moves if each.under_way or now < each.phase_since + kept
        )
        if self.omitted and now >= self.whole_after:
            return replace(self, moves=moves, omitted=0, whole_after=0.0)
        return replace(self, moves=moves)

    def fitted(self, room: int, *, kept: float) -> "Ledger":
        """The ledger in so many bytes. First the decisions are left out: without them a new leader begins as
        at its first look. Then go the moves that ended first. A move that was admitted and is under way
        always stays: the pace allows only a few. `kept` is how long a move matters after its last change.
        """
        if _size(self) <= room:
            return self
        ledger = replace(self, decided={})
        used = _size(replace(ledger, moves=(), omitted=MOST_MOVES, whole_after=1e12))
        first_to_stay = sorted(
            self.moves,
            key=lambda each: (each.under_way and each.admitted, each.under_way, each.phase_since),
            reverse=True,
        )
        stay, gone = set[int](), list[Move]()
        for each in first_to_stay:
            used += _size(each) + 1
            if used <= room or (each.under_way and each.admitted):
                stay.add(id(each))
            else:
                gone.append(each)
        if not gone:
            return ledger
        return replace(
            ledger,
            moves=tuple(each for each in self.moves if id(each) in stay),
            omitted=self.omitted + len(gone),
            whole_after=max(self.whole_after, *(each.phase_since + kept for each in gone)),
        )


def _size(part: Struct) -> int:
    return len(msgspec.json.encode(part))


def remembered(pace: Pace, rankings: Iterable[PacedRanking]) -> float:
    """Seconds that a move matters after it ended: for the cooldown, for the time that its cluster settles,
    and until every score has measured it. `spec.pace.settleSeconds` may be shorter than the last one.
    """
    measured = max((each.measured_after for each in rankings), default=0.0)
    return max(pace.cooldown_seconds, pace.settle(measured), measured)
