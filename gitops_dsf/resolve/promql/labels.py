"""The labels that results of PromQL can have, and the clauses that mix series of clusters.

Also how far an expression looks back. All answers are by the tree alone: the series are not
known, so where they decide, a label may be present.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Final

from gitops_dsf.diagnostics import Mistake
from gitops_dsf.resolve.promql.check import AGGREGATIONS, BINARY, MAX_QUERY, Token, Tree, tokens

CHOOSING: Final = frozenset({"topk", "bottomk", "limitk", "limit_ratio"})
"""Aggregations that choose series, and keep their labels."""
MAX_DEPTH: Final = 200
"""Levels of a tree that are visited, because the visitors recurse."""
_CHILDREN: Final = ("expr", "lhs", "rhs", "vector_selector", "param")
"""Attributes of a node that are nodes."""
_UNLABELLED: Final = frozenset({"scalar", "vector", "absent", "absent_over_time"})
"""Functions whose result does not have the labels of their argument."""
_OF_BUCKETS: Final = frozenset({"histogram_fraction", "histogram_quantile", "histogram_quantiles"})
"""Functions that make one series of the buckets of a histogram, so that the label `le` is gone.

Prometheus v3.16 drops it from classic histograms (EvalNodeHelper.resetHistograms in
promql/engine.go). A native histogram has no such label, unless somebody gives it one.
"""
_SIGNS: Final = frozenset({"+", "-"})
_AFTER_OPERATORS: Final = frozenset({"offset", "bool", "by", "without", "on", "ignoring"})
"""Words behind which an operand follows, so that a sign there is none between two operands."""


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


def aggregation_name(tree: Tree) -> str:
    """The word of an AggregateExpr, such as sum. The parser gives it in the text only."""
    return str(tree.prettify().lstrip().split("(", 1)[0].split(None, 1)[0])


def history_seconds(tree: Tree, depth: int = 0) -> int:
    """The seconds of ranges, subqueries and offsets together, along the longest branch.

    An `@` with a time of its own is ignored: no retention would help.
    """
    # A query so deep is not judged: the answer errs to a shorter history.
    if depth > MAX_DEPTH:
        return 0
    own = 0
    for name in ("range", "offset"):
        duration = getattr(tree, name, None)
        if duration:
            own += int(duration.total_seconds())
    longest = 0
    for child in _children(tree):
        longest = max(longest, history_seconds(child, depth + 1))
    return max(own, 0) + longest


def mixing_clauses(text: str, tree: Tree, label: str, *, most: int) -> list[Mistake]:
    """The clauses that drop ``label`` or combine its values, in order; ``most`` words are read."""
    walk = _Walk(tokens(text, most=most))
    mistakes = sorted(walk.visit(tree, label, 0), key=lambda mistake: mistake.offset or 0)
    if not mistakes and not can_have(tree, label):
        message = f"the result has no label {label}"
        return [Mistake(message, f"keep the label {label} of the series")]
    return mistakes


def keeps_apart(text: str, tree: Tree, label: str) -> bool:
    """Whether each series of the result that has the label comes only from series with its value.

    False where that is not certain. `mixing_clauses` has the reasons for people, who may also make
    the label from another one; here its values must be those of the series.
    """
    if _writes_label(tree, label, 0):
        return False
    return not mixing_clauses(text, tree, label, most=MAX_QUERY)


def _writes_label(tree: Tree, label: str, depth: int) -> bool:
    """Whether a function gives the label another value. True for a tree that is too deep."""
    if depth > MAX_DEPTH:
        return True
    kind = type(tree).__name__
    if kind == "Call":
        name = tree.func.name
        # `info` joins series by instance and job alone, which are equal on many clusters.
        if name == "info":
            return True
        is_writer = name in {"label_replace", "label_join"} and len(tree.args) > 1
        if is_writer and _text(tree.args[1]) == label:
            return True
    elif kind == "AggregateExpr" and tree.param is not None and _text(tree.param) == label:
        # The only aggregation whose parameter is a label is count_values.
        return True
    return any(_writes_label(child, label, depth + 1) for child in _children(tree))


def _children(tree: Tree) -> Iterator[Tree]:
    for name in _CHILDREN:
        child = getattr(tree, name, None)
        if child is not None:
            yield child
    yield from getattr(tree, "args", None) or []


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
        result = result.plus(frozenset({_text(tree.param)}))
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
        return labels.plus(frozenset({_text(tree.args[1])}))
    # absent() takes labels from the matchers of its selector, and info() adds those of target_info.
    if name in {"absent", "absent_over_time", "info"} or not vectors:
        return _ANY
    labels = reduce(_Labels.either, vectors)
    if name in _OF_BUCKETS:
        labels = labels.minus(frozenset({"le"}))
    if name == "histogram_quantiles" and len(tree.args) > 1:
        labels = labels.plus(frozenset({_text(tree.args[1])}))
    return labels


class _Walk:
    """One walk through the tree in the order of the text.

    The native parser gives no positions. But the aggregations of the tree, in the order of the
    text, are the aggregation words of the text, and so are operators and functions.
    """

    def __init__(self, words: Sequence[Token]) -> None:
        self._aggregations = _calls(words, AGGREGATIONS)
        self._functions = {name: _calls(words, {name}) for name in _UNLABELLED}
        self._operators = _binary_operators(words)

    def visit(self, tree: Tree, label: str, depth: int) -> Iterator[Mistake]:
        if depth > MAX_DEPTH:
            return
        match type(tree).__name__:
            case "AggregateExpr":
                yield from _grouping(tree, label, next(self._aggregations, 0))
                if tree.param is not None:
                    yield from self.visit(tree.param, label, depth + 1)
                yield from self.visit(tree.expr, label, depth + 1)
            case "BinaryExpr":
                yield from self.visit(tree.lhs, label, depth + 1)
                yield from _matching(tree, label, next(self._operators, 0))
                yield from self.visit(tree.rhs, label, depth + 1)
            case "Call":
                yield from self._call(tree, label, depth)
            case "ParenExpr" | "UnaryExpr" | "SubqueryExpr":
                yield from self.visit(tree.expr, label, depth + 1)

    def _call(self, tree: Tree, label: str, depth: int) -> Iterator[Mistake]:
        name = tree.func.name
        if name in _UNLABELLED:
            message = f"the result of {name}() has no label {label}"
            hint = f"write an expression that keeps the label {label}"
            yield Mistake(message, hint, next(self._functions[name], 0))
        arguments = list(tree.args)
        if name == "label_replace" and len(arguments) > 3 and _text(arguments[1]) == label:
            # The label is made from another one, which must name the cluster then.
            label = _text(arguments[3])
        elif name == "label_join" and len(arguments) > 1 and _text(arguments[1]) == label:
            return
        for argument in arguments:
            yield from self.visit(argument, label, depth + 1)


def _grouping(tree: Tree, label: str, offset: int) -> Iterator[Mistake]:
    """Whether an aggregation drops the label, or chooses among the series of all its values."""
    modifier = tree.modifier
    listed = frozenset() if modifier is None else frozenset(modifier.labels)
    is_by = modifier is None or str(modifier.type).endswith("By")
    if (label in listed) == is_by:
        return
    name = aggregation_name(tree)
    if is_by:
        hint = f"write {name} by ({', '.join([label, *sorted(listed)])}) (...)"
    else:
        hint = f"remove {label} from without ({', '.join(modifier.labels)})"
    if name in CHOOSING:
        yield Mistake(f"{name} chooses among the series of all clusters", hint, offset)
    else:
        yield Mistake(
            f"{name} aggregates the label {label} away, so that all clusters become one value",
            hint,
            offset,
        )


def _matching(tree: Tree, label: str, offset: int) -> Iterator[Mistake]:
    """Whether an operator compares series with different values of the label."""
    modifier = tree.modifier
    if modifier is None or modifier.matching is None:
        return
    listed = list(modifier.matching.labels)
    is_on = str(modifier.matching.type).endswith("Include")
    if (label in listed) == is_on:
        return
    labels = ", ".join(listed)
    if is_on:
        yield Mistake(
            f"on ({labels}) compares series of different clusters",
            f"write on ({', '.join([label, *listed])})",
            offset,
        )
    else:
        yield Mistake(
            f"ignoring ({labels}) compares series of different clusters",
            f"remove {label} from ignoring (...)",
            offset,
        )


def _text(tree: Tree) -> str:
    return str(getattr(tree, "val", ""))


def _calls(words: Sequence[Token], names: frozenset[str] | set[str]) -> Iterator[int]:
    """Offsets of names that are followed by a bracket or a grouping."""
    for word, after in pairwise(words):
        # `sum(x)` and `sum by (a) (x)` begin an aggregation. Prometheus reads its words in any
        # case.
        is_call = word.kind == "name" and after.text.lower() in {"(", "by", "without"}
        if is_call and word.text.lower() in names:
            yield word.offset


def _binary_operators(words: Sequence[Token]) -> Iterator[int]:
    """Offsets of operators between two operands.

    Signs, and comparisons inside of braces, are none.
    """
    depth = 0
    ends_operand = False
    for word in words:
        text = word.text.lower()
        # In a selector such as {a!="b"} the signs compare labels.
        if word.kind == "operator" and text in {"{", "}"}:
            depth += 1 if text == "{" else -1
            ends_operand = text == "}"
        elif depth:
            continue
        elif _is_binary(word) and (text not in _SIGNS or ends_operand):
            ends_operand = False
            yield word.offset
        elif word.kind == "operator":
            ends_operand = text in {")", "]"}
        else:
            ends_operand = text not in _AFTER_OPERATORS


def _is_binary(word: Token) -> bool:
    return word.kind in {"operator", "name"} and word.text.lower() in BINARY
