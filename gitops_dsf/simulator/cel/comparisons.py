"""The three comparison functions that quantities and semantic versions share."""

from __future__ import annotations

from gitops_dsf.simulator.cel import quantities, semvers
from gitops_dsf.simulator.cel.function import Function, Opaque, Overload, type_of


def compare(value: Opaque, other: Opaque) -> int:
    """-1, 0 or 1."""
    return (
        semvers.compare(value, other) if type_of(value) == semvers.TYPE else quantities.compare(value, other)
    )


def functions() -> tuple[Function, ...]:
    def overloads(suffix: str, returns: str) -> tuple[Overload, ...]:
        return tuple(
            Overload(f"{prefix}_{suffix}", (kind, kind), returns)
            for prefix, kind in (("quantity", quantities.TYPE), ("semver", semvers.TYPE))
        )

    return (
        Function("compareTo", overloads("compare_to", "int"), compare),
        Function(
            "isGreaterThan",
            overloads("is_greater_than", "bool"),
            lambda value, other: compare(value, other) == 1,
        ),
        Function(
            "isLessThan", overloads("is_less_than", "bool"), lambda value, other: compare(value, other) == -1
        ),
    )
