"""List functions (apiserver/pkg/cel/library/lists.go) for integers, doubles, strings and booleans, and OCM's
own scores() and parseJSON() (sdk-go/pkg/cel/library/{managedcluster,json}.go).

Not available: lists of uint, bytes, durations and timestamps, because the evaluator passes them without their
CEL type, and indexOf/lastIndexOf of lists, because here those names belong to CEL's string extension.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gitops_dsf.hub.scores import Scores
from gitops_dsf.simulator.cel.function import CelFailure, CelUnsupported, Function, method

Element = int | float | str | bool
_COMPARABLE = ("int", "double", "bool", "string")
_INT64 = range(-(2**63), 2**63)


def _checked(values: Sequence[object]) -> list[Element]:
    """The elements, if all are comparable with each other: numbers, or one other type."""
    found = [value for value in values if isinstance(value, Element)]
    if len(found) < len(values):
        raise CelUnsupported(
            "a list function over elements other than numbers, strings and booleans"
        )
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
    for (
        value
    ) in found:  # not sum(): newer Pythons compensate rounding errors of floats, Go does not
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


_SURROGATE = re.compile("[\\ud800-\\udfff]")
DEEPEST_JSON = 200
"""JSON that is nested deeper is not passed to the parser."""


def score_functions(scores: Scores) -> tuple[Function, ...]:
    """scores() reads the hub's AddOnPlacementScores. Like OCM, it ignores validUntil."""

    def read(cluster: Mapping[str, Any], resource: str) -> list[dict[str, str | int]]:
        metadata = cluster.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        if not isinstance(name, str):
            raise CelFailure("failed to get cluster name")
        found = scores.get(resource, {}).get(name)
        if found is None:
            raise CelFailure(f'addonplacementscores "{resource}" not found in namespace {name}')
        return [{"name": name, "value": value} for name, value in found.items()]

    return (
        # For the checker it returns dyn, as OCM declares it. The evaluator can only bind maps, and OCM fails
        # on other types.
        method("scores", read, ("dyn", "string", "list(dyn)")),
        method("parseJSON", parse_json, ("string", "dyn")),
    )


def parse_json(text: str) -> object:
    """json.Unmarshal into an interface: every number is a double."""
    if text.count("[") + text.count("{") > DEEPEST_JSON:
        raise CelUnsupported(f"parseJSON of a text with more than {DEEPEST_JSON} brackets")
    try:
        parsed: object = json.loads(
            text, parse_int=_finite, parse_float=_finite, parse_constant=_refuse
        )
    except ValueError as error:
        raise CelFailure(f"failed to parse json: {error}") from error
    if "\\u" in text and _SURROGATE.search(json.dumps(parsed, ensure_ascii=False)):
        raise CelUnsupported("parseJSON of half a surrogate pair")
    return parsed


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise ValueError(f"{number} is out of range")
    return value


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
