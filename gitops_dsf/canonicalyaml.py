"""Emits plain data as canonical YAML that YAML 1.1 and 1.2 parsers read alike.

Keys keep their order. A string is plain only if no parser could read it as another type. Texts of
several lines are literal blocks.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+=-]*(?::[A-Za-z0-9_./@+=-]+)*")
_WORDS = frozenset(
    {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nil", "nan", "inf"}
)
# Characters that YAML requires to be escaped, and line breaks other than \n.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)


def emit(value: Mapping[str, Any]) -> str:
    """One YAML document, ending in a newline.

    It may hold str, bool, int, float, None, mappings and sequences.
    """
    if not value:
        return "{}\n"
    lines: list[str] = []
    _mapping(value, 0, lines)
    return "\n".join(lines) + "\n"


@lru_cache(maxsize=4096)
def scalar(text: str) -> str:
    """Formats a string on one line: plain if that is safe, else double-quoted."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return _UNPRINTABLE.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _mapping(value: Mapping[str, Any], indent: int, lines: list[str]) -> None:
    pad = " " * indent
    for key, item in value.items():
        _entry(f"{pad}{scalar(key)}:", item, indent, lines)


def _entry(head: str, item: Any, indent: int, lines: list[str]) -> None:  # noqa: ANN401 - any plain value
    # Strings first: most values are strings, and the check for Mapping takes ten times as long.
    if isinstance(item, str):
        if is_block(item):
            lines.append(f"{head} |" if item.endswith("\n") else f"{head} |-")
            pad = " " * (indent + 2)
            body = item.removesuffix("\n")
            lines.extend(pad + line if line else "" for line in body.split("\n"))
        else:
            lines.append(f"{head} {scalar(str(item))}")
    elif isinstance(item, Mapping):
        if item:
            lines.append(head)
            _mapping(item, indent + 2, lines)
        else:
            lines.append(f"{head} {{}}")
    elif isinstance(item, Sequence):
        if item:
            lines.append(head)
            _sequence(item, indent, lines)
        else:
            lines.append(f"{head} []")
    else:
        lines.append(f"{head} {_scalar(item)}")


def _sequence(items: Sequence[Any], indent: int, lines: list[str]) -> None:
    pad = " " * indent
    for item in items:
        if isinstance(item, Mapping) and item:
            start = len(lines)
            _mapping(item, indent + 2, lines)
            lines[start] = f"{pad}- {lines[start][indent + 2 :]}"
        elif isinstance(item, Sequence) and not isinstance(item, str) and item:
            start = len(lines)
            _sequence(item, indent + 2, lines)
            lines[start] = f"{pad}- {lines[start][indent + 2 :]}"
        else:
            _entry(f"{pad}-", item, indent, lines)


def is_block(text: str) -> bool:
    """Whether a literal block can hold a text, so that every parser reads the same."""
    if "\n" not in text or _UNPRINTABLE.search(text) or "\t" in text:
        return False
    # A leading blank or line break would need an indentation indicator, further trailing line
    # breaks a keep indicator.
    return not text.startswith((" ", "\n")) and not text.endswith("\n\n")


def _scalar(value: Any) -> str:  # noqa: ANN401 - any plain value
    if not isinstance(value, bool | int | float | None) or (
        isinstance(value, float) and not isfinite(value)
    ):
        msg = f"cannot write {value!r:.60} as YAML"
        raise ValueError(msg)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    # JSON writes all of them as YAML does, except 1e-07: YAML 1.1 requires a dot and a sign.
    mantissa, e, exponent = json.dumps(value).partition("e")
    if not isinstance(value, float) or not e:
        return f"{mantissa}{e}{exponent}"
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{mantissa}e{exponent if exponent[0] in '+-' else f'+{exponent}'}"
