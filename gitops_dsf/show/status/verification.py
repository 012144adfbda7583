"""Moves that are being verified: the values that their checks measure, and for how long."""

from gitops_dsf.hub.times import age_text
from gitops_dsf.views.status.verification import CheckView, VerificationView
from gitops_dsf.wording import prioritizer_text


def verifying_text(view: VerificationView) -> str:
    """Formats `verifying, 84 of at least 80 for 4 of 10 min (slo), until 2026-06-01T12:30:00Z`."""
    if view.passed:
        return "verified, the old copy goes"
    checks = "; ".join(map(check_state_text, view.checks))
    if view.late_seconds:
        return (
            f"verifying, {checks}, for {age_text(view.late_seconds)} longer than verifySeconds;"
            f" both copies stay (onUnknown: {view.on_unknown})"
        )
    if view.until is not None:
        return f"verifying, {checks}, until {view.until}"
    return f"verifying, {checks}"


def check_state_text(check: CheckView) -> str:
    """Formats `84 of at least 80 for 4 of 10 min (slo)`, or the reason why this is unknown yet."""
    name = prioritizer_text(check.score)
    if check.counts_from is not None:
        return f"measured from {check.counts_from} ({name})"
    if check.value is None and check.why:
        return f"no score: {check.why} ({name})"
    if check.value is None:
        return f"no score that counts ({name})"
    if check.at_least is None:
        return f"{check.value}, and the score before the move is not known ({name})"
    measured = [f"{check.value} of at least {check.at_least}"]
    if check.value < check.at_least:
        measured.append("too low")
    seconds = check.held_seconds if check.held_seconds is not None else check.failing_seconds
    if check.for_seconds:
        # While another check is open, this one has passed long ago.
        counted = min(seconds or 0, check.for_seconds)
        return f"{', '.join(measured)} for {_of_time(counted, check.for_seconds)} ({name})"
    return f"{', '.join(measured)} ({name})"


def _of_time(seconds: int, needed: int) -> str:
    """Formats `4 of 10 min`, or `40 of 90 s` where the second is not in whole minutes."""
    if needed % 60:
        return f"{seconds} of {needed} s"
    return f"{seconds // 60} of {needed // 60} min"
