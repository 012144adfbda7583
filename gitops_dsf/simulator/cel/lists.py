"""List functions of CEL (apiserver/pkg/cel/library/lists.go).

They work for integers, doubles, strings and booleans. Not available are lists of uint, bytes,
durations and timestamps, because the evaluator passes them without their CEL type, and indexOf and
lastIndexOf of lists, because these names belong to CEL's string extension here.
"""

from collections.abc import Sequence

from gitops_dsf.simulator.cel.function import CelFailure, CelFunction, CelUnsupported, method

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
    if len(set(map(_kind, elements))) > 1:
        raise CelFailure("no such overload")
    return elements


def _kind(value: Element) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "number"


def _key(value: Element) -> bytes | int | float:
    # Go compares strings by their bytes.
    if isinstance(value, str):
        return value.encode()
    return value


def _is_sorted(values: Sequence[object]) -> bool:
    keys = [_key(value) for value in _checked(values)]
    return keys == sorted(keys)


def _extreme(values: Sequence[object], *, largest: bool) -> Element:
    elements = _checked(values)
    if not elements:
        raise CelFailure("called on empty list")
    if largest:
        return max(elements, key=_key)
    return min(elements, key=_key)


def _sum(values: Sequence[object]) -> int | float:
    elements = _checked(values)
    if not elements:
        return 0
    numbers: list[int | float] = []
    for element in elements:
        # bool is a subclass of int in Python, but not a number in CEL.
        if isinstance(element, bool) or not isinstance(element, int | float):
            raise CelFailure("no such overload")
        numbers.append(element)
    # CEL has no sum of integers and doubles.
    if len(set(map(type, numbers))) > 1:
        raise CelFailure("no such overload")
    total: int | float = 0
    # Not sum(): from Python 3.12 on it compensates the rounding errors of floats, and Go does not.
    for number in numbers:
        total += number
    if isinstance(total, int) and total not in _INT64:
        raise CelFailure("integer overflow")
    return total


def functions() -> tuple[CelFunction, ...]:
    """The functions as CEL declares them."""
    is_sorted = [(f"list({kind})", "bool") for kind in _COMPARABLE]
    of_elements = [(f"list({kind})", kind) for kind in _COMPARABLE]
    of_numbers = [("list(int)", "int"), ("list(double)", "double")]
    return (
        method("isSorted", _is_sorted, *is_sorted),
        method("sum", _sum, *of_numbers),
        method("max", lambda values: _extreme(values, largest=True), *of_elements),
        method("min", lambda values: _extreme(values, largest=False), *of_elements),
    )
