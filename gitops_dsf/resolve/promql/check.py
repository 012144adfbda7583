"""Checks one PromQL expression: returns the syntax tree, or what is wrong and where.

The lexer is just good enough to count tokens and to find where each starts. The native parser decides which
functions exist; they are listed here to suggest one for a misspelt name.
"""

import re
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import promql_parser

from dsf_wire.text import printable
from gitops_dsf.diagnostics import Mistake
from gitops_dsf.wording import did_you_mean

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|\#[^\n]*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)
  | (?P<duration>(?:[0-9]+(?:ms|[smhdwy]))+(?![0-9a-zA-Z_]))
  | (?P<number>0[xX][0-9a-fA-F_]+|[0-9][0-9_]*(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?)
  | (?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)
  | (?P<operator>==|!=|<=|>=|=~|!~|[-+*/%^<>=!@,:;(){}\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token and its 0-based offset. `kind` is string, duration, number, name, operator, or bad."""

    kind: str
    text: str
    offset: int


def tokens(text: str, *, most: int) -> list[Token]:
    """The tokens of an expression; the last one is invalid (kind bad), or the `most`th."""
    found: list[Token] = []
    index = 0
    in_range = False
    while index < len(text) and len(found) < most:
        match = _TOKEN.match(text, index)
        if match is None:
            found.append(Token("bad", text[index], index))
            break
        kind = match.lastgroup or "bad"
        word = match[0]
        if word[0] == ":" and in_range:  # elsewhere, a colon starts the name of a recording rule
            kind, word = "operator", ":"
        in_range = word == "[" or (in_range and word != "]")
        if kind != "blank":
            found.append(Token(kind, word, index))
        index += len(word)
    return found


RENAMED: Final = {"holt_winters": "double_exponential_smoothing"}
"""Functions of Prometheus 2, and what they are called since Prometheus 3."""

_FUNCTIONS: Final = """
    abs absent absent_over_time acos acosh asin asinh atan atanh avg_over_time ceil changes clamp
    clamp_max clamp_min cos cosh count_over_time day_of_month day_of_week day_of_year days_in_month deg
    delta deriv double_exponential_smoothing end exp first_over_time floor histogram_avg histogram_count
    histogram_fraction histogram_quantile histogram_quantiles histogram_stddev histogram_stdvar
    histogram_sum hour idelta increase info integral irate label_join label_replace last_over_time ln
    log10 log2 mad_over_time max_over_time min_over_time minute month pi predict_linear present_over_time
    quantile_over_time rad range rate resets round scalar sgn sin sinh sort sort_by_label
    sort_by_label_desc sort_desc sqrt start stddev_over_time stdvar_over_time step sum_over_time tan tanh
    time timestamp ts_of_first_over_time ts_of_last_over_time ts_of_max_over_time ts_of_min_over_time
    vector year
"""
FUNCTIONS: Final = frozenset(_FUNCTIONS.split())

_AGGREGATIONS: Final = """
    sum avg count min max group stddev stdvar topk bottomk count_values quantile limitk limit_ratio
"""
AGGREGATIONS: Final = frozenset(_AGGREGATIONS.split())
BINARY: Final = frozenset(
    ["+", "-", "*", "/", "%", "^", "==", "!=", "<", ">", "<=", ">=", "and", "or", "unless", "atan2"]
)


MAX_WORDS = 2000
MAX_DEPTH = 60
"""The native parser recurses: ten thousand brackets, or twenty thousand comments, crash the process."""
MAX_EXPRESSION = 16_384
"""Most characters of one expression."""

MAX_QUERY = 65_536
"""Most characters of a query. Prometheus and proxies reject a longer request line."""


_UNKNOWN_FUNCTION = re.compile(r"unknown function with name '([^']*)'")
_QUOTED = re.compile(r"'([^']+)'|syntax: (\S+)$")
"""What a message of the parser quotes."""
_OPENED_BY: Final = {")": "(", "]": "[", "}": "{"}
_RANGE_RESULTS = {
    "MatrixSelector": "a range vector",
    "SubqueryExpr": "a range vector",
    "StringLiteral": "a string",
}


@dataclass(frozen=True, slots=True)
class QueryMistake(Mistake):
    """A mistake in a PromQL expression."""

    offset: int = 0
    kind: Literal["syntax", "function", "renamed", "result"] = "syntax"
    """`function`: Prometheus has no such function. `renamed`: only Prometheus 2 has the function.
    `result`: a range query cannot return such a value.
    """


class Checked(NamedTuple):
    """The tree of an expression that parses; None otherwise and after an unknown function."""

    tree: Any
    mistakes: tuple[QueryMistake, ...] = ()


def check(text: str) -> Checked:
    """Parses one expression (not a `;` list). Never raises."""
    if len(text) > MAX_EXPRESSION:
        message = f"more than {MAX_EXPRESSION} characters in one expression"
        return Checked(None, (QueryMistake(message, "use recording rules", MAX_EXPRESSION),))
    words = tokens(text, most=MAX_WORDS + 1)
    text = _without_raw_backslashes(text, words)
    refused = _too_much(words)
    if refused is not None:
        return Checked(None, (refused,))
    try:
        tree = _parse(text)
    except ValueError as error:
        return Checked(None, (_mistake(text, words, printable(error, most=200)),))
    result = _RANGE_RESULTS.get(type(tree).__name__)
    if result is not None:
        message = f"the query returns {result}, and needs to return an instant vector or a number"
        wrap = "wrap it in a function such as rate(...) or avg_over_time(...)"
        hint = wrap if result == "a range vector" else ""
        return Checked(None, (QueryMistake(message, hint, _first(words), "result"),))
    return Checked(tree)


def _parse(text: str) -> Any:  # noqa: ANN401 - a promql_parser expression
    """Returns the tree. Raises ValueError, also for a panic of the native parser, no Exception itself."""
    try:
        return promql_parser.parse(text)
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise ValueError("the parser cannot read this query") from error
        raise


def _without_raw_backslashes(text: str, words: list[Token]) -> str:
    """Replaces back-quoted strings, in which the parser looks for escapes although Prometheus has none."""
    if "`" not in text or "\\" not in text:
        return text
    for word in words:
        if word.kind == "string" and word.text[0] == "`" and "\\" in word.text:
            end = word.offset + len(word.text)
            text = f"{text[: word.offset]}`{'x' * (len(word.text) - 2)}`{text[end:]}"
    return text


_ESCAPE = re.compile(
    r"\\(?:[abfnrtv\\'\"]|[0-7]{3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(?P<bad>\\.)",
    re.DOTALL,
)


def _bad_escape(word: Token) -> int | None:
    """Offset of the first backslash in a quoted string that starts no valid escape."""
    if word.kind != "string" or word.text[0] == "`":
        return None
    return next(
        (word.offset + found.start() for found in _ESCAPE.finditer(word.text) if found["bad"]), None
    )


def _first(words: list[Token]) -> int:
    return words[0].offset if words else 0


def _too_much(words: list[Token]) -> QueryMistake | None:
    if len(words) > MAX_WORDS:
        message = f"more than {MAX_WORDS} words in one expression"
        return QueryMistake(message, "split it, or use a recording rule", words[MAX_WORDS].offset)
    depth = signs = 0
    for word in words:
        depth += (word.text in {"(", "[", "{"}) - (word.text in {")", "]", "}"} and depth > 0)
        signs = signs + 1 if word.text in {"+", "-"} else 0
        if depth > MAX_DEPTH or signs > MAX_DEPTH:
            message = f"more than {MAX_DEPTH} levels of brackets or signs"
            return QueryMistake(message, "simplify it, or use a recording rule", word.offset)
    return None


def _mistake(text: str, words: list[Token], message: str) -> QueryMistake:
    unknown = _UNKNOWN_FUNCTION.search(message)
    if unknown is not None:
        return _unknown_function(words, unknown[1])
    escape = next((place for word in words if (place := _bad_escape(word)) is not None), None)
    if escape is not None and "escape" in message:
        hint = f"write \\\\{text[escape + 1]}, or the whole string in back-quotes"
        message, offset = f"\\{text[escape + 1]} is no escape", escape
    else:
        matrix = (
            "a range such as [5m] goes inside a function such as rate(...) or avg_over_time(...)"
        )
        hint, offset = matrix if "got matrix" in message else "", _culprit(text, words, message)
    return QueryMistake(message, hint, offset)


def _culprit(text: str, words: list[Token], message: str) -> int:
    """Offset of what the message is about: what cannot be read, or the quoted word, else the start."""
    if words and words[-1].kind == "bad":
        return words[-1].offset
    if not words or "end of input" in message or "unclosed" in message:
        return len(text.rstrip())
    quoted = _QUOTED.search(message)
    said = (quoted[1] or quoted[2]) if quoted is not None else ""
    opened: list[str] = []
    for word in (
        words if said in _OPENED_BY else ()
    ):  # brackets in strings are part of the string's word
        if word.text in _OPENED_BY.values():
            opened.append(word.text)
        elif word.text in _OPENED_BY and (not opened or opened.pop() != _OPENED_BY[word.text]):
            return word.offset
    return next(
        (word.offset for word in words if said and word.text.startswith(said)), _first(words)
    )


def _unknown_function(words: list[Token], name: str) -> QueryMistake:
    offset = next((word.offset for word in words if word.text == name), _first(words))
    if name in RENAMED:
        message = f"{name} has another name since Prometheus 3"
        return QueryMistake(message, f"write {RENAMED[name]}", offset, "renamed")
    hint = did_you_mean(name, FUNCTIONS | AGGREGATIONS)
    hint = hint or "check its spelling; if the source is no Prometheus, write source.dialect: Other"
    return QueryMistake(f"the function {name} is not known", hint, offset, "function")
