"""Which labels the result of an expression can have, by its grouping, and how far it looks back."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

CHOOSING = frozenset({"topk", "bottomk", "limitk", "limit_ratio"})
"""Aggregations that choose series, and keep their labels."""
MAX_DEPTH = 200
"""Levels of a tree that are visited, because the visitors recurse."""


@dataclass(frozen=True, slots=True)
class _Labels:
    """The labels that may be present: exactly these, or with `open` all except these."""

    names: frozenset[str]
    open: bool

    def has(self, name: str) -> bool:
        return (name in self.names) != self.open

    def plus(self, names: frozenset[str]) -> "_Labels":
        return _Labels(self.names - names if self.open else self.names | names, self.open)

    def minus(self, names: frozenset[str]) -> "_Labels":
        return _Labels(self.names | names if self.open else self.names - names, self.open)

    def only(self, names: frozenset[str]) -> "_Labels":
        return _Labels(frozenset(name for name in names if self.has(name)), open=False)

    def either(self, other: "_Labels") -> "_Labels":
        if self.open and other.open:
            return _Labels(self.names & other.names, open=True)
        if self.open or other.open:
            wide, narrow = (self, other) if self.open else (other, self)
            return _Labels(wide.names - narrow.names, open=True)
        return _Labels(self.names | other.names, open=False)


_ANY = _Labels(frozenset(), open=True)
_NONE = _Labels(frozenset(), open=False)


def can_have(tree: Any, label: str) -> bool:  # noqa: ANN401 - a promql_parser expression
    """Whether a series of the result may have the label. True if that depends on the data."""
    return _labels(tree, 0).has(label)


def others(tree: Any, names: Iterable[str]) -> bool | None:  # noqa: ANN401 - a promql_parser expression
    """Whether the series of a result can differ in other labels; None if a metric's labels decide."""
    found = _labels(tree, 0)
    if found.open:
        return None
    return not found.names <= frozenset(names)


def aggregation_name(tree: Any) -> str:  # noqa: ANN401 - a promql_parser expression
    """The word of an AggregateExpr, such as sum. The parser gives it in the text only."""
    return str(tree.prettify().lstrip().split("(", 1)[0].split(None, 1)[0])


def _labels(tree: Any, depth: int) -> _Labels:  # noqa: ANN401 - a promql_parser expression
    if depth > MAX_DEPTH:
        return _ANY
    match type(tree).__name__:
        case "NumberLiteral" | "StringLiteral":
            return _NONE
        case "AggregateExpr":
            return _aggregation(tree, depth)
        case "BinaryExpr":
            return _binary(tree, depth)
        case "Call":
            return _call(tree, depth)
        case "ParenExpr" | "UnaryExpr" | "SubqueryExpr":
            return _labels(tree.expr, depth + 1)
        case _:
            return _ANY


def _aggregation(tree: Any, depth: int) -> _Labels:  # noqa: ANN401 - a promql_parser expression
    inner = _labels(tree.expr, depth + 1)
    name = aggregation_name(tree)
    if name in CHOOSING:
        return inner
    result = _NONE
    if tree.modifier is not None:
        listed = frozenset(tree.modifier.labels)
        result = inner.only(listed) if str(tree.modifier.type).endswith("By") else inner.minus(listed)
    if name == "count_values" and tree.param is not None:
        result = result.plus(frozenset({str(getattr(tree.param, "val", ""))}))
    return result


def _binary(tree: Any, depth: int) -> _Labels:  # noqa: ANN401 - a promql_parser expression
    left, right = _labels(tree.lhs, depth + 1), _labels(tree.rhs, depth + 1)
    modifier = tree.modifier
    kind = "" if modifier is None else str(modifier.card)
    if kind.endswith("ManyToOne"):
        return left.plus(frozenset(modifier.group_labels or ()))
    if kind.endswith("OneToMany"):
        return right.plus(frozenset(modifier.group_labels or ()))
    if modifier is not None and modifier.matching is not None and kind.endswith("OneToOne"):
        listed = frozenset(modifier.matching.labels)
        included = str(modifier.matching.type).endswith("Include")
        return left.either(right).only(listed) if included else left.either(right).minus(listed)
    return left.either(right)


def _call(tree: Any, depth: int) -> _Labels:  # noqa: ANN401 - a promql_parser expression
    vectors = [
        _labels(argument, depth + 1)
        for argument in tree.args
        if type(argument).__name__ not in {"NumberLiteral", "StringLiteral"}
    ]
    name = tree.func.name
    if name in {"scalar", "time", "vector", "pi"}:
        return _NONE
    if name in {"label_replace", "label_join"} and len(tree.args) > 1:
        return (vectors[0] if vectors else _ANY).plus(frozenset({str(getattr(tree.args[1], "val", ""))}))
    if name in {"absent", "absent_over_time", "info"} or not vectors:
        return _ANY
    result = vectors[0]
    for other in vectors[1:]:
        result = result.either(other)
    return result


_CHILDREN = ("expr", "lhs", "rhs", "vector_selector", "param")


def history_seconds(tree: Any) -> int:  # noqa: ANN401 - a promql_parser expression
    """The seconds of ranges, subqueries and offsets together, along the longest branch. An `@` with a time of
    its own is ignored: no retention would help.
    """
    return _seconds(tree, 0)


def _seconds(tree: Any, depth: int) -> int:  # noqa: ANN401 - a promql_parser expression
    if depth > MAX_DEPTH:
        return 0
    own = sum(
        int(found.total_seconds()) for name in ("range", "offset") if (found := getattr(tree, name, None))
    )
    children = [child for name in _CHILDREN if (child := getattr(tree, name, None)) is not None]
    children += getattr(tree, "args", None) or []
    return max(own, 0) + max((_seconds(child, depth + 1) for child in children), default=0)
