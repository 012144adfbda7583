"""What a check of a move measured, in words: the same in ledgers, records, Events and `status`."""

from collections.abc import Iterable
from typing import Protocol

from gitops_dsf.wording import prioritizer_text


class MeasuredCheck(Protocol):
    """A check of a move, with what it measured."""

    @property
    def score(self) -> str:
        """Resource and dimension, as `shop-slo/shop`."""

    @property
    def value(self) -> int | None:
        """None if no score counts."""

    @property
    def at_least(self) -> int | None:
        """None if nobody knows which score is good."""


def checks_text(checks: Iterable[MeasuredCheck]) -> str:
    """Formats `shop-slo 62 of at least 80; latency 84 of at least 70`; empty without a check."""
    return "; ".join(check_text(check.score, check.value, check.at_least) for check in checks)


def decided_text(checks: Iterable[MeasuredCheck], detail: str) -> str:
    """What decided a move: `detail` if it is not empty, because then the checks did not decide."""
    return detail or checks_text(checks)


def check_text(score: str, value: int | None, at_least: int | None) -> str:
    """Formats `shop-slo 62 of at least 80`. `score` is a resource and a dimension (`cpu/cpu`).

    `value` is None if no score counts, and `at_least` if nobody knows which score is good.
    """
    name = prioritizer_text(score)
    if value is None:
        return f"{name} not known"
    # With noWorseThan the bound follows from the score of the old copy before the move.
    if at_least is None:
        return f"{name} {value}, and the score before the move is not known"
    return f"{name} {value} of at least {at_least}"
