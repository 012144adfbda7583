"""Splits a ``query`` string into PromQL expressions, which are joined by ``;``."""

from dataclasses import dataclass

_QUOTES = "\"'`"
_OPENERS = {"(": ")", "{": "}", "[": "]"}


@dataclass(frozen=True, kw_only=True)
class Part:
    """One expression, and its 0-based character offset in the joined string, after white space."""

    text: str
    offset: int


def split(query: str) -> list[Part]:
    """The expressions of a joined query in order. Empty ones, such as after a trailing ``;``, are left out.

    A ``;`` in a string, in brackets or in a ``#`` comment is no separator. Unbalanced brackets never fail
    here: the PromQL parser reports them with a position.
    """
    parts: list[Part] = []
    start = index = 0
    depth = 0
    while index < len(query):
        char = query[index]
        if char in _QUOTES:
            index = _string_end(query, index)
            continue
        if char == "#":
            end = query.find("\n", index)
            index = len(query) if end < 0 else end
            continue
        if char in _OPENERS:
            depth += 1
        elif char in _OPENERS.values():
            depth = max(0, depth - 1)
        elif char == ";" and depth == 0:
            _append(parts, query, start, index)
            start = index + 1
        index += 1
    _append(parts, query, start, len(query))
    return parts


def _append(parts: list[Part], query: str, start: int, end: int) -> None:
    text = query[start:end]
    stripped = text.strip()
    if stripped:
        parts.append(Part(text=stripped, offset=start + len(text) - len(text.lstrip())))


def _string_end(query: str, start: int) -> int:
    """Index after the string that starts at `start`. PromQL escapes with a backslash, except in back-quoted
    strings.
    """
    quote = query[start]
    index = start + 1
    while index < len(query):
        if query[index] == "\\" and quote != "`":
            index += 2
            continue
        if query[index] == quote:
            return index + 1
        index += 1
    return len(query)
