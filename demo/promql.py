"""The small part of PromQL that the built-in metric source supports. Everything else is refused with a
message.
"""

import operator
import re
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Final

import promql_parser

from demo.load import Sample

Labels = tuple[tuple[str, str], ...]
Vector = dict[Labels, float]

AGGREGATES: Final[dict[str, Callable[[Sequence[float]], float]]] = {
    "avg": fmean,
    "count": lambda values: float(len(values)),
    "max": max,
    "min": min,
    "sum": sum,
}
OPERATORS: Final[dict[str, Callable[[float, float], float]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
KNOWN: Final = f"selectors, {', '.join(AGGREGATES)} with `by`, and {' '.join(OPERATORS)} with a number"


class QueryError(Exception):
    """The query is wrong, or not supported by the built-in source."""


def parse(text: str) -> promql_parser.Expr:
    """Returns the syntax tree. Raises QueryError."""
    try:
        return promql_parser.parse(text)
    except ValueError as error:
        raise QueryError(str(error)) from error


def evaluate(tree: promql_parser.Expr, samples: Sequence[Sample]) -> Vector:
    """Evaluates an expression on these samples. Raises QueryError."""
    found = _value(tree, samples)
    return {(): found} if isinstance(found, float) else found


def _value(tree: promql_parser.Expr, samples: Sequence[Sample]) -> Vector | float:
    match tree:
        case promql_parser.NumberLiteral():
            return float(tree.val)
        case promql_parser.ParenExpr():
            return _value(tree.expr, samples)
        case promql_parser.VectorSelector() if tree.offset is None and tree.at is None:
            return _select(tree, samples)
        case promql_parser.AggregateExpr() if str(tree.op) in AGGREGATES and tree.param is None:
            return _aggregate(tree, samples)
        case promql_parser.BinaryExpr() if str(tree.op) in OPERATORS:
            return _binary(tree, samples)
    msg = (
        f"the demo's built-in metric source does not know {tree}; it answers {KNOWN}. Put a prometheus in the"
        " PATH for the rest"
    )
    raise QueryError(msg)


def _select(tree: promql_parser.VectorSelector, samples: Sequence[Sample]) -> Vector:
    expected = [(item.name, str(item.op).rpartition(".")[2], item.value) for item in tree.matchers.matchers]
    return {
        tuple(sorted({"__name__": sample.name, **sample.labels}.items())): sample.value
        for sample in samples
        if sample.name == tree.name
        and all(_matches(sample.labels.get(name, ""), how, value) for name, how, value in expected)
    }


def _matches(found: str, how: str, expected: str) -> bool:
    if how in {"Equal", "NotEqual"}:
        return (found == expected) is (how == "Equal")
    return (re.fullmatch(expected, found) is not None) is (how == "Re")


def _aggregate(tree: promql_parser.AggregateExpr, samples: Sequence[Sample]) -> Vector:
    by = tree.modifier.labels if tree.modifier is not None else []
    if tree.modifier is not None and not str(tree.modifier.type).endswith(".By"):
        msg = f"the demo's built-in metric source knows `by` and not `without`: {tree}"
        raise QueryError(msg)
    inner = _value(tree.expr, samples)
    groups: dict[Labels, list[float]] = {}
    for labels, value in (inner if isinstance(inner, dict) else {(): inner}).items():
        groups.setdefault(tuple(pair for pair in labels if pair[0] in by), []).append(value)
    return {labels: float(AGGREGATES[str(tree.op)](values)) for labels, values in groups.items()}


def _binary(tree: promql_parser.BinaryExpr, samples: Sequence[Sample]) -> Vector | float:
    left, right = _value(tree.lhs, samples), _value(tree.rhs, samples)
    apply = OPERATORS[str(tree.op)]
    if isinstance(left, float) and isinstance(right, float):
        return apply(left, right)
    if isinstance(left, dict) and isinstance(right, float):
        return {_nameless(labels): apply(value, right) for labels, value in left.items()}
    if isinstance(left, float) and isinstance(right, dict):
        return {_nameless(labels): apply(left, value) for labels, value in right.items()}
    msg = f"the demo's built-in metric source does not match two vectors: {tree}"
    raise QueryError(msg)


def _nameless(labels: Labels) -> Labels:
    return tuple(pair for pair in labels if pair[0] != "__name__")
