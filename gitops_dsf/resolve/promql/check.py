"""Checks one PromQL expression: returns the syntax tree, or the mistake and its place.

The native parser gives no positions. So a lexer, just good enough for that, counts tokens and finds
where each starts. The native parser decides which functions exist; they are listed here to suggest
one for a misspelt name.

Guaranteed: a text that is too long or nested too deeply for the native parser is refused before the
parser sees it. Not guaranteed: that the labels or types of series are right, because those are in
the data.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import promql_parser

from dsf_wire.text import printable
from gitops_dsf.diagnostics import Mistake
from gitops_dsf.wording import did_you_mean

Tree = Any
"""An expression of promql_parser, which has no types."""
MAX_WORDS: Final = 2000
"""Tokens of one expression."""
MAX_DEPTH: Final = 60
"""Levels of brackets, or signs in a row.

The native parser recurses: ten thousand brackets, or twenty thousand comments, crash the process.
"""
MAX_EXPRESSION: Final = 16_384
"""Characters of one expression."""
MAX_QUERY: Final = 65_536
"""Characters of a query. Prometheus and proxies reject a longer request line."""

RENAMED: Final[Mapping[str, str]] = {"holt_winters": "double_exponential_smoothing"}
"""Functions of Prometheus 2, and what they are called since Prometheus 3."""
_FUNCTIONS: Final = """
    abs absent absent_over_time acos acosh asin asinh atan atanh avg_over_time ceil changes
    clamp clamp_max clamp_min cos cosh count_over_time day_of_month day_of_week day_of_year
    days_in_month deg delta deriv double_exponential_smoothing end exp first_over_time floor
    histogram_avg histogram_count histogram_fraction histogram_quantile histogram_quantiles
    histogram_stddev histogram_stdvar histogram_sum hour idelta increase info integral irate
    label_join label_replace last_over_time ln log10 log2 mad_over_time max_over_time
    min_over_time minute month pi predict_linear present_over_time quantile_over_time rad
    range rate resets round scalar sgn sin sinh sort sort_by_label sort_by_label_desc
    sort_desc sqrt start stddev_over_time stdvar_over_time step sum_over_time tan tanh time
    timestamp ts_of_first_over_time ts_of_last_over_time ts_of_max_over_time
    ts_of_min_over_time vector year
"""
FUNCTIONS: Final = frozenset(_FUNCTIONS.split())
_AGGREGATIONS: Final = """
    sum avg count min max group stddev stdvar topk bottomk count_values quantile limitk limit_ratio
"""
AGGREGATIONS: Final = frozenset(_AGGREGATIONS.split())
BINARY: Final = frozenset(
    ["+", "-", "*", "/", "%", "^", "==", "!=", "<", ">", "<=", ">=", "and", "or", "unless", "atan2"]
)
# Durations come before numbers, because 5m begins like a number.
_TOKEN: Final = re.compile(
    r"""
    (?P<blank>\s+|\#[^\n]*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)
  | (?P<duration>(?:[0-9]+(?:ms|[smhdwy]))+(?![0-9a-zA-Z_]))
  | (?P<number>0[xX][0-9a-fA-F_]+
      |[0-9][0-9_]*(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?
      |\.[0-9]+(?:[eE][-+]?[0-9]+)?)
  | (?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)
  | (?P<operator>==|!=|<=|>=|=~|!~|[-+*/%^<>=!@,:;(){}\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)
_UNKNOWN_FUNCTION: Final = re.compile(r"unknown function with name '([^']*)'")
_QUOTED: Final = re.compile(r"'([^']+)'|syntax: (\S+)$")
"""The text that a message of the parser quotes."""
_OPENED_BY: Final[Mapping[str, str]] = {")": "(", "]": "[", "}": "{"}
_ESCAPE: Final = re.compile(
    r"\\(?:[abfnrtv\\'\"]|[0-7]{3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(?P<bad>\\.)",
    re.DOTALL,
)


class Token(NamedTuple):
    """A token and its 0-based offset."""

    kind: str
    """string, duration, number, name, operator, or bad for what is none of them."""
    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class QueryMistake(Mistake):
    """A mistake in a PromQL expression."""

    offset: int = 0
    kind: Literal["syntax", "function", "renamed", "result"] = "syntax"
    """`function`: Prometheus has no such function. `renamed`: only Prometheus 2 has the function.
    `result`: a range query cannot return such a value.
    """


class ParsedQuery(NamedTuple):
    """The tree of an expression that parses; None otherwise and after an unknown function."""

    tree: Tree
    mistakes: tuple[QueryMistake, ...] = ()


def check(text: str) -> ParsedQuery:
    """Parses one expression (not a `;` list). Never raises."""
    if len(text) > MAX_EXPRESSION:
        message = f"more than {MAX_EXPRESSION} characters in one expression"
        return ParsedQuery(None, (QueryMistake(message, "use recording rules", MAX_EXPRESSION),))
    words = tokens(text, limit=MAX_WORDS + 1)
    text = _without_raw_backslashes(text, words)
    excess = _too_much(words)
    if excess is not None:
        return ParsedQuery(None, (excess,))
    try:
        tree = _parse(text)
    except ValueError as error:
        return ParsedQuery(None, (_mistake(text, words, printable(error, max_characters=200)),))
    # It parses, and only a query of a range refuses it: Prometheus 3 answers with an error 400.
    wrong_result = _wrong_result(tree, words)
    if wrong_result is not None:
        return ParsedQuery(None, (wrong_result,))
    return ParsedQuery(tree)


def tokens(text: str, *, limit: int) -> list[Token]:
    """The tokens of an expression; the last one is invalid (kind bad), or number `limit`."""
    words: list[Token] = []
    index = 0
    in_range = False
    while index < len(text) and len(words) < limit:
        match = _TOKEN.match(text, index)
        if match is None:
            words.append(Token("bad", text[index], index))
            break
        kind = match.lastgroup or "bad"
        word = match[0]
        if word[0] == ":" and in_range:  # elsewhere, a colon starts the name of a recording rule
            kind = "operator"
            word = ":"
        in_range = word == "[" or (in_range and word != "]")
        if kind != "blank":
            words.append(Token(kind, word, index))
        index += len(word)
    return words


def _parse(text: str) -> Tree:
    """Returns the tree.

    Raises ValueError, also for a panic of the native parser, no Exception itself.
    """
    try:
        return promql_parser.parse(text)
    # PyO3 derives PanicException from BaseException, and gives no module to import it from.
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise ValueError("the parser cannot read this query") from error
        raise


def _without_raw_backslashes(text: str, words: Sequence[Token]) -> str:
    """Replaces back-quoted strings: the parser finds escapes there, and Prometheus does not."""
    if "`" not in text or "\\" not in text:
        return text
    for word in words:
        if word.kind == "string" and word.text[0] == "`" and "\\" in word.text:
            # The replacement has the same length, so that offsets of mistakes stay right.
            end = word.offset + len(word.text)
            text = f"{text[: word.offset]}`{'x' * (len(word.text) - 2)}`{text[end:]}"
    return text


def _too_much(words: Sequence[Token]) -> QueryMistake | None:
    """The reason why the native parser could crash on a text; empty if it cannot."""
    if len(words) > MAX_WORDS:
        return QueryMistake(
            f"more than {MAX_WORDS} words in one expression",
            "split it, or use a recording rule",
            words[MAX_WORDS].offset,
        )
    depth = 0
    signs = 0
    for word in words:
        if word.text in _OPENED_BY.values():
            depth += 1
        elif word.text in _OPENED_BY and depth > 0:
            depth -= 1
        # The parser recurses at each sign, too, as in ------x.
        signs = signs + 1 if word.text in {"+", "-"} else 0
        if depth > MAX_DEPTH or signs > MAX_DEPTH:
            return QueryMistake(
                f"more than {MAX_DEPTH} levels of brackets or signs",
                "simplify it, or use a recording rule",
                word.offset,
            )
    return None


def _wrong_result(tree: Tree, words: Sequence[Token]) -> QueryMistake | None:
    """The mistake of an expression whose value a range query cannot return."""
    match type(tree).__name__:
        case "MatrixSelector" | "SubqueryExpr":
            return QueryMistake(
                "the query returns a range vector, and needs to return an instant vector or a"
                " number",
                "wrap it in a function such as rate(...) or avg_over_time(...)",
                _first(words),
                "result",
            )
        case "StringLiteral":
            return QueryMistake(
                "the query returns a string, and needs to return an instant vector or a number",
                "",
                _first(words),
                "result",
            )
    return None


def _mistake(text: str, words: Sequence[Token], message: str) -> QueryMistake:
    """The mistake that the native parser reports, at its place."""
    unknown = _UNKNOWN_FUNCTION.search(message)
    if unknown is not None:
        return _unknown_function(words, unknown[1])
    # The parser quotes only the character of a bad escape, which may occur many times before.
    escape = _first_bad_escape(words)
    if escape is not None and "escape" in message:
        character = text[escape + 1]
        return QueryMistake(
            f"\\{character} is not a valid escape sequence",
            f"write \\\\{character}, or the whole string in back-quotes",
            escape,
        )
    if "got matrix" in message:
        hint = "a range such as [5m] goes inside a function such as rate(...) or avg_over_time(...)"
        return QueryMistake(message, hint, _culprit(text, words, message))
    return QueryMistake(message, "", _culprit(text, words, message))


def _first_bad_escape(words: Sequence[Token]) -> int | None:
    """Offset of the first backslash in a quoted string that starts no valid escape."""
    for word in words:
        if word.kind != "string" or word.text[0] == "`":
            continue
        for escape in _ESCAPE.finditer(word.text):
            if escape["bad"]:
                return word.offset + escape.start()
    return None


def _first(words: Sequence[Token]) -> int:
    return words[0].offset if words else 0


def _culprit(text: str, words: Sequence[Token], message: str) -> int:
    """Offset of what the message is about: the unreadable or quoted word, else the start."""
    if words and words[-1].kind == "bad":
        return words[-1].offset
    # A missing part belongs at the end.
    if not words or "end of input" in message or "unclosed" in message:
        return len(text.rstrip())
    match = _QUOTED.search(message)
    quoted = (match[1] or match[2]) if match is not None else ""
    if not quoted:
        return _first(words)
    if quoted in _OPENED_BY:
        unopened = _unopened(words)
        if unopened is not None:
            return unopened
    for word in words:
        if word.text.startswith(quoted):
            return word.offset
    return _first(words)


def _unopened(words: Sequence[Token]) -> int | None:
    """Offset of the first closing bracket that closes nothing. Those in strings are not tokens."""
    opened: list[str] = []
    for word in words:
        if word.text in _OPENED_BY.values():
            opened.append(word.text)
        elif word.text in _OPENED_BY and (not opened or opened.pop() != _OPENED_BY[word.text]):
            return word.offset
    return None


def _unknown_function(words: Sequence[Token], name: str) -> QueryMistake:
    offset = next((word.offset for word in words if word.text == name), _first(words))
    # The native parser is of Prometheus 3. A source with Prometheus 2 may still know the name, so
    # this is a finding of its own.
    if name in RENAMED:
        message = f"{name} has another name since Prometheus 3"
        return QueryMistake(message, f"write {RENAMED[name]}", offset, "renamed")
    return QueryMistake(
        f"the function {name} is not known",
        did_you_mean(name, FUNCTIONS | AGGREGATIONS)
        or "check its spelling; if the source is not a Prometheus, write source.dialect: Other",
        offset,
        "function",
    )
