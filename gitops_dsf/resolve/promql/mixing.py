"""Clauses of an expression that mix the series of several clusters, where a label names the cluster.

The native parser gives no positions. The aggregations of the tree, in the order of the text, are the
aggregation words of the text, and so are operators and functions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from gitops_dsf.resolve.promql.labels import CHOOSING, MAX_DEPTH, aggregation_name, can_have
from gitops_dsf.resolve.promql.tokens import AGGREGATIONS, BINARY, Token, tokens

_UNLABELLED: Final = frozenset({"scalar", "vector", "absent", "absent_over_time"})
"""Functions whose result does not have the labels of their argument."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Clause:
    """A clause that mixes clusters: its 0-based character offset, what it does, and what to write instead."""

    offset: int
    message: str
    hint: str


def mixing_clauses(text: str, tree: Any, label: str, *, most: int) -> list[Clause]:  # noqa: ANN401 - a promql_parser expression
    """The clauses that drop ``label`` or combine its values, in order; ``most`` words are read."""
    walk = _Walk(tokens(text, most=most))
    found = sorted(walk.visit(tree, label, 0), key=lambda clause: clause.offset)
    if not found and not can_have(tree, label):
        found = [
            Clause(
                offset=0,
                message=f"the result has no label {label}",
                hint=f"keep the label {label} of the series",
            )
        ]
    return found


class _Walk:
    """One walk through the tree in the order of the text."""

    def __init__(self, words: Sequence[Token]) -> None:
        self._aggregations = _offsets(_calls(words, AGGREGATIONS))
        self._functions = {name: _offsets(_calls(words, {name})) for name in _UNLABELLED}
        self._operators = _offsets(_binary_operators(words))

    def visit(self, tree: Any, label: str, depth: int) -> Iterator[Clause]:  # noqa: ANN401 - a promql_parser expression
        if depth > MAX_DEPTH:
            return
        match type(tree).__name__:
            case "AggregateExpr":
                offset = next(self._aggregations, 0)
                yield from _aggregation(tree, label, offset)
                if tree.param is not None:
                    yield from self.visit(tree.param, label, depth + 1)
                yield from self.visit(tree.expr, label, depth + 1)
            case "BinaryExpr":
                yield from self.visit(tree.lhs, label, depth + 1)
                offset = next(self._operators, 0)
                yield from _matching(tree, label, offset)
                yield from self.visit(tree.rhs, label, depth + 1)
            case "Call":
                yield from self._call(tree, label, depth)
            case "ParenExpr" | "UnaryExpr" | "SubqueryExpr":
                yield from self.visit(tree.expr, label, depth + 1)

    def _call(self, tree: Any, label: str, depth: int) -> Iterator[Clause]:  # noqa: ANN401 - a promql_parser expression
        name = tree.func.name
        if name in _UNLABELLED:
            yield Clause(
                offset=next(self._functions[name], 0),
                message=f"the result of {name}() has no label {label}",
                hint=f"write an expression that keeps the label {label}",
            )
        arguments = list(tree.args)
        if name == "label_replace" and len(arguments) > 3 and _text(arguments[1]) == label:
            # The label is made from another one, which must name the cluster then.
            label = _text(arguments[3])
        elif name == "label_join" and len(arguments) > 1 and _text(arguments[1]) == label:
            return
        for argument in arguments:
            yield from self.visit(argument, label, depth + 1)


def _aggregation(tree: Any, label: str, offset: int) -> Iterator[Clause]:  # noqa: ANN401 - a promql_parser expression
    modifier = tree.modifier
    listed = frozenset() if modifier is None else frozenset(modifier.labels)
    by = modifier is None or str(modifier.type).endswith("By")
    if (label in listed) if by else (label not in listed):
        return
    name = aggregation_name(tree)
    does = (
        "chooses among the series of all clusters"
        if name in CHOOSING
        else f"aggregates the label {label} away, so that all clusters become one value"
    )
    hint = (
        f"write {name} by ({', '.join([label, *sorted(listed)])}) (...)"
        if by
        else f"remove {label} from without ({', '.join(modifier.labels)})"
    )
    yield Clause(offset=offset, message=f"{name} {does}", hint=hint)


def _matching(tree: Any, label: str, offset: int) -> Iterator[Clause]:  # noqa: ANN401 - a promql_parser expression
    modifier = tree.modifier
    if modifier is None or modifier.matching is None:
        return
    listed = list(modifier.matching.labels)
    on = str(modifier.matching.type).endswith("Include")
    if (label in listed) if on else (label not in listed):
        return
    kind = "on" if on else "ignoring"
    hint = f"write on ({', '.join([label, *listed])})" if on else f"remove {label} from ignoring (...)"
    yield Clause(
        offset=offset,
        message=f"{kind} ({', '.join(listed)}) compares series of different clusters",
        hint=hint,
    )


def _text(tree: Any) -> str:  # noqa: ANN401 - a promql_parser expression
    return str(getattr(tree, "val", ""))


def _offsets(words: Iterator[Token]) -> Iterator[int]:
    return (word.offset for word in words)


def _calls(words: Sequence[Token], names: frozenset[str] | set[str]) -> Iterator[Token]:
    """Names that are followed by a bracket or a grouping."""
    for word, after in pairwise(words):
        if (
            word.kind == "name"
            and word.text.lower() in names
            and after.text.lower() in {"(", "by", "without"}
        ):
            yield word


_SIGNS: Final = frozenset({"+", "-"})


def _binary_operators(words: Sequence[Token]) -> Iterator[Token]:
    """Operators between two operands. Signs, and comparisons inside of braces, are none."""
    braces, ends_operand = 0, False
    for word in words:
        text = word.text.lower()
        if word.kind == "operator" and text in {"{", "}"}:
            braces += 1 if text == "{" else -1
            ends_operand = text == "}"
        elif braces:
            continue
        elif word.kind in {"operator", "name"} and text in BINARY and (text not in _SIGNS or ends_operand):
            ends_operand = False
            yield word
        else:
            ends_operand = text in {")", "]"} or (
                word.kind != "operator" and text not in {"offset", "bool", "by", "without", "on", "ignoring"}
            )
