"""The ledger of moves: those that were admitted, their progress, and those that ended lately.

The reconciler keeps it in one ConfigMap and writes it with the resourceVersion that it read. A move
is admitted when that write succeeds, so two leaders cannot exceed the pace together, and a new
leader goes on where the last one stopped.

Not guaranteed: that it holds every move. A ConfigMap has room for 1 MB, and moves that ended first
are left out. While something is left out, moves cannot be counted, so nothing begins.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.hub.pace import MAX_CHECKS, PacedRanking
from gitops_dsf.repository.model.reconciler import Pace

MAX_MOVES: Final = 20_000
"""Entries of a ledger: no ConfigMap is larger."""
REMEMBERED_SECONDS: Final = 3600.0
"""The shortest time for which a verified move is remembered after its end, for people who look how
it ended. A move that failed and could not return is verified again afterwards.
"""
MAX_HOLDS: Final = 2_000
"""Pairs of an application and a cluster that are held apart."""
MAX_DETAIL: Final = 200
"""Characters of what was measured."""
MAX_RETURNS: Final = 100
"""Times of returns that are remembered: `spec.pace.stopAfterReturns` is no larger."""
MAX_HOLD_SECONDS: Final = 604_800.0
"""The longest hold: 7 days. A hold is also remembered for this time after its end."""


class Phase(StrEnum):
    """The progress of a move."""

    ADMITTED = "Admitted"
    """The items are published, or will be; OCM has not followed yet."""
    WITHDRAWN = "Withdrawn"
    """The items are being taken away, because OCM did not follow."""
    HANDOVER = "Handover"
    """OCM decided for the new cluster.

    The old copy still runs, or the new one is not healthy yet.
    """
    VERIFYING = "Verifying"
    """The new copy is healthy. The old one stays until the checks of the move have decided.

    `LedgerMove.passed_at` says when they have passed. The phase lasts until the old copy is gone.
    """
    ENDED = "Ended"
    """Remembered for its cooldown, and until the scores have measured it."""


class VerificationOutcome(StrEnum):
    """The end of a verified move. The words are in ledgers and journals, so none may change."""

    COMPLETED = "Completed"
    """Its checks passed, and the old copy is gone."""
    RETURNED = "Returned"
    """A check failed. A move in the opposite direction began in the same write."""
    FAILED = "Failed"
    """A check failed, and there is nowhere to return to: both copies stay."""
    UNKNOWN_COMPLETED = "UnknownCompleted"
    """The result of its checks was still unknown at the end, and it was completed nevertheless."""
    OVERTAKEN = "Overtaken"
    """OCM decided for another cluster meanwhile."""


class CheckState(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The progress of one check of a move. Times are seconds since 1970."""

    score: str
    """Resource and dimension, as `shop-slo/shop`."""
    at_least: int | None = None
    """The score that counts as good.

    None if it is not known: the check compares with the old copy, and its score was not known.
    """
    before: int | None = None
    """The score of the old copy before the move; None if it was not known."""
    held_since: float | None = None
    """The time since when the score has been good without a break; None while it is not."""
    failing_since: float | None = None
    """The time since when the score has been bad without a break; None while it is not."""
    last: int | None = None
    """The score when the move was decided; None before, and if it was not known then."""


class Hold(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A cluster that an application came back from, and does not go to for a while."""

    placement: str
    """namespace/name."""
    target: str
    since: float
    until: float
    """The end of the hold, in seconds since 1970, as `since`."""
    returns: int = 1
    """The number of returns of the application from there. Each one doubles the hold."""
    revision: str = ""
    """The revision of the `Verification`: with another one the hold is over."""
    inventory: str = ""
    """Digest of the cluster's entry in the inventory: with another one the hold is over."""
    detail: str = ""
    """The measured value at the last return, as `shop-slo 62 of at least 80`."""

    def active(self, now: float) -> bool:
        """Whether it holds. Afterwards it is remembered, so that the next one is longer."""
        return self.since <= now < self.until

    def not_after(self, now: float) -> "Hold":
        """The hold with a beginning in the future set to now, and no longer than it was."""
        if self.since <= now:
            return self
        return replace(self, since=now, until=now + (self.until - self.since))


class LedgerMove(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One application leaves a cluster for another. Times are seconds since 1970."""

    placement: str
    """namespace/name."""
    source: str = msgspec.field(name="from")
    """Empty for an application that was placed for the first time."""
    target: str = msgspec.field(name="to")
    since: float
    """The time when it was admitted, or seen."""
    phase: Phase = Phase.ADMITTED
    phase_since: float = 0.0
    admitted: bool = True
    """False if OCM moved it itself: a cluster was lost, or an application is new."""
    gain: float | None = None
    """Points that an admitted move was to gain."""
    cause: MoveCause | None = None
    """None if it is not known: OCM moved it itself, and its cluster was not lost."""
    verified: bool = False
    """Whether the old copy stays until the checks of the application have passed."""
    revision: str = ""
    """The revision of the `Verification` by which the checks count."""
    checks: Annotated[tuple[CheckState, ...], Meta(max_length=MAX_CHECKS)] = ()
    passed_at: float = 0.0
    """The time when the checks passed; 0 before.

    From then on the old copy may go. It is never taken back, because a deletion relies on it.
    """
    returning: bool = False
    """Whether it takes an application back whose checks failed. Such a move is not verified."""
    outcome: VerificationOutcome | None = None
    """The way in which it ended, or will end: it is set when the checks have passed.

    None before, and for a move that is not verified.
    """
    detail: str = ""
    """The reason for its end if its checks did not decide, as `us-1 has no healthy copy after 1800
    s`.
    """

    @property
    def under_way(self) -> bool:
        """Whether it counts as a move at this time."""
        return self.phase is not Phase.ENDED

    def entered(self, phase: Phase, now: float) -> "LedgerMove":
        return replace(self, phase=phase, phase_since=now)

    def not_after(self, now: float) -> "LedgerMove":
        """The move with times in the future set to now."""
        if max(self.since, self.phase_since, self.passed_at) <= now:
            return self
        return replace(
            self,
            since=min(self.since, now),
            phase_since=min(self.phase_since, now),
            passed_at=min(self.passed_at, now),
        )


class Ledger(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Moves in order of admission, and the decisions that were seen."""

    moves: Annotated[tuple[LedgerMove, ...], Meta(max_length=MAX_MOVES)] = ()
    decided: dict[str, tuple[str, ...]] = {}
    """Clusters by namespace/name of the Placement.

    When a decision differs later without an admitted move, OCM moved by itself.
    """
    omitted: int = 0
    """Moves that had no room in the ConfigMap.

    While there are some, the moves under way cannot be counted, so nothing begins.
    """
    whole_after: float = 0.0
    """The time when the moves that were left out no longer matter, in seconds since 1970."""
    holds: Annotated[tuple[Hold, ...], Meta(max_length=MAX_HOLDS)] = ()
    """One for each pair of a Placement and a cluster at most."""
    returns: Annotated[tuple[float, ...], Meta(max_length=MAX_RETURNS)] = ()
    """The times of the latest returns, in seconds since 1970, the oldest first."""
    stopped_since: float = 0.0
    """The time since when no move begins, because too many returned; 0 while moves may begin.

    It is in whole seconds since 1970, so that people can write the same time (RFC 3339).
    """

    @property
    def under_way(self) -> Iterator[LedgerMove]:
        return (move for move in self.moves if move.under_way)

    def adding(self, moves: Iterable[LedgerMove]) -> "Ledger":
        return replace(self, moves=(*self.moves, *moves))

    def not_after(self, now: float) -> "Ledger":
        """The ledger with times in the future set to now.

        The hub's clock was wrong when they were written. Otherwise everything that waits for such a
        time would wait until the clock gets there.
        """
        ledger = replace(
            self,
            moves=tuple(move.not_after(now) for move in self.moves),
            holds=tuple(hold.not_after(now) for hold in self.holds),
            returns=tuple(min(moment, now) for moment in self.returns),
            stopped_since=min(self.stopped_since, now),
        )
        # The same object while no time changes, so that readers notice quickly that it is.
        return self if ledger == self else ledger

    def pruned(self, *, kept: float, now: float) -> "Ledger":
        """The ledger without moves that nothing depends on.

        `kept` is how many seconds a move matters after it ended. One that was verified stays for an
        hour at least.
        """
        moves: list[LedgerMove] = []
        for move in self.moves:
            seconds = kept
            if move.outcome is not None or move.returning:
                seconds = max(kept, REMEMBERED_SECONDS)
            if move.under_way or now < move.phase_since + seconds:
                moves.append(move)
        if self.omitted and now >= self.whole_after:
            # The moves that were left out would have been pruned by now, so the ledger is complete
            # again.
            return replace(self, moves=tuple(moves), omitted=0, whole_after=0.0)
        return replace(self, moves=tuple(moves))

    def fitted(self, room: int, *, kept: float) -> "Ledger":
        """The ledger in at most `room` bytes.

        `kept` is how many seconds a move matters after its last change. First the decisions are
        left out: without them a new leader begins as at its first look. Then go the holds that end
        first, and the moves that ended first. A move that was admitted and is under way always
        stays: the pace allows only a few.
        """
        if encoded_size(self) <= room:
            return self
        # Decisions go first: the next pass knows them again, and without them only arrivals that
        # were not admitted may be missed.
        ledger = replace(self, decided={})
        if ledger.holds:
            ledger = ledger.with_fewer_holds(room)
        # The numbers below take room, too, so they are as long here as they can become.
        used = encoded_size(replace(ledger, moves=(), omitted=MAX_MOVES, whole_after=1e12))
        stay = set[int]()
        omitted: list[LedgerMove] = []
        for move in sorted(self.moves, key=_importance, reverse=True):
            used += encoded_size(move) + 1
            if used <= room or (move.under_way and move.admitted):
                stay.add(id(move))
            else:
                omitted.append(move)
        if not omitted:
            return ledger
        return replace(
            ledger,
            moves=tuple(move for move in self.moves if id(move) in stay),
            omitted=self.omitted + len(omitted),
            whole_after=max(self.whole_after, *(move.phase_since + kept for move in omitted)),
        )

    def with_fewer_holds(self, room: int) -> "Ledger":
        """The ledger with the holds that end last, as many as have room."""
        used = encoded_size(replace(self, holds=()))
        stay = set[int]()
        for hold in sorted(self.holds, key=lambda hold: hold.until, reverse=True):
            used += encoded_size(hold) + 1
            if used > room:
                break
            stay.add(id(hold))
        return replace(self, holds=tuple(hold for hold in self.holds if id(hold) in stay))


def _importance(move: LedgerMove) -> tuple[bool, bool, float]:
    """The larger, the longer a move stays when there is no room for all."""
    return (move.under_way and move.admitted, move.under_way, move.phase_since)


def encoded_size(part: Struct) -> int:
    """Bytes of a part of the ConfigMap."""
    return len(msgspec.json.encode(part))


def remembered(pace: Pace, rankings: Iterable[PacedRanking]) -> float:
    """Seconds that a move matters after it ended.

    It matters for the cooldown, while its cluster settles, and until every score has measured it.
    `spec.pace.settleSeconds` may be shorter than the last one.
    """
    measured = max((ranking.measured_after for ranking in rankings), default=0.0)
    return max(pace.cooldown_seconds, pace.measured_after(measured), measured)
