"""Effects of a change on the verification of moves: added, removed, or loosened.

A check is loosened when it lets a move pass that it would not have passed before.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from gitops_dsf.hub.pace import Verification, VerifiedBy
from gitops_dsf.pacing.fleetstop import is_in_future
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.views.preview.fields import FieldChange
from gitops_dsf.wording import prioritizer_text


class LoosenedVerification(Struct, frozen=True, kw_only=True):
    """An application whose moves pass more easily."""

    placement: str
    """namespace/name."""
    fields: tuple[FieldChange, ...]
    """Each with what it is about, such as `slo/shop atLeast`, `slo/shop forSeconds` or `onUnknown`.
    """


class VerificationChange(Struct, frozen=True, kw_only=True):
    """The changes of verification. Placements are `namespace/name`, sorted."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """They stay, and their moves are no longer verified."""
    loosened: tuple[LoosenedVerification, ...] = ()
    pace: tuple[FieldChange, ...] = ()
    """Fields of `spec.pace` by which the fleet stops later, or goes on."""
    future_acknowledgement: str | UnsetType = UNSET
    """The new `acknowledgedStop`, if it is in the future and so has no effect yet."""


def verification_change(
    base: CheckedFleet | None, head: CheckedFleet, *, today: datetime
) -> VerificationChange | None:
    """The changes for applications of both versions; None if there are none."""
    if base is None:
        return None
    before = _verifications(base)
    after = _verifications(head)
    added: list[str] = []
    removed: list[str] = []
    loosened: list[LoosenedVerification] = []
    # A new application loosens nothing, and one that is removed does not move any more.
    for key in sorted(before.keys() & after.keys()):
        old = before[key]
        new = after[key]
        if old is None and new is not None:
            added.append(key)
        elif old is not None and new is None:
            removed.append(key)
        elif old is not None and new is not None:
            fields = tuple(_loosened(old, new))
            if fields:
                loosened.append(LoosenedVerification(placement=key, fields=fields))
    pace_before = base.repository.spec.pace
    pace_after = head.repository.spec.pace
    future = _future_acknowledgement(pace_before, pace_after, today)
    change = VerificationChange(
        added=tuple(added),
        removed=tuple(removed),
        loosened=tuple(loosened),
        pace=tuple(_pace_fields(pace_before, pace_after, has_effect=future is UNSET)),
        future_acknowledgement=future,
    )
    return None if change == VerificationChange() else change


def _verifications(fleet: CheckedFleet) -> Mapping[str, Verification | None]:
    """The verification of each Placement of a ScoredApplication."""
    verifications: dict[str, Verification | None] = {}
    for placement in fleet.placements:
        paced = placement.paced
        verifications[placement.key] = None if paced is None else paced.verification
    return verifications


def _loosened(before: Verification, after: Verification) -> Iterator[FieldChange]:
    """Fields that let more moves pass, or let an application return earlier to where it failed."""
    # Only the checks of before are looked at: one that is added lets fewer moves pass.
    strictest = _by_bound(after)
    for name, old in _by_bound(before).items():
        new = strictest.get(name)
        if new is None:
            yield _field(name, _bound(old), None)
            continue
        if _is_looser(old, new):
            yield _field(name, _bound(old), _bound(new))
        if new.for_seconds < old.for_seconds:
            score = name.partition(" ")[0]
            yield _field(f"{score} forSeconds", old.for_seconds, new.for_seconds)
    # Hold keeps the old copy and Return goes back to it. Only Complete ends without a verdict.
    if after.on_unknown == "Complete" != before.on_unknown:
        yield _field("onUnknown", before.on_unknown, after.on_unknown)
    # With Complete, the end of the time lets a move pass whose result is unknown.
    if after.on_unknown == "Complete" and after.seconds < before.seconds:
        yield _field("verifySeconds", before.seconds, after.seconds)
    if after.hold_seconds < before.hold_seconds:
        yield _field("holdSeconds", before.hold_seconds, after.hold_seconds)


def _by_bound(verification: Verification) -> Mapping[str, VerifiedBy]:
    """The checks by their score and kind of bound; of several alike the strictest."""
    checks: dict[str, VerifiedBy] = {}
    for check in verification.checks:
        kind = "noWorseThan" if check.at_least is None else "atLeast"
        name = f"{prioritizer_text(f'{check.resource}/{check.dimension}')} {kind}"
        other = checks.get(name)
        if other is None or not _is_looser(other, check):
            checks[name] = check
    return checks


def _is_looser(old: VerifiedBy, new: VerifiedBy) -> bool:
    """Whether the bound of a check of the same kind lets more moves pass."""
    if old.at_least is not None and new.at_least is not None:
        return new.at_least < old.at_least
    return (new.no_worse_than or 0) > (old.no_worse_than or 0)


def _future_acknowledgement(
    before: Pace | None, after: Pace | None, today: datetime
) -> str | UnsetType:
    """The new `acknowledgedStop`, if it is in the future."""
    acknowledged = None if after is None else after.acknowledged_stop
    # One that was there before was reviewed when it was written.
    if acknowledged is None or (before is not None and acknowledged == before.acknowledged_stop):
        return UNSET
    moment = datetime.fromisoformat(acknowledged).timestamp()
    # Else one time far ahead would acknowledge every stop to come.
    return acknowledged if is_in_future(moment, now=today.timestamp()) else UNSET


def _pace_fields(
    before: Pace | None, after: Pace | None, *, has_effect: bool
) -> Iterator[FieldChange]:
    """Fields by which the fleet stops later, and an acknowledgement that has an effect now."""
    # Without a pace on one side nothing is loosened: verification itself comes or goes then.
    if before is None or after is None:
        return
    if after.stop_after_returns > before.stop_after_returns:
        yield _field("stopAfterReturns", before.stop_after_returns, after.stop_after_returns)
    # In a shorter window fewer returns are counted together.
    if after.returns_window_seconds < before.returns_window_seconds:
        yield _field(
            "returnsWindowSeconds", before.returns_window_seconds, after.returns_window_seconds
        )
    acknowledges = after.acknowledged_stop not in {None, before.acknowledged_stop}
    if acknowledges and has_effect:
        yield _field("acknowledgedStop", before.acknowledged_stop, after.acknowledged_stop)


def _bound(check: VerifiedBy) -> int | None:
    return check.no_worse_than if check.at_least is None else check.at_least


def _field(path: str, before: Any, after: Any) -> FieldChange:  # noqa: ANN401 - any value
    return FieldChange(path=path, before=before, after=after)
