"""Splits a ``query`` string into PromQL expressions, which are joined by ``;``."""

import re
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(
    r"""
    "(?:\\.|[^"\\])*"? | '(?:\\.|[^'\\])*'?  # strings, in which a backslash escapes
    | `[^`]*`?                                 # and those in which it does not
    | \#[^\n]*
    | [()\[\]{};]
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class QueryPart:
    """One expression, and its 0-based character offset in the joined string, after white space."""

    text: str
    offset: int


def split(query: str) -> list[QueryPart]:
    """The expressions in order, without empty ones.

    A ``;`` in strings, brackets or comments does not separate two.
    """
    # Upstream cuts at every `;`, which breaks matchers such as {path="a;b"}.
    ends = []
    depth = 0
    for token in _TOKEN.finditer(query):
        if token[0] in {"(", "[", "{"}:
            depth += 1
        elif token[0] in {")", "]", "}"}:
            # A stray bracket must not hide the separators after it. The store reports the bracket.
            depth = max(0, depth - 1)
        elif token[0] == ";" and depth == 0:
            ends.append(token.start())
    parts = []
    for start, end in zip((0, *(end + 1 for end in ends)), (*ends, len(query)), strict=True):
        text = query[start:end]
        if text.strip():
            parts.append(
                QueryPart(text=text.strip(), offset=start + len(text) - len(text.lstrip()))
            )
    return parts
