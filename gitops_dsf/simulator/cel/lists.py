"""List functions of CEL (apiserver/pkg/cel/library/lists.go).

They work for integers, doubles, strings and booleans. Not available are lists of uint, bytes,
durations and timestamps, because the evaluator passes them without their CEL type, and indexOf and
lastIndexOf of lists, because these names belong to CEL's string extension here.
"""

from collections.abc import Sequence

from gitops_dsf.simulator.cel.function import CelFailure, CelUnsupported, Function, method

Element = int | float | str | bool
_COMPARABLE = ("int", "double", "bool", "string")
_INT64 = range(-(2**63), 2**63)


def _checked(values: Sequence[object]) -> list[Element]:
    """The elements, if all are comparable with each other: numbers, or one other type."""
    elements = [value for value in values if isinstance(value, Element)]
    if len(elements) < len(values):
        raise CelUnsupported(
            "a list function over elements other than numbers, strings and booleans"
        )
    if len({_kind(element) for element in elements}) > 1:
        raise CelFailure("no such overload")
    return elements


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
    elements = _checked(values)
    if not elements:
        raise CelFailure("called on empty list")
    return max(elements, key=_key) if largest else min(elements, key=_key)


def _sum(values: Sequence[object]) -> int | float:
    elements = _checked(values)
    if not elements:
        return 0
    numbers = [
        element
        for element in elements
        if isinstance(element, int | float) and not isinstance(element, bool)
    ]
    if len(numbers) < len(elements) or len({type(number) for number in numbers}) > 1:
        raise CelFailure("no such overload")
    total: int | float = 0
    # Not sum(): from Python 3.12 on it compensates the rounding errors of floats, and Go does not.
    for number in numbers:
        total += number
    if isinstance(total, int) and total not in _INT64:
        raise CelFailure("integer overflow")
    return total


def functions() -> tuple[Function, ...]:
    """The functions as CEL declares them."""
    same = [(f"list({kind})", kind) for kind in _COMPARABLE]
    return (
        method("isSorted", _is_sorted, *((kinds, "bool") for kinds, _ in same)),
        method("sum", _sum, *same[:2]),
        method("max", lambda values: _extreme(values, largest=True), *same),
        method("min", lambda values: _extreme(values, largest=False), *same),
    )
