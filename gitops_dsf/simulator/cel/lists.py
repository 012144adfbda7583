"""List functions (apiserver/pkg/cel/library/lists.go) for integers, doubles, strings and booleans.

Not available: lists of uint, bytes, durations and timestamps, because the evaluator passes them without their
CEL type, and indexOf/lastIndexOf of lists, because here those names belong to CEL's string extension.
"""

from collections.abc import Sequence

from gitops_dsf.simulator.cel.function import CelFailure, CelUnsupported, Function, method

Element = int | float | str | bool
_COMPARABLE = ("int", "double", "bool", "string")
_INT64 = range(-(2**63), 2**63)


def _checked(values: Sequence[object]) -> list[Element]:
    """The elements, if all are comparable with each other: numbers, or one other type."""
    found = [value for value in values if isinstance(value, Element)]
    if len(found) < len(values):
        raise CelUnsupported("a list function over elements other than numbers, strings and booleans")
    if len({_kind(value) for value in found}) > 1:
        raise CelFailure("no such overload")
    return found


def _kind(value: Element) -> str:
    if isinstance(value, bool):
        return "bool"
    return "string" if isinstance(value, str) else "number"


def _key(value: Element) -> bytes | int | float:
    return value.encode() if isinstance(value, str) else value


def _is_sorted(values: Sequence[object]) -> bool:
    keys = [_key(value) for value in _checked(values)]
    return keys == sorted(keys)


def _extreme(values: Sequence[object], *, largest: bool) -> Element:
    found = _checked(values)
    if not found:
        raise CelFailure("called on empty list")
    return max(found, key=_key) if largest else min(found, key=_key)


def _sum(values: Sequence[object]) -> int | float:
    found = _checked(values)
    if not found:
        return 0
    if (
        len({type(value) for value in found}) > 1
        or not isinstance(found[0], (int, float))
        or found[0] is True
    ):
        raise CelFailure("no such overload")
    total: int | float = 0
    for value in found:  # not sum(): newer Pythons compensate rounding errors of floats, Go does not
        total += value if isinstance(value, (int, float)) else 0
    if isinstance(total, int) and total not in _INT64:
        raise CelFailure("integer overflow")
    return total


def functions() -> tuple[Function, ...]:
    same = [(f"list({kind})", kind) for kind in _COMPARABLE]
    return (
        method("isSorted", _is_sorted, *((kinds, "bool") for kinds, _ in same)),
        method("sum", _sum, *same[:2]),
        method("max", lambda values: _extreme(values, largest=True), *same),
        method("min", lambda values: _extreme(values, largest=False), *same),
    )
