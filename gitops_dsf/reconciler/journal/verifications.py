"""Verified moves of the ledger that the journal has no record of yet. Pure.

The ledger says how the checks of a move decided, and remembers the move for a while after its end.
So a leader records what an earlier one could not, and nothing is recorded twice.

Not guaranteed: a record of each verification. One whose move is forgotten before a leader could
record it has none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

from gitops_dsf.hub.times import moment_of
from gitops_dsf.journal.record import (
    Record,
    RecordedCheck,
    RecordedVerification,
    verification_record,
)
from gitops_dsf.pacing.ledger import LedgerMove, VerificationOutcome

PASSED: Final = "Passed"
"""The outcome of a record about checks that passed. The old copy may still be there then."""
NOT_RETURNED: Final = "NotReturned"
"""The outcome of a record about a move back that OCM did not make."""
MAX_KNOWN: Final = 20_000
"""Verifications that are remembered; a ledger has no more moves."""

_MoveKey = tuple[str, str, int]
"""Placement (namespace/name), target, and when the move began, in seconds since 1970."""


class KnownVerifications:
    """The verifications that were recorded, by records of the branch and those that wait for it."""

    def __init__(self) -> None:
        self._known: dict[_MoveKey, None] = {}
        """The moves in the order in which they became known."""

    def __contains__(self, move: LedgerMove) -> bool:
        # A record has whole seconds, so with the fraction no move would be found again.
        return (move.placement, move.target, int(move.since)) in self._known

    def learn(self, records: Iterable[Record]) -> None:
        """Takes records, those that are known already too."""
        for key in _keys(records):
            self._known[key] = None
        while len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]

    def forget(self, refused: Iterable[Record], *, without: Iterable[Record]) -> None:
        """Forgets verifications whose record was refused, without those that the branch has."""
        on_branch = set(_keys(without))
        for key in _keys(refused):
            if key not in on_branch:
                self._known.pop(key, None)


def verification_records(
    moves: Iterable[LedgerMove],
    *,
    known: KnownVerifications,
    last: Mapping[str, Record],
    followers: Callable[[str], tuple[str, ...]],
) -> Iterator[Record]:
    """The records that are missing, each one after the last record of its Placement.

    `last` is by namespace/name. A Placement without a record gets none: its first one says where it
    is. `followers` gives the ApplicationSets that follow a Placement, by its name.
    """
    newest = dict(last)
    for move in moves:
        outcome = _outcome(move)
        before = newest.get(move.placement)
        if outcome is None or before is None or move in known:
            continue
        verification = RecordedVerification(
            source=move.source,
            target=move.target,
            outcome=outcome,
            since=moment_of(int(move.since)),
            checks=tuple(
                RecordedCheck(
                    score=check.score,
                    value=check.last,
                    at_least=check.at_least,
                    before=check.before,
                )
                for check in move.checks
            ),
            detail=move.detail,
        )
        record = verification_record(
            before,
            verification,
            at=_decided_at(move),
            applications=followers(before.key[1]),
        )
        # The records of a Placement are numbered, so the next one counts on from this one.
        newest[move.placement] = record
        yield record


def _keys(records: Iterable[Record]) -> Iterator[_MoveKey]:
    for record in records:
        verification = record.verification
        if verification is not None:
            began = int(verification.since.timestamp())
            yield record.placement, verification.target, began


def _outcome(move: LedgerMove) -> str | None:
    """The result of the checks of a move.

    It is None until they have decided, and for a move that is not verified.
    """
    if move.returning and move.outcome is VerificationOutcome.FAILED:
        return NOT_RETURNED
    if not move.verified or move.outcome is None:
        return None
    return PASSED if move.outcome is VerificationOutcome.COMPLETED else str(move.outcome)


def _decided_at(move: LedgerMove) -> datetime:
    # After its checks passed, a move stays in the phase until the old copy is gone.
    return moment_of(move.passed_at or move.phase_since)
