"""What is known of the functions that a template of Argo CD can call.

It says which arguments they take, and how much those write that are given a number.

It says which arguments they take, and how much those write that are given a number.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Read = tuple[str, str]
"""The name of a map of texts, and of a text in it."""


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a value.

    The kind is "text", "number", "bool", "map", "list", "texts" for a map of texts by any name, or
    "any". The size is about how many characters it (or a text of the map) has when it is written
    out.
    """

    kind: str
    size: int = 0
    constant: str | int | bool | None = None
    lacking: tuple[int, Read] | None = None
    """Where the template reads it, if it is an empty text because a cluster lacks it."""
    fields: Mapping[str, "Value"] | None = None
    """The values in a map, if all of them are known."""
    name: str = ""
    """The parameter that a map of texts is."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Kinds of the arguments, of further ones, and of the result.

    An empty kind of the result is that of an argument.

    An empty kind of the result is that of an argument.
    """

    takes: tuple[str, ...]
    gives: str
    rest: str = ""
    least: int = 0
    """How many of the further arguments there must be."""


_TEXT: Final = ("text",)
_TEXTS: Final = ("text", "text")
KEEPS_EMPTY: Final = frozenset(
    {"b64enc", "camelcase", "initials", "kebabcase", "lower", "normalize", "nospace", "snakecase"}
    | {"swapcase", "title", "toString", "trim", "untitle", "upper"}
)
"""Functions of one text that give an empty one for an empty one."""
SIGNATURES: Final[Mapping[str, Signature]] = {
    **dict.fromkeys(
        (
            *(
                "b64enc",
                "base",
                "camelcase",
                "clean",
                "dir",
                "ext",
                "initials",
                "kebabcase",
                "lower",
            ),
            *("normalize", "nospace", "snakecase", "swapcase", "title", "trim", "untitle", "upper"),
            *("adler32sum", "sha1sum", "sha256sum", "sha512sum"),
        ),
        Signature(_TEXT, "text"),
    ),
    **dict.fromkeys(("trimAll", "trimPrefix", "trimSuffix", "trimall"), Signature(_TEXTS, "text")),
    **dict.fromkeys(
        ("contains", "hasPrefix", "hasSuffix", "regexMatch"), Signature(_TEXTS, "bool")
    ),
    **dict.fromkeys(
        ("cat", "print", "quote", "squote", "urlquery"), Signature((), "text", rest="any")
    ),
    **dict.fromkeys(("and", "default", "or"), Signature(("any",), "", rest="any")),
    **dict.fromkeys(("empty", "not"), Signature(("any",), "bool")),
    **dict.fromkeys(
        ("indent", "nindent", "repeat", "trunc"), Signature(("number", "text"), "text")
    ),
    "coalesce": Signature((), "", rest="any"),
    "eq": Signature(("any",), "bool", rest="any", least=1),
    "ne": Signature(("any", "any"), "bool"),
    "printf": Signature(_TEXT, "text", rest="any"),
    "replace": Signature(("text", "text", "text"), "text"),
    "slugify": Signature((), "text", rest="any"),
    "ternary": Signature(("any", "any", "bool"), ""),
    "toString": Signature(("any",), "text"),
    "until": Signature(("number",), "list"),
    "untilStep": Signature(("number", "number", "number"), "list"),
}
"""By name. Nothing is said of the arguments of other functions, and what they give is of any kind.
"""
FALLS_BACK: Final = frozenset({"coalesce", "default", "or"})
"""Functions that give another text in place of an empty one."""
_INDENTS: Final = frozenset({"indent", "nindent"})
_LISTS: Final = frozenset({"seq", "until", "untilStep"})
_NUMBERS: Final[Mapping[str, slice]] = {
    **dict.fromkeys(("indent", "nindent", "repeat", "until"), slice(1)),
    **dict.fromkeys(
        ("randAlpha", "randAlphaNum", "randAscii", "randBytes", "randNumeric"), slice(1)
    ),
    "untilStep": slice(2),
    "seq": slice(None),
}
"""The arguments that say how much a function writes."""
MAKES_KEYS: Final = frozenset(
    {"bcrypt", "derivePassword", "genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert"}
    | {"genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey", "htpasswd"}
)
"""Functions that are slow on purpose, or search for prime numbers."""
DIFFERS: Final = frozenset(
    {
        "ago",
        "encryptAES",
        "now",
        "randAlpha",
        "randAlphaNum",
        "randAscii",
        "randBytes",
        "randInt",
        "randNumeric",
    }
    | {"shuffle", "uuidv4"}
)
"""Functions that give something else with each call."""
_VERB: Final = re.compile(r"%[-+# 0]*(\*|\d*)(?:\.(\*|\d*))?")


def numbers(name: str, arguments: Sequence[Value]) -> list[int | None]:
    """The numbers by which a call says how much it writes.

    None stands for one that is not written there.
    """
    if name == "printf" and arguments and isinstance(arguments[0].constant, str):
        verbs = _VERB.findall(arguments[0].constant)
        widths = [width for verb in verbs for width in verb if width]
        return [None if width == "*" else int(width) for width in widths]
    counted = arguments[_NUMBERS[name]] if name in _NUMBERS else ()
    return [_number(argument) for argument in counted]


def _number(argument: Value) -> int | None:
    if argument.kind == "number" and isinstance(argument.constant, int):
        return abs(argument.constant)
    return None


def size(name: str, arguments: Sequence[Value], number: int) -> int:
    """About how many characters a call gives, when `number` is the sum of its numbers.

    Other functions are taken to give what they are given. That is not exact, and enough to find
    what grows without bound.
    """
    together = sum(argument.size for argument in arguments)
    if name == "repeat":
        return number * arguments[-1].size
    if name in _LISTS:
        return number * 8  # A number of a list has eight digits or fewer.
    if name in _INDENTS:
        # Each line gets the indentation. A line is taken to have 16 characters or more.
        return together + number * (arguments[-1].size // 16 + 1)
    if name == "replace" and arguments[0].constant == "":
        # Go puts the new text between all characters.
        return (arguments[-1].size + 1) * arguments[1].size
    return together + number
