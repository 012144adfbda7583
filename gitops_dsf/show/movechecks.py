"""Checks of moves in words, as people wrote them."""

from typing import Final

from gitops_dsf.hub.pace import Verification, VerifiedBy
from gitops_dsf.wording import and_text, plural, prioritizer_text

_AT_THE_END: Final = {
    "Hold": "both copies stay",
    "Return": "it goes back",
    "Complete": "the old copy goes",
}
"""The action if the score is still unknown when the time is over, by onUnknown."""


def verification_text(verification: Verification) -> str:
    """Formats `slo/shop at least 80 for 10 min, within 30 min; if still unknown, it goes back`."""
    checks = and_text([check_condition(check) for check in verification.checks])
    return (
        f"{checks}, within {seconds_text(verification.seconds)}; if still unknown,"
        f" {_AT_THE_END[verification.on_unknown]}"
    )


def check_condition(check: VerifiedBy) -> str:
    """Formats `slo/shop at least 80 for 10 min`."""
    bound = bound_text(check.at_least, check.no_worse_than)
    return f"{check_name(check)} {bound} for {seconds_text(check.for_seconds)}"


def check_name(check: VerifiedBy) -> str:
    """Formats `slo/shop`, or `slo` where resource and dimension have one name."""
    return prioritizer_text(f"{check.resource}/{check.dimension}")


def bound_text(at_least: int | None, no_worse_than: int | None) -> str:
    """Formats `at least 80`, or `at most 10 points worse than before`. One of the two is given."""
    if at_least is not None:
        return f"at least {at_least}"
    points = plural(no_worse_than or 0, "point")
    return f"at most {points} worse than before"


def seconds_text(seconds: float) -> str:
    """Formats `10 min`; `90 s` where that is more exact."""
    # People write 600, and think of 10 minutes. 90 s in minutes would be a fraction.
    if seconds and seconds % 60 == 0:
        return f"{seconds / 60:g} min"
    return f"{seconds:g} s"
