"""Measured values of the checks of a move, in words for ledgers, records, Events and `status`."""

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
        """The lowest good score; None if it is unknown."""


def checks_text(checks: Iterable[MeasuredCheck]) -> str:
    """Formats `shop-slo 62 of at least 80; latency 84 of at least 70`; empty without a check."""
    return "; ".join(check_text(check.score, check.value, check.at_least) for check in checks)


def decided_text(checks: Iterable[MeasuredCheck], detail: str) -> str:
    """The reason for the end of a move: `detail` if it is not empty. Then no check decided."""
    return detail or checks_text(checks)


def check_text(score: str, value: int | None, at_least: int | None) -> str:
    """Formats `shop-slo 62 of at least 80`. `score` is a resource and a dimension (`cpu/cpu`).

    `value` is None if no score counts, and `at_least` if the lowest good score is unknown.
    """
    name = prioritizer_text(score)
    if value is None:
        return f"{name} not known"
    # With noWorseThan the bound follows from the score of the old copy before the move.
    if at_least is None:
        return f"{name} {value}, and the score before the move is not known"
    return f"{name} {value} of at least {at_least}"
