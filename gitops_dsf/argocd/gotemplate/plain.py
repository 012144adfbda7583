"""Functions that a template may call: cheap ones whose result is about as long as what they are given."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Read = tuple[str, str]
"""The name of a map of texts, and of a text in it."""
_VERBS: Final = re.compile(r"%[sdvqt%]")


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a value: its kind ("text", "number", "bool", "map", "texts" for a map of texts by any
    name, "mixed" for one of several, or "any"), the most characters that it (or a text of the map) has when
    it is written out, and what it is if it is a constant.
    """

    kind: str
    size: int = 0
    constant: str | int | bool | None = None
    lacking: tuple[int, Read] | None = None
    """Where the template reads it, if it is an empty text because a cluster lacks it."""


Size = Callable[[Sequence[Value]], int]


@dataclass(frozen=True, slots=True)
class Plain:
    """A function: kinds of its arguments, of further ones (`rest`) and of its result (empty: an argument)."""

    takes: tuple[str, ...]
    gives: str
    size: Size
    rest: str = ""
    least: int = 0
    """How many of the further arguments there must be."""


def _times(factor: int) -> Size:
    return lambda given: factor * sum(one.size for one in given) + 2 * len(given)


def _at_most(limit: int) -> Size:
    return lambda _: limit


def _shorter(given: Sequence[Value]) -> int:
    number, text = given[0].constant, given[-1].size
    return min(number, text) if isinstance(number, int) and number >= 0 else text


def _replaced(given: Sequence[Value]) -> int:
    old, new, text = given
    if isinstance(old.constant, str) and old.constant:
        return text.size + text.size // len(old.constant) * new.size
    return (text.size + 1) * (new.size + 1)


def _longest(given: Sequence[Value]) -> int:
    return max((one.size for one in given), default=0)


def _last(given: Sequence[Value]) -> int:
    return given[-1].size


_TEXT: Final = ("text",)
_TEXTS: Final = ("text", "text")
PLAIN: Final[Mapping[str, Plain]] = {
    **dict.fromkeys(
        (
            *("base", "camelcase", "clean", "dir", "ext", "initials", "kebabcase", "lower", "normalize"),
            *("nospace", "snakecase", "swapcase", "title", "trim", "untitle", "upper"),
        ),
        Plain(_TEXT, "text", _times(2)),
    ),
    "b64enc": Plain(_TEXT, "text", _times(6)),
    **dict.fromkeys(("trimAll", "trimPrefix", "trimSuffix", "trimall"), Plain(_TEXTS, "text", _last)),
    **dict.fromkeys(("contains", "hasPrefix", "hasSuffix"), Plain(_TEXTS, "bool", _at_most(5))),
    **dict.fromkeys(("adler32sum", "sha1sum", "sha256sum", "sha512sum"), Plain(_TEXT, "text", _at_most(128))),
    **dict.fromkeys(("quote", "squote", "urlquery"), Plain((), "text", _times(12), rest="any")),
    **dict.fromkeys(("cat", "print"), Plain((), "text", _times(2), rest="any")),
    "eq": Plain(("any",), "bool", _at_most(5), rest="any", least=1),
    "ne": Plain(("any", "any"), "bool", _at_most(5)),
    **dict.fromkeys(("and", "default", "or"), Plain(("any",), "", _longest, rest="any")),
    "coalesce": Plain((), "", _longest, rest="any"),
    "empty": Plain(("any",), "bool", _at_most(5)),
    "len": Plain(_TEXT, "number", _at_most(20)),
    "not": Plain(("any",), "bool", _at_most(5)),
    "printf": Plain(_TEXT, "text", _times(10), rest="any"),
    "replace": Plain(("text", "text", "text"), "text", _replaced),
    "slugify": Plain((), "text", _times(4), rest="any"),
    "ternary": Plain(("any", "any", "bool"), "", _longest),
    "toString": Plain(("any",), "text", _times(2)),
    "trunc": Plain(("number", "text"), "text", _shorter),
}
"""By name. docs/reference/generator.md lists them for authors."""


FALLS_BACK: Final = frozenset({"coalesce", "default", "or"})
"""Functions that give another text in place of an empty one."""


def is_plain(name: str, given: Sequence[Value]) -> bool:
    """Whether a call is plain. The verbs of printf may have no width."""
    if name == "printf" and given:
        written = given[0].constant
        return isinstance(written, str) and "%" not in _VERBS.sub("", written)
    return name in PLAIN
