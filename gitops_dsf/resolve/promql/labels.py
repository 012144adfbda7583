"""Which labels the result of an expression can have, how far it looks back, and which clauses mix the series
of several clusters, where a label names the cluster.

The native parser gives no positions. The aggregations of the tree, in the order of the text, are the
aggregation words of the text, and so are operators and functions.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any, Final

from gitops_dsf.diagnostics import Mistake
from gitops_dsf.resolve.promql.check import AGGREGATIONS, BINARY, Token, tokens

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
        result = (
            inner.only(listed) if str(tree.modifier.type).endswith("By") else inner.minus(listed)
        )
    if name == "count_values" and tree.param is not None:
        result = result.plus(frozenset({_text(tree.param)}))
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
        return (vectors[0] if vectors else _ANY).plus(frozenset({_text(tree.args[1])}))
    if name in {"absent", "absent_over_time", "info"} or not vectors:
        return _ANY
    return reduce(_Labels.either, vectors)


_CHILDREN = ("expr", "lhs", "rhs", "vector_selector", "param")


def history_seconds(tree: Any, depth: int = 0) -> int:  # noqa: ANN401 - a promql_parser expression
    """The seconds of ranges, subqueries and offsets together, along the longest branch. An `@` with a time of
    its own is ignored: no retention would help.
    """
    if depth > MAX_DEPTH:
        return 0
    own = sum(
        int(found.total_seconds())
        for name in ("range", "offset")
        if (found := getattr(tree, name, None))
    )
    children = [child for name in _CHILDREN if (child := getattr(tree, name, None)) is not None]
    children += getattr(tree, "args", None) or []
    return max(own, 0) + max((history_seconds(child, depth + 1) for child in children), default=0)


_UNLABELLED: Final = frozenset({"scalar", "vector", "absent", "absent_over_time"})
"""Functions whose result does not have the labels of their argument."""


def mixing_clauses(text: str, tree: Any, label: str, *, most: int) -> list[Mistake]:  # noqa: ANN401 - a promql_parser expression
    """The clauses that drop ``label`` or combine its values, in order; ``most`` words are read."""
    walk = _Walk(tokens(text, most=most))
    found = sorted(walk.visit(tree, label, 0), key=lambda clause: clause.offset or 0)
    if not found and not can_have(tree, label):
        found = [
            Mistake(f"the result has no label {label}", f"keep the label {label} of the series")
        ]
    return found


class _Walk:
    """One walk through the tree in the order of the text."""

    def __init__(self, words: Sequence[Token]) -> None:
        self._aggregations = _calls(words, AGGREGATIONS)
        self._functions = {name: _calls(words, {name}) for name in _UNLABELLED}
        self._operators = _binary_operators(words)

    def visit(self, tree: Any, label: str, depth: int) -> Iterator[Mistake]:  # noqa: ANN401 - a promql_parser expression
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

    def _call(self, tree: Any, label: str, depth: int) -> Iterator[Mistake]:  # noqa: ANN401 - a promql_parser expression
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


def _grouping(tree: Any, label: str, offset: int) -> Iterator[Mistake]:  # noqa: ANN401 - a promql_parser expression
    modifier = tree.modifier
    listed = frozenset() if modifier is None else frozenset(modifier.labels)
    by = modifier is None or str(modifier.type).endswith("By")
    if (label in listed) if by else (label not in listed):
        return
    name = aggregation_name(tree)
    does = f"aggregates the label {label} away, so that all clusters become one value"
    if name in CHOOSING:
        does = "chooses among the series of all clusters"
    hint = (
        f"write {name} by ({', '.join([label, *sorted(listed)])}) (...)"
        if by
        else f"remove {label} from without ({', '.join(modifier.labels)})"
    )
    yield Mistake(f"{name} {does}", hint, offset)


def _matching(tree: Any, label: str, offset: int) -> Iterator[Mistake]:  # noqa: ANN401 - a promql_parser expression
    modifier = tree.modifier
    if modifier is None or modifier.matching is None:
        return
    listed = list(modifier.matching.labels)
    on = str(modifier.matching.type).endswith("Include")
    if (label in listed) if on else (label not in listed):
        return
    kind = "on" if on else "ignoring"
    hint = (
        f"write on ({', '.join([label, *listed])})" if on else f"remove {label} from ignoring (...)"
    )
    yield Mistake(
        f"{kind} ({', '.join(listed)}) compares series of different clusters", hint, offset
    )


def _text(tree: Any) -> str:  # noqa: ANN401 - a promql_parser expression
    return str(getattr(tree, "val", ""))


def _calls(words: Sequence[Token], names: frozenset[str] | set[str]) -> Iterator[int]:
    """Offsets of names that are followed by a bracket or a grouping."""
    for word, after in pairwise(words):
        is_call = word.kind == "name" and after.text.lower() in {"(", "by", "without"}
        if is_call and word.text.lower() in names:
            yield word.offset


_SIGNS: Final = frozenset({"+", "-"})


def _binary_operators(words: Sequence[Token]) -> Iterator[int]:
    """Offsets of operators between two operands. Signs, and comparisons inside of braces, are none."""
    braces, ends_operand = 0, False
    for word in words:
        text = word.text.lower()
        if word.kind == "operator" and text in {"{", "}"}:
            braces += 1 if text == "{" else -1
            ends_operand = text == "}"
        elif braces:
            continue
        elif (
            word.kind in {"operator", "name"}
            and text in BINARY
            and (text not in _SIGNS or ends_operand)
        ):
            ends_operand = False
            yield word.offset
        else:
            ends_operand = text in {")", "]"} or (
                word.kind != "operator"
                and text not in {"offset", "bool", "by", "without", "on", "ignoring"}
            )
