"""Verification of one move: whether the application does well where it has gone. Pure.

A check is passed when its score has been good all the time for `forSeconds`, and failed when it has
been bad all the time for as long. A score counts from when it has measured nothing but the new
copy. At the latest after `verifySeconds` a score that is bad fails, and one that is neither good
for long enough nor bad is unknown.

Guaranteed:

- An unknown score neither passes nor fails: one that is missing, that has expired, whose scorer
  says that it gives none, or that was written before the new copy could be measured.
- A check that passed stays passed. The caller judges no move that has passed.

Not guaranteed: that a score between two writes was good. An agent writes a score when it changed by
`deadband` points, and not more often than every `minIntervalSeconds`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from msgspec.structs import replace

from gitops_dsf.hub.moves.measured import check_text
from gitops_dsf.hub.pace import Verification, VerifiedBy
from gitops_dsf.hub.scores import PublishedScore
from gitops_dsf.pacing.ledger import CheckState, LedgerMove, Phase, VerificationOutcome

SLACK_SECONDS: Final = 60.0
"""The time by which the refresh of a score may be late: a failed request is repeated."""


class ChecksVerdict(Enum):
    """The present verdict of the checks of a move."""

    OPEN = "open"
    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The time is over, none failed, and at least one is neither good nor bad for long enough."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The score of one check on one cluster, as far as it is known."""

    value: int | None = None
    """The score now; None if it is unknown."""
    written: float = 0.0
    """The time when it was written last, in seconds since 1970."""
    meanwhile: frozenset[int | None] = frozenset()
    """Its values since the last look, with None for the time while it was unknown."""
    unbroken: bool = False
    """Whether `meanwhile` has everything since the last look.

    It does not after a restart, and not if the scores had to be listed again.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """The checks of a move as they are now, and what they say together."""

    verdict: ChecksVerdict
    checks: tuple[CheckState, ...]
    detail: str = ""
    """The measured value of the first check that failed or is unknown."""


def value_of(score: PublishedScore | None, check: VerifiedBy, *, now: float) -> int | None:
    """The score of a check; None if it may be a score of long ago.

    An agent that died leaves its last score, which OCM counts until it is over. So a score counts
    only until the moment when a living agent has written it again.
    """
    if score is None or score.failure is not None or score.valid_until is None:
        return None
    written = written_at(score, check)
    refreshed = written + check.refresh_seconds
    if now > score.valid_until.timestamp() or now > refreshed + check.delay + SLACK_SECONDS:
        return None
    # It was written with a longer lifetime, before that was changed in git.
    if written > now + SLACK_SECONDS:
        return None
    return score.get(check.dimension)


def written_at(score: PublishedScore, check: VerifiedBy) -> float:
    """The time when a score was written, in seconds since 1970; 0 if it is unknown."""
    if score.valid_until is None:
        return 0.0
    # The object has no other time: validUntil is that of the write and the lifetime.
    return score.valid_until.timestamp() - check.lifetime


def begun(
    move: LedgerMove, verification: Verification, before: Callable[[VerifiedBy], int | None]
) -> LedgerMove:
    """The move, to be verified. `before` gives the score of the old copy now.

    Called when the move begins, because the score of the old copy counts as it was before.
    """
    checks: list[CheckState] = []
    for check in verification.checks:
        measured = None if check.no_worse_than is None else before(check)
        checks.append(_fresh(check, measured))
    return replace(
        move, verified=True, revision=verification.revision, checks=tuple(checks), outcome=None
    )


def adapted(move: LedgerMove, verification: Verification) -> LedgerMove:
    """The move with the checks that are written now.

    A check that is written as before goes on, and another one begins. The score of the old copy
    before the move stays known for checks of the same score.
    """
    known = {state.score: state.before for state in move.checks if state.before is not None}
    before = {(state.score, state.at_least): state for state in move.checks}
    checks: list[CheckState] = []
    for check in verification.checks:
        state = _fresh(check, known.get(score_name(check)))
        checks.append(before.get((state.score, state.at_least), state))
    if tuple(checks) == move.checks and move.revision == verification.revision and move.verified:
        return move
    return replace(move, verified=True, revision=verification.revision, checks=tuple(checks))


def score_name(check: VerifiedBy) -> str:
    """Resource and dimension, as `shop-slo/shop`."""
    return f"{check.resource}/{check.dimension}"


def deadline(move: LedgerMove, verification: Verification) -> float:
    """The time until which it must be decided, in seconds since 1970."""
    return move.phase_since + verification.seconds


def judge(
    move: LedgerMove,
    verification: Verification,
    read: Callable[[VerifiedBy], Reading],
    *,
    now: float,
) -> Judgement:
    """The verdict on the checks of a move in the phase Verifying.

    `read` gives the score of a check on the new cluster.
    """
    is_over = now >= deadline(move, verification)
    checks: list[CheckState] = []
    details: dict[ChecksVerdict, str] = {}
    verdicts: list[ChecksVerdict] = []
    for check, state in zip(verification.checks, move.checks, strict=True):
        reading = read(check)
        measured_from = move.phase_since + check.measured_after
        counted = _counted(state, reading, now=now, measured_from=measured_from)
        verdict = _verdict(counted, check, reading, now=now, measured_from=measured_from)
        if verdict is ChecksVerdict.OPEN and is_over:
            verdict = _last_verdict(counted, reading, measured_from=measured_from)
        checks.append(counted)
        verdicts.append(verdict)
        if verdict is ChecksVerdict.UNKNOWN:
            detail = _unknown_text(counted, check, reading, measured_from=measured_from)
        else:
            detail = check_text(state.score, reading.value, state.at_least)
        details.setdefault(verdict, detail)
    together = _together(verdicts)
    if together in {ChecksVerdict.PASSED, ChecksVerdict.FAILED}:
        # Not before: it is shown with the verdict, and a score that changes all the time would
        # change the ledger with it.
        for index, check in enumerate(verification.checks):
            checks[index] = replace(checks[index], last=read(check).value)
    return Judgement(verdict=together, checks=tuple(checks), detail=details.get(together, ""))


def _fresh(check: VerifiedBy, before: int | None) -> CheckState:
    at_least = check.at_least
    if check.no_worse_than is not None:
        at_least = None if before is None else before - check.no_worse_than
    return CheckState(score=score_name(check), at_least=at_least, before=before)


def _counted(
    state: CheckState, reading: Reading, *, now: float, measured_from: float
) -> CheckState:
    """The check with the times since when its score is good or bad."""
    # A value that is not measured or unknown is neither good nor bad, and breaks both times.
    if now < measured_from or state.at_least is None or reading.value is None:
        return _with_times(state, held_since=None, failing_since=None)
    values = {reading.value, *reading.meanwhile}
    if reading.value >= state.at_least:
        is_unbroken = all(value is not None and value >= state.at_least for value in values)
        since = _since(state.held_since, reading, now=now, is_unbroken=is_unbroken)
        return _with_times(state, held_since=since, failing_since=None)
    is_unbroken = all(value is not None and value < state.at_least for value in values)
    since = _since(state.failing_since, reading, now=now, is_unbroken=is_unbroken)
    return _with_times(state, held_since=None, failing_since=since)


def _since(since: float | None, reading: Reading, *, now: float, is_unbroken: bool) -> float:
    """The time since when the score is as it is now."""
    if since is None or not is_unbroken:
        return now
    # There was no look for a while. A score that was not written since then has not changed.
    if not reading.unbroken and reading.written > since:
        return now
    return since


def _with_times(
    state: CheckState, *, held_since: float | None, failing_since: float | None
) -> CheckState:
    if (state.held_since, state.failing_since) == (held_since, failing_since):
        return state
    return replace(state, held_since=held_since, failing_since=failing_since)


def _verdict(
    state: CheckState,
    check: VerifiedBy,
    reading: Reading,
    *,
    now: float,
    measured_from: float,
) -> ChecksVerdict:
    if reading.written < measured_from:
        # The score may still be that of before the move.
        return ChecksVerdict.OPEN
    if state.held_since is not None and now >= state.held_since + check.for_seconds:
        return ChecksVerdict.PASSED
    if state.failing_since is not None and now >= state.failing_since + check.for_seconds:
        return ChecksVerdict.FAILED
    return ChecksVerdict.OPEN


def _last_verdict(state: CheckState, reading: Reading, *, measured_from: float) -> ChecksVerdict:
    """The verdict on an open check when the time is over."""
    if state.failing_since is not None and reading.written >= measured_from:
        return ChecksVerdict.FAILED
    return ChecksVerdict.UNKNOWN


def _unknown_text(
    state: CheckState, check: VerifiedBy, reading: Reading, *, measured_from: float
) -> str:
    """The reason why a check is neither good nor bad when the time is over."""
    text = check_text(state.score, reading.value, state.at_least)
    if reading.value is None or state.at_least is None:
        return text
    if reading.written < measured_from:
        return f"{text}, written before it could show the new copy alone"
    return f"{text}, but not for {check.for_seconds:.0f} s"


def _together(verdicts: list[ChecksVerdict]) -> ChecksVerdict:
    for verdict in (ChecksVerdict.FAILED, ChecksVerdict.OPEN, ChecksVerdict.UNKNOWN):
        if verdict in verdicts:
            return verdict
    return ChecksVerdict.PASSED


def why_kept(last: LedgerMove | None) -> str:
    """The reason why the old copy that a move left may not be deleted; empty if it may.

    It is for Placements whose moves are verified. `last` is that of `last_move_from`. The ledger
    must be the one that the API server has: an allowed deletion is never taken back.
    """
    if last is None:
        return "no move away from there is in the ledger yet, so nothing has been verified"
    if last.returning or last.passed_at:
        return ""
    if last.outcome is VerificationOutcome.FAILED:
        return f"the checks on {last.target} failed"
    if last.phase is Phase.VERIFYING:
        return f"the checks on {last.target} have not passed yet"
    return f"the checks on {last.target} have not begun yet"


def unverified(
    moves: Sequence[LedgerMove], placement: str, clusters: Iterable[str], decided: frozenset[str]
) -> dict[str, str]:
    """The clusters among these whose copies may not be deleted, with the reason."""
    reasons: dict[str, str] = {}
    for cluster in clusters:
        reason = why_kept(last_move_from(moves, placement, cluster, decided))
        if reason:
            reasons[cluster] = reason
    return reasons


def last_move_from(
    moves: Iterable[LedgerMove], placement: str, cluster: str, decided: frozenset[str]
) -> LedgerMove | None:
    """The last move of an application from this cluster to one that is decided now.

    `moves` are those of the ledger; those of this Placement suffice. `placement` is namespace/name,
    and `decided` are the clusters of its decision.
    """
    last: LedgerMove | None = None
    for move in moves:
        if (move.placement, move.source) == (placement, cluster) and move.target in decided:
            last = move
    return last
