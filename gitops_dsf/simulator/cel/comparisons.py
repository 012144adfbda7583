"""The three comparison functions that quantities and semantic versions share."""

from __future__ import annotations

from gitops_dsf.simulator.cel import quantities, semvers
from gitops_dsf.simulator.cel.function import Function, Opaque, method, type_of


def compare(value: Opaque, other: Opaque) -> int:
    """-1, 0 or 1."""
    return (
        semvers.compare(value, other) if type_of(value) == semvers.TYPE else quantities.compare(value, other)
    )


def functions() -> tuple[Function, ...]:
    pairs = [(kind, kind) for kind in (quantities.TYPE, semvers.TYPE)]
    signs, truths = ([(*pair, returns) for pair in pairs] for returns in ("int", "bool"))
    return (
        method("compareTo", compare, *signs),
        method("isGreaterThan", lambda value, other: compare(value, other) == 1, *truths),
        method("isLessThan", lambda value, other: compare(value, other) == -1, *truths),
    )
