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


def numbers(name: str, given: Sequence[Value]) -> list[int | None]:
    """The numbers by which a call says how much it writes.

    None stands for one that is not written there.
    """
    if name == "printf" and given and isinstance(given[0].constant, str):
        widths = (width for verb in _VERB.findall(given[0].constant) for width in verb if width)
        return [None if width == "*" else int(width) for width in widths]
    counted = given[_NUMBERS[name]] if name in _NUMBERS else ()
    return [
        abs(one.constant) if isinstance(one.constant, int) and one.kind == "number" else None
        for one in counted
    ]


def size(name: str, given: Sequence[Value], number: int) -> int:
    """About how many characters a call gives, when `number` is the sum of its numbers.

    Other functions are taken to give what they are given: that is not exact, and enough to find
    what grows without bound.
    """
    together = sum(one.size for one in given)
    match name:
        case "repeat":
            return number * given[-1].size
        case "replace" if given[0].constant == "":
            return (given[-1].size + 1) * given[1].size  # an empty text is between all characters
        case "indent" | "nindent":
            return together + number * (
                given[-1].size // 16 + 1
            )  # a line has 16 characters or more
        case "trunc" if isinstance(given[0].constant, int) and given[0].constant >= 0:
            return min(given[0].constant, together)
        case "seq" | "until" | "untilStep":
            return 8 * number
    return together + number
