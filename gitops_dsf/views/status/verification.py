"""Checks of a move: the present score, the lowest good one, and the time since when it is so.

`pacing.verification` judges, and the ledger has the times. Here nothing is judged: the values are
those of the scores now.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import Verification, VerifiedBy, verification_of
from gitops_dsf.hub.scores import Scores
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.pacing.ledger import CheckState, LedgerMove, Phase, VerificationOutcome
from gitops_dsf.pacing.verification import deadline, score_name, value_of


@dataclass(frozen=True, kw_only=True)
class VerifierFacts:
    """The facts by which the checks of moves are shown."""

    verifications: Mapping[str, Verification] = field(default_factory=dict)
    """Verifications by namespace/name of the Placement."""
    scores: Scores = field(default_factory=dict)
    now: float = 0.0
    """The hub's time, in seconds since 1970."""


class CheckView(Struct, frozen=True, kw_only=True, rename="camel"):
    """One check of a move, as it is now."""

    score: str
    """Resource and dimension, as `shop-slo/shop`."""
    value: int | None
    """The score on the new cluster now; None if it is unknown."""
    at_least: int | None
    """The score that counts as good; None if it is not known."""
    before: int | None
    """The score of the old copy before the move, where `atLeast` follows from it."""
    for_seconds: int | None
    """The time for which it must be good; None if the check is no longer written."""
    held_seconds: int | None
    """The time for which it has been good; None while it is not, or does not count yet."""
    failing_seconds: int | None
    """The time for which it has been bad; None while it is not, or does not count yet."""
    counts_from: str | None
    """The time when the score has measured nothing but the new copy; None once that is so."""
    why: str | None
    """The reason why there is no score, as the agent of the cluster gives it; None if it gives
    none.
    """


class VerificationView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The checks of a move that is being verified."""

    passed: bool
    """Whether the old copy may go."""
    until: str | None
    """The time until which it must be decided; None if the Placement is no longer verified."""
    late_seconds: int
    """The time by which this is over. The move goes on only with `onUnknown: Hold`."""
    on_unknown: Literal["Hold", "Return", "Complete"] | None
    checks: tuple[CheckView, ...]


class MeasuredView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The value that a check measured when it was decided."""

    score: str
    """Resource and dimension, as `shop-slo/shop`."""
    value: int | None
    at_least: int | None


class FailedView(Struct, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    """An application that does worse where it went, and had nowhere to return to."""

    placement: str
    """namespace/name."""
    source: str
    target: str
    since: str
    """The time when it was decided."""
    measured: tuple[MeasuredView, ...]
    detail: str | UnsetType = UNSET
    """The reason why it failed, if the checks did not decide; absent if they did."""


def failed_views(moves: Iterable[LedgerMove]) -> Iterator[FailedView]:
    """The applications whose last move of the ledger failed."""
    # A later move ends what a failed one left behind.
    last: dict[str, LedgerMove] = {}
    for move in moves:
        last[move.placement] = move
    for move in last.values():
        if move.outcome is not VerificationOutcome.FAILED:
            continue
        # A move back that OCM did not make leaves the application where it began.
        is_back = move.returning
        measured: list[MeasuredView] = []
        for check in move.checks:
            measured.append(
                MeasuredView(score=check.score, value=check.last, at_least=check.at_least)
            )
        yield FailedView(
            placement=move.placement,
            source=move.target if is_back else move.source,
            target=move.source if is_back else move.target,
            since=timestamp_of(move.phase_since),
            measured=tuple(measured),
            detail=move.detail or UNSET,
        )


def verifications_of(placements: Iterable[Placement]) -> dict[str, Verification]:
    """The verifications of moves, by namespace/name, of the Placements that are verified."""
    verifications: dict[str, Verification] = {}
    for placement in placements:
        verification = verification_of(placement)
        if verification is not None:
            verifications[placement.key] = verification
    return verifications


def verified_by(placement: Placement) -> frozenset[str]:
    """The names of the AddOnPlacementScores that verify the moves of a Placement."""
    verification = verification_of(placement)
    if verification is None:
        return frozenset()
    return frozenset(check.resource for check in verification.checks)


def verification_view(move: LedgerMove, facts: VerifierFacts) -> VerificationView | None:
    """The checks of a move; None unless it is being verified."""
    if not move.verified or move.phase is not Phase.VERIFYING:
        return None
    verification = facts.verifications.get(move.placement)
    until = None if verification is None else deadline(move, verification)
    checks: list[CheckView] = []
    for state, check in zip(move.checks, _written(move, verification), strict=True):
        checks.append(_check_view(move, state, check, facts))
    return VerificationView(
        passed=bool(move.passed_at),
        until=None if until is None else timestamp_of(until),
        late_seconds=0 if until is None else max(0, int(facts.now - until)),
        on_unknown=None if verification is None else verification.on_unknown,
        checks=tuple(checks),
    )


def _written(move: LedgerMove, verification: Verification | None) -> Iterator[VerifiedBy | None]:
    """The checks as they are written, in the order of those of the move; None for one that is not.

    They differ for some seconds after an edit, until the reconciler has adapted the move.
    """
    checks = () if verification is None else verification.checks
    names = list(map(score_name, checks))
    for position, state in enumerate(move.checks):
        # Checks are matched by position first: two of them may be of one score.
        if position < len(names) and names[position] == state.score:
            yield checks[position]
        else:
            yield checks[names.index(state.score)] if state.score in names else None


def _check_view(
    move: LedgerMove, state: CheckState, check: VerifiedBy | None, facts: VerifierFacts
) -> CheckView:
    resource = state.score.partition("/")[0]
    score = facts.scores.get(resource, {}).get(move.target)
    value = None
    counts_from = None
    for_seconds = None
    if check is not None:
        value = value_of(score, check, now=facts.now)
        measured_from = move.phase_since + check.measured_after
        for_seconds = int(check.for_seconds)
        # The ledger has a time as soon as the score counts, by what the hub has. `explain` asks a
        # checkout, which may say something else.
        is_counted = state.held_since is not None or state.failing_since is not None
        if facts.now < measured_from and not is_counted:
            counts_from = timestamp_of(measured_from)
    failure = None if score is None else score.failure
    return CheckView(
        score=state.score,
        value=value,
        at_least=state.at_least,
        before=state.before,
        for_seconds=for_seconds,
        held_seconds=_seconds_since(state.held_since, facts.now),
        failing_seconds=_seconds_since(state.failing_since, facts.now),
        counts_from=counts_from,
        why=None if failure is None else f"{failure.reason}: {failure.message}",
    )


def _seconds_since(moment: float | None, now: float) -> int | None:
    return None if moment is None else max(0, int(now - moment))
