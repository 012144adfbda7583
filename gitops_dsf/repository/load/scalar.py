"""Resolves plain (unquoted) scalars, and finds those that YAML parsers read differently.

kubectl reads YAML with sigs.k8s.io/yaml, which follows YAML 1.1 with Go's number syntax. Editors,
CI tools and most libraries follow the core schema of YAML 1.2. A scalar is resolved to a type other
than string only if both agree.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MAX_DIGITS: Final = 18
"""Digits of an integer that every JSON reader on the way can hold (int64)."""

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_ON: Final = ("y", "Y", "yes", "Yes", "YES", "on", "On", "ON")
_OFF: Final = ("n", "N", "no", "No", "NO", "off", "Off", "OFF")
_SWITCHES: Final = {**dict.fromkeys(_ON, "true"), **dict.fromkeys(_OFF, "false")}
"""Words that YAML 1.1 reads as booleans, and YAML 1.2 as text."""
_FIRST: Final = frozenset("0123456789+-.~tTfFnNyYoO<=")
"""Every first character of a text that some parser reads as another type."""

_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]+|\.[0-9]+)([eE][-+][0-9]+)?|[-+]?[0-9]+[eE][-+][0-9]+")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LOOKS_NUMERIC = re.compile(
    r"[-+]?0[0-9_]+"  # 017: kubectl reads 15, YAML 1.2 reads 17
    r"|[-+]?0[bBoO][0-9a-fA-F_]+"  # 0o17, 0b11: a number in one, a string in the other
    r"|[-+]?0[xX][0-9a-fA-F_]+"
    r"|[-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9_]+)?"  # 1_000, 12e03, 1.
    r"|[-+]?\.[0-9_]+([eE][-+]?[0-9_]+)?"
)


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """An ambiguous plain scalar, and what it may mean if no string is meant."""

    why: str
    readings: tuple[str, ...] = ()
    """The values that readers make of it, each in a spelling that all of them read alike."""


Plain = str | int | float | bool | None


@lru_cache(maxsize=65_536)
def resolve_plain(text: str) -> Plain | Ambiguous:
    """Returns the value of a plain scalar, or why it must be quoted."""
    # Most texts of a fleet are names, and end here.
    if text and text[0] not in _FIRST:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text in _SWITCHES:
        meaning = _SWITCHES[text]
        return Ambiguous(f"{meaning} to kubectl and a string to YAML 1.2", (meaning,))
    if text in {"<<", "="}:
        return Ambiguous("it has a meaning of its own in YAML 1.1")
    return _number(text)


def _number(text: str) -> Plain | Ambiguous:
    if _DECIMAL.fullmatch(text):
        if len(text.lstrip("+-")) > MAX_DIGITS:
            return Ambiguous(
                "a number this long loses digits or becomes a float, depending on the reader"
            )
        return int(text)
    if len(text) <= MAX_DIGITS and _HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    if _NOT_FINITE.fullmatch(text):
        return Ambiguous("not a number that JSON, and so Kubernetes, can carry")
    if _FLOAT.fullmatch(text):
        value = float(text)
        # Python reads 1e999 as infinity, which JSON cannot say.
        if value in {float("inf"), float("-inf")}:
            return Ambiguous("this number is too large for a float")
        return value
    if _LOOKS_NUMERIC.fullmatch(text):
        return Ambiguous("YAML parsers read this as different numbers, or as text", _readings(text))
    return text


def _readings(text: str) -> tuple[str, ...]:
    """The numbers that readers see in a text, without duplicates; none if it is not certain."""
    digits = text.replace("_", "")
    if len(digits) > MAX_DIGITS:
        return ()
    try:
        if re.fullmatch(r"[-+]?0[0-7]+", digits):
            # YAML 1.2 reads 060 as 60, and kubectl (YAML 1.1) as the octal number 48.
            return tuple(dict.fromkeys((str(int(digits, 10)), str(int(digits, 8)))))
        if re.fullmatch(r"[-+]?0[xXoObB][0-9a-fA-F]+", digits):
            return (str(int(digits, 0)),)
        return (f"{float(digits):.15g}",)
    except (ValueError, OverflowError):
        return ()
