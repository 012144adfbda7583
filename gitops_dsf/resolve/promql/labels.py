"""The labels that results of PromQL can have.

All answers are by the tree alone: the series are not known, so where they decide, a label may be
present.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from gitops_dsf.resolve.promql.check import Tree
from gitops_dsf.resolve.promql.trees import CHOOSING, MAX_DEPTH, aggregation_name, text_of

_OF_BUCKETS: Final = frozenset({"histogram_fraction", "histogram_quantile", "histogram_quantiles"})
"""Functions that make one series of the buckets of a histogram, so that the label `le` is gone.

Prometheus v3.16 drops it from classic histograms (EvalNodeHelper.resetHistograms in
promql/engine.go). A native histogram has no such label, unless a rule adds one.
"""


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


def can_have(tree: Tree, label: str) -> bool:
    """Whether a series of the result may have the label. True if that depends on the data."""
    return _labels(tree, 0).has(label)


def others(tree: Tree, names: Iterable[str]) -> bool | None:
    """Whether series of a result can differ in other labels; None if the metric's labels decide."""
    labels = _labels(tree, 0)
    return None if labels.open else not labels.names <= frozenset(names)


def _labels(tree: Tree, depth: int) -> _Labels:
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


def _aggregation(tree: Tree, depth: int) -> _Labels:
    inner = _labels(tree.expr, depth + 1)
    name = aggregation_name(tree)
    if name in CHOOSING:
        return inner
    # Without `by` and `without` an aggregation has one series, without any label.
    result = _NONE
    if tree.modifier is not None:
        listed = frozenset(tree.modifier.labels)
        is_by = str(tree.modifier.type).endswith("By")
        result = inner.only(listed) if is_by else inner.minus(listed)
    if name == "count_values" and tree.param is not None:
        result = result.plus(frozenset({text_of(tree.param)}))
    return result


def _binary(tree: Tree, depth: int) -> _Labels:
    of_left = _labels(tree.lhs, depth + 1)
    of_right = _labels(tree.rhs, depth + 1)
    modifier = tree.modifier
    if modifier is None:
        return of_left.either(of_right)
    cardinality = str(modifier.card)
    # With group_left the result has the labels of the left side, and those that group_left lists
    # from the right. With group_right it is the other way round.
    if cardinality.endswith("ManyToOne"):
        return of_left.plus(frozenset(modifier.group_labels or ()))
    if cardinality.endswith("OneToMany"):
        return of_right.plus(frozenset(modifier.group_labels or ()))
    # Prometheus keeps only the labels of on(), or drops those of ignoring(), also for a comparison.
    if modifier.matching is not None and cardinality.endswith("OneToOne"):
        listed = frozenset(modifier.matching.labels)
        both = of_left.either(of_right)
        is_on = str(modifier.matching.type).endswith("Include")
        return both.only(listed) if is_on else both.minus(listed)
    return of_left.either(of_right)


def _call(tree: Tree, depth: int) -> _Labels:
    literals = {"NumberLiteral", "StringLiteral"}
    vectors = [
        _labels(argument, depth + 1)
        for argument in tree.args
        if type(argument).__name__ not in literals
    ]
    name = tree.func.name
    if name in {"scalar", "time", "vector", "pi"}:
        return _NONE
    if name in {"label_replace", "label_join"} and len(tree.args) > 1:
        labels = vectors[0] if vectors else _ANY
        return labels.plus(frozenset({text_of(tree.args[1])}))
    # absent() takes labels from the matchers of its selector, and info() adds those of target_info.
    if name in {"absent", "absent_over_time", "info"} or not vectors:
        return _ANY
    labels = reduce(_Labels.either, vectors)
    if name in _OF_BUCKETS:
        labels = labels.minus(frozenset({"le"}))
    if name == "histogram_quantiles" and len(tree.args) > 1:
        labels = labels.plus(frozenset({text_of(tree.args[1])}))
    return labels
