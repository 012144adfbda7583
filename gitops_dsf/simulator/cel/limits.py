"""Refuses expressions for which this evaluator (CEL in C++) may differ from OCM's (CEL in Go).

Each rule was found by running both on the same expressions. A rule that refuses too much costs an
answer. A rule that refuses too little would give a wrong one, so in doubt a rule refuses.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from gitops_dsf.simulator.cel.function import CelUnsupported

MAX_EXPRESSION_CHARACTERS = 100_000

# OCM gives each call of an expression PerCallLimit of k8s.io/apiserver/pkg/apis/cel, and drops the
# cluster when the limit is reached (pkg/placement/helpers/cel.go: Compile).
COST_LIMIT = 1_000_000

# OCM reaches its cost limit before it makes a text of that length.
MAX_TEXT_CHARACTERS = 10_000_000

# The parser recurses in C for every bracket, and a stack overflow there would end this process.
MAX_BRACKETS = 200

STRING = re.compile(
    r"""[rRbB]?("{3}.*?"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""", re.DOTALL
)
_REPLACE = re.compile(r"\.\s*replace\s*\((?:\s*'\d+'\s*,\s*'(\d+)')?")
"""A call, and the length of its second argument, where the text has lengths instead of strings."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ARITHMETIC = re.compile(r"[-+*/%]")
_TYPE_META = re.compile(r"""\bmanagedCluster\s*(\.\s*\??|\[\s*\??)\s*["'`]?(kind|apiVersion)\b""")
_WHOLE = re.compile(
    r"\bmanagedCluster\b(?!\s*[.\[])"
    r"|\bmanagedCluster\s*\.\s*(all|exists|exists_one|map|filter|size)\s*\("
)
"""The cluster as a whole, in which an expression could meet any field."""
_NOT_OFFERED = frozenset(
    {
        "format",
        "validate",
        "unwrap",
        "unwrapOpt",
        "indexOf",
        "lastIndexOf",
        "getMilliseconds",
    }
)
"""Missing, or different: indexOf of lists, offsets out of range, %d of doubles, milliseconds."""
_NOT_READ = frozenset(
    {"generateName", "selfLink", "resourceVersion", "deletionGracePeriodSeconds", "managedFields"}
)
"""Metadata that is not kept of a cluster."""
_PARTLY_OFFERED = frozenset({"isSorted", "sum", "min", "max"})
"""Available for some types only, so a failed check may be caused by this environment."""
_OWN_LIMITS = ("recursion depth", "recursion limit")
"""This parser stops at a nesting of 32, cel-go's at 250."""
_OPAQUE = frozenset({"quantity", "url", "ip", "cidr", "semver"})
_REFLECTION = frozenset({"type", "dyn", "string"})
"""Functions that would show that abstract values are maps here."""
_TIMES = frozenset({"duration", "timestamp"})
_NUMBERS = frozenset({"int", "uint", "double"})


@lru_cache(maxsize=1024)
def names_in(expression: str) -> frozenset[str]:
    """Identifiers outside of strings."""
    return frozenset(_NAME.findall(STRING.sub(" ", expression)))


def refuse_expression(expression: str) -> None:
    """Raises CelUnsupported for an expression whose answer could differ from OCM's."""
    brackets = sum(map(expression.count, "([{"))
    if len(expression) > MAX_EXPRESSION_CHARACTERS or brackets > MAX_BRACKETS:
        raise CelUnsupported(
            f"an expression beyond {MAX_EXPRESSION_CHARACTERS} characters or {MAX_BRACKETS}"
            " brackets"
        )
    refuse_growth(expression)
    names = names_in(expression)
    _refuse(names & _NOT_OFFERED, "not offered")
    _refuse(names & _NOT_READ, "not read from a hub")
    if names & _OPAQUE:
        _refuse(names & _REFLECTION, "together with quantities, URLs, addresses or versions")
    if names & _TIMES:
        _refuse(names & {"string"}, "together with durations and timestamps")
    if names & _NUMBERS:
        for literal in STRING.finditer(expression):
            text = literal.group().lstrip("rRbB").strip("\"'")
            if _odd_number(text):
                raise CelUnsupported(f"a number from the text {text!r}")
    if _TYPE_META.search(expression) or _WHOLE.search(STRING.sub('""', expression)):
        raise CelUnsupported(
            "kind and apiVersion of a cluster, which OCM sees after a list but not after a watch"
        )


def refuse_failure(expression: str, message: str) -> None:
    """Raises CelUnsupported if the check may have failed only here."""
    if any(limit in message for limit in _OWN_LIMITS):
        raise CelUnsupported("an expression nested deeper than this parser goes")
    if "`" in STRING.sub(" ", expression):
        raise CelUnsupported("identifiers in backticks, which only some versions read")
    _refuse(names_in(expression) & _PARTLY_OFFERED, "for these types")
    # Go gives arithmetic on dyn the type dyn, C++ the type of the first matching overload.
    if "no matching overload" in message and _ARITHMETIC.search(STRING.sub(" ", expression)):
        raise CelUnsupported(f"types that may differ after arithmetic: {message.splitlines()[0]}")


def refuse_cluster(names: Iterable[str], view: Mapping[str, object]) -> None:
    """Raises CelUnsupported if Go may read another number in a text of the cluster."""
    if _NUMBERS.isdisjoint(names):
        return
    for text in _texts(view):
        if _odd_number(text):
            raise CelUnsupported(f"a number from the text {text!r}")


def refuse_growth(expression: str, *, longest_text: int = 0) -> None:
    """Raises CelUnsupported if calls of replace could make a text that is too long.

    Each call may multiply the length by that of its second argument.
    """
    lengths = STRING.sub(lambda literal: f"'{len(literal.group()) - 2}'", expression)
    calls = _REPLACE.findall(lengths)
    length = max(len(expression), longest_text)
    growth = math.prod(int(digits or length) or 1 for digits in calls)
    if calls and length * growth > MAX_TEXT_CHARACTERS:
        raise CelUnsupported(f"{len(calls)} calls of replace, which could make a very long text")


@lru_cache(maxsize=1024)
def nesting(expression: str) -> int:
    """The nesting depth of comprehensions: 0 for none, 1 for a single one."""
    text = STRING.sub('""', expression)
    deepest = 0
    open_calls: list[bool] = []
    for token in re.finditer(r"\.\s*(all|exists|exists_one|map|filter)\s*\(|\(|\)", text):
        if token.group() == ")":
            if open_calls:
                open_calls.pop()
        else:
            open_calls.append(token.group(1) is not None)
            deepest = max(deepest, sum(open_calls))
    return deepest


def makes_lists(names: frozenset[str]) -> bool:
    """Whether the expression makes lists from texts."""
    return not names.isdisjoint({"parseJSON", "split", "findAll"})


def refuse_cost(expression: str, depth: int, largest: int) -> None:
    """Raises CelUnsupported if an expression could reach OCM's cost limit, which drops the cluster.

    This engine does not count costs, so the bound is an upper one: every character counts as an
    operation, for every combination of elements.
    """
    elements = max(largest, expression.count(",") + 1)
    if depth and len(expression) * elements**depth > COST_LIMIT:
        raise CelUnsupported(
            f"{depth} nested comprehensions over up to {largest} elements may exceed OCM's cost"
            " limit"
        )


def largest_collection(view: object, *, texts: bool) -> int:
    """The size of the largest list or map in a value.

    With `texts`, lists count that an expression could make from a text, such as by split().
    """
    if isinstance(view, str) and texts:
        # Every second character may be a separator, or one of the brackets and commas of JSON.
        return len(view) // 2 + 1
    if isinstance(view, str):
        return 0
    children: list[object] = []
    if isinstance(view, Mapping):
        children = list(view.values())
    elif isinstance(view, list):
        children = view
    return max([len(children), *(largest_collection(child, texts=texts) for child in children)])


def longest_text(view: object) -> int:
    """The length of the longest text of a cluster."""
    return max(map(len, _texts(view)), default=0)


def _refuse(names: Collection[str], reason: str) -> None:
    if names:
        raise CelUnsupported(f"{', '.join(sorted(names))} ({reason})")


def _odd_number(text: str) -> bool:
    """A number with spaces around it, or one that no double can hold. Go rejects both."""
    if text[:1].isspace() or text[-1:].isspace():
        return True
    try:
        return len(text) > 3 and text[:1].isdigit() and float(text) == float("inf")
    except ValueError:
        return False


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for child in value.values():
            yield from _texts(child)
    elif isinstance(value, list):
        for child in value:
            yield from _texts(child)
