"""The words of PromQL: its functions, to suggest for misspelt ones, aggregations and binary operators, and a
lexer that is just good enough to count tokens and find where each starts. The native parser decides which
functions exist.
"""

import re
from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True, slots=True)
class Token:
    """A token and its 0-based offset. `kind` is string, duration, number, name, operator, or bad."""

    kind: str
    text: str
    offset: int

    @property
    def end(self) -> int:
        """Offset after the token."""
        return self.offset + len(self.text)


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
