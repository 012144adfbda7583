"""Checks one PromQL expression: returns the syntax tree, or what is wrong and where."""

import re
from dataclasses import dataclass
from typing import Any

import promql_parser

from dsf_wire.text import printable
from gitops_dsf.resolve.promql.tokens import AGGREGATIONS, FUNCTIONS, RENAMED, Token, tokens
from gitops_dsf.wording import did_you_mean

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
_RANGE_RESULTS = {
    "MatrixSelector": "a range vector",
    "SubqueryExpr": "a range vector",
    "StringLiteral": "a string",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Mistake:
    """A mistake in an expression, and its 0-based character offset."""

    kind: str
    """`syntax`; `function`: Prometheus has no such function; `renamed`: only older versions of it have the
    function; or `result`: a range query cannot return it.
    """
    message: str
    offset: int
    hint: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """The tree of an expression that parses; None otherwise and after an unknown function."""

    tree: Any
    mistakes: tuple[Mistake, ...]


def check(text: str) -> Checked:
    """Parses one expression (not a `;` list). Never raises."""
    if len(text) > MAX_EXPRESSION:
        message = f"more than {MAX_EXPRESSION} characters in one expression"
        mistake = Mistake(kind="syntax", message=message, offset=MAX_EXPRESSION, hint="use recording rules")
        return Checked(tree=None, mistakes=(mistake,))
    words = tokens(text, most=MAX_WORDS + 1)
    text = _without_raw_backslashes(text, words)
    refused = _too_much(words)
    if refused is not None:
        return Checked(tree=None, mistakes=(refused,))
    try:
        tree = _parse(text)
    except ValueError as error:
        return Checked(tree=None, mistakes=_mistakes(text, words, printable(error, most=200)))
    result = _RANGE_RESULTS.get(type(tree).__name__)
    if result is not None:
        message = f"the query returns {result}, and needs to return an instant vector or a number"
        hint = (
            "wrap it in a function such as rate(...) or avg_over_time(...)"
            if result == "a range vector"
            else ""
        )
        return Checked(
            tree=None, mistakes=(Mistake(kind="result", message=message, offset=_first(words), hint=hint),)
        )
    return Checked(tree=tree, mistakes=())


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
            text = f"{text[: word.offset]}`{'x' * (len(word.text) - 2)}`{text[word.end :]}"
    return text


_ESCAPE = re.compile(
    r"\\(?:[abfnrtv\\'\"]|[0-7]{3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(?P<bad>\\.)", re.DOTALL
)


def _bad_escape(word: Token) -> int | None:
    """Offset of the first backslash in a quoted string that starts no valid escape."""
    if word.kind != "string" or word.text[0] == "`":
        return None
    return next((word.offset + found.start() for found in _ESCAPE.finditer(word.text) if found["bad"]), None)


def _first(words: list[Token]) -> int:
    return words[0].offset if words else 0


def _too_much(words: list[Token]) -> Mistake | None:
    if len(words) > MAX_WORDS:
        return Mistake(
            kind="syntax",
            message=f"more than {MAX_WORDS} words in one expression",
            offset=words[MAX_WORDS].offset,
            hint="split it, or use a recording rule",
        )
    depth = signs = 0
    for word in words:
        depth += (word.text in {"(", "[", "{"}) - (word.text in {")", "]", "}"} and depth > 0)
        signs = signs + 1 if word.text in {"+", "-"} else 0
        if depth > MAX_DEPTH or signs > MAX_DEPTH:
            return Mistake(
                kind="syntax",
                message=f"more than {MAX_DEPTH} levels of brackets or signs",
                offset=word.offset,
                hint="simplify it, or use a recording rule",
            )
    return None


def _mistakes(text: str, words: list[Token], message: str) -> tuple[Mistake, ...]:
    unknown = _UNKNOWN_FUNCTION.search(message)
    if unknown is not None:
        return _unknown_functions(words, unknown[1])
    escape = next((place for word in words if (place := _bad_escape(word)) is not None), None)
    if escape is not None and "escape" in message:
        hint = f"write \\\\{text[escape + 1]}, or the whole string in back-quotes"
        message, offset = f"\\{text[escape + 1]} is no escape", escape
    else:
        matrix = "a range such as [5m] goes inside a function such as rate(...) or avg_over_time(...)"
        hint, offset = matrix if "got matrix" in message else "", _culprit(text, words, message)
    return (Mistake(kind="syntax", message=message, offset=offset, hint=hint),)


def _culprit(text: str, words: list[Token], message: str) -> int:
    """Offset of what the message is about: what cannot be read, or the quoted word, else the start."""
    if words and words[-1].kind == "bad":
        return words[-1].offset
    if not words or "end of input" in message or "unclosed" in message:
        return len(text.rstrip())
    quoted = _QUOTED.search(message)
    said = (quoted[1] or quoted[2]) if quoted is not None else ""
    return next((word.offset for word in words if said and word.text.startswith(said)), _first(words))


def _unknown_functions(words: list[Token], name: str) -> tuple[Mistake, ...]:
    offset = next((word.offset for word in words if word.text == name), _first(words))
    if name in RENAMED:
        message, hint = f"{name} has another name since Prometheus 3", f"write {RENAMED[name]}"
        return (Mistake(kind="renamed", message=message, offset=offset, hint=hint),)
    message = f"the function {name} is not known"
    hint = did_you_mean(name, FUNCTIONS | AGGREGATIONS)
    hint = hint or "check its spelling; if the source is no Prometheus, write source.dialect: Other"
    return (Mistake(kind="function", message=message, offset=offset, hint=hint),)
