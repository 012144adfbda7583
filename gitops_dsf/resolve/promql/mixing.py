"""Clauses of PromQL that mix series of several clusters, which a label keeps apart."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from gitops_dsf.diagnostics import Mistake
from gitops_dsf.resolve.promql.check import AGGREGATIONS, BINARY, MAX_QUERY, Token, Tree, tokens
from gitops_dsf.resolve.promql.labels import can_have
from gitops_dsf.resolve.promql.trees import (
    CHOOSING,
    MAX_DEPTH,
    aggregation_name,
    children,
    text_of,
)

_UNLABELLED: Final = frozenset({"scalar", "vector", "absent", "absent_over_time"})
"""Functions whose result does not have the labels of their argument."""
_SIGNS: Final = frozenset({"+", "-"})
_AFTER_OPERATORS: Final = frozenset({"offset", "bool", "by", "without", "on", "ignoring"})
"""Words behind which an operand follows, so that a sign there is none between two operands."""


def mixing_clauses(text: str, tree: Tree, label: str, *, max_tokens: int) -> list[Mistake]:
    """The clauses that drop ``label`` or combine its values, in order; ``max_tokens`` are read."""
    walk = _Walk(tokens(text, limit=max_tokens))
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
    return not mixing_clauses(text, tree, label, max_tokens=MAX_QUERY)


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
        if is_writer and text_of(tree.args[1]) == label:
            return True
    elif kind == "AggregateExpr" and tree.param is not None and text_of(tree.param) == label:
        # The only aggregation whose parameter is a label is count_values.
        return True
    return any(_writes_label(child, label, depth + 1) for child in children(tree))


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
        if name == "label_replace" and len(arguments) > 3 and text_of(arguments[1]) == label:
            # The label is made from another one, which must name the cluster then.
            label = text_of(arguments[3])
        elif name == "label_join" and len(arguments) > 1 and text_of(arguments[1]) == label:
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
