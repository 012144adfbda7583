"""Emits plain data as canonical YAML that YAML 1.1 and 1.2 parsers read alike.

Guaranteed: keys keep their order, and equal data gives equal bytes. A string is plain only if no
parser could read it as another type. Texts of several lines are literal blocks, so that a diff
shows one line of them.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+=-]*(?::[A-Za-z0-9_./@+=-]+)*")
# YAML 1.1 reads the first of them as booleans, such as the country `no`.
_WORDS = frozenset(
    {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nil", "nan", "inf"}
)
# Nearly all are dicts, lists and tuples, and to ask for an abstract class takes ten times as long.
_MAPPING = (dict, Mapping)
_SEQUENCE = (list, tuple, Sequence)
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


def _mapping(mapping: Mapping[str, Any], indent: int, lines: list[str]) -> None:
    pad = " " * indent
    for key, value in mapping.items():
        _entry(f"{pad}{scalar(key)}:", value, indent, lines)


def _entry(
    head: str,
    value: Any,  # noqa: ANN401 - any plain value
    indent: int,
    lines: list[str],
) -> None:
    # Strings first, because most values are strings.
    if isinstance(value, str):
        if is_block(value):
            _block(head, value, indent, lines)
        else:
            # str(): a StrEnum is not written as its name.
            lines.append(f"{head} {scalar(str(value))}")
    elif isinstance(value, _MAPPING):
        if value:
            lines.append(head)
            _mapping(value, indent + 2, lines)
        else:
            lines.append(f"{head} {{}}")
    elif isinstance(value, _SEQUENCE):
        if value:
            lines.append(head)
            _sequence(value, indent, lines)
        else:
            lines.append(f"{head} []")
    else:
        lines.append(f"{head} {_scalar(value)}")


def _block(head: str, text: str, indent: int, lines: list[str]) -> None:
    # `|` keeps the last line break, `|-` drops it.
    if text.endswith("\n"):
        lines.append(f"{head} |")
    else:
        lines.append(f"{head} |-")
    pad = " " * (indent + 2)
    for line in text.removesuffix("\n").split("\n"):
        # An empty line is not indented, so no line ends in blanks.
        if line:
            lines.append(pad + line)
        else:
            lines.append("")


def _sequence(sequence: Sequence[Any], indent: int, lines: list[str]) -> None:
    pad = " " * indent
    for value in sequence:
        start = len(lines)
        if isinstance(value, _MAPPING) and value:
            _mapping(value, indent + 2, lines)
        elif isinstance(value, _SEQUENCE) and not isinstance(value, str) and value:
            _sequence(value, indent + 2, lines)
        else:
            _entry(f"{pad}-", value, indent, lines)
            continue
        # The dash stands in the indentation of the first line.
        lines[start] = f"{pad}- {lines[start][indent + 2 :]}"


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
        raise ValueError(f"cannot write {value!r:.60} as YAML")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    # JSON writes all of them as YAML does, except 1e-07: YAML 1.1 requires a dot and a sign.
    text = json.dumps(value)
    mantissa, e, exponent = text.partition("e")
    if not isinstance(value, float) or not e:
        return text
    if "." not in mantissa:
        mantissa = f"{mantissa}.0"
    if exponent[0] not in "+-":
        exponent = f"+{exponent}"
    return f"{mantissa}e{exponent}"
