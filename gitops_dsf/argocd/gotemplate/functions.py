"""Functions that a template of Argo CD can call: their names, arguments and results.

These are the functions of sprig v3 and Argo CD's own, without `env`, `expandenv` and
`getHostByName`, which Argo CD removes (applicationset/utils/utils.go, 3.6.1). `api.json` has the
names of all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Signature:
    """Kinds of the arguments, of further ones, and of the result.

    An empty kind of the result is that of an argument.
    """

    takes: tuple[str, ...]
    gives: str
    rest: str = ""
    min_rest: int = 0
    """The smallest number of further arguments."""


_OF_TEXT: Final = Signature(("text",), "text")
_OF_TWO_TEXTS: Final = Signature(("text", "text"), "text")
_IS_TRUE_OF_TEXTS: Final = Signature(("text", "text"), "bool")
_OF_ANY: Final = Signature((), "text", rest="any")
_ONE_OF_ITS_ARGUMENTS: Final = Signature(("any",), "", rest="any")
_IS_TRUE: Final = Signature(("any",), "bool")
_OF_NUMBER_AND_TEXT: Final = Signature(("number", "text"), "text")

SIGNATURES: Final[Mapping[str, Signature]] = {
    "adler32sum": _OF_TEXT,
    "and": _ONE_OF_ITS_ARGUMENTS,
    "b64enc": _OF_TEXT,
    "base": _OF_TEXT,
    "camelcase": _OF_TEXT,
    "cat": _OF_ANY,
    "clean": _OF_TEXT,
    "coalesce": Signature((), "", rest="any"),
    "contains": _IS_TRUE_OF_TEXTS,
    "default": _ONE_OF_ITS_ARGUMENTS,
    "dir": _OF_TEXT,
    "empty": _IS_TRUE,
    "eq": Signature(("any",), "bool", rest="any", min_rest=1),
    "ext": _OF_TEXT,
    "hasPrefix": _IS_TRUE_OF_TEXTS,
    "hasSuffix": _IS_TRUE_OF_TEXTS,
    "indent": _OF_NUMBER_AND_TEXT,
    "initials": _OF_TEXT,
    "kebabcase": _OF_TEXT,
    "lower": _OF_TEXT,
    "ne": Signature(("any", "any"), "bool"),
    "nindent": _OF_NUMBER_AND_TEXT,
    "normalize": _OF_TEXT,
    "nospace": _OF_TEXT,
    "not": _IS_TRUE,
    "or": _ONE_OF_ITS_ARGUMENTS,
    "print": _OF_ANY,
    "printf": Signature(("text",), "text", rest="any"),
    "quote": _OF_ANY,
    "regexMatch": _IS_TRUE_OF_TEXTS,
    "repeat": _OF_NUMBER_AND_TEXT,
    "replace": Signature(("text", "text", "text"), "text"),
    "sha1sum": _OF_TEXT,
    "sha256sum": _OF_TEXT,
    "sha512sum": _OF_TEXT,
    # It takes anything, and Argo CD 3.6.1 panics for what does not fit (SlugifyName in
    # applicationset/utils/utils.go): the text is last, and before it a length and a bool.
    "slugify": Signature((), "text", rest="any"),
    "snakecase": _OF_TEXT,
    "squote": _OF_ANY,
    "swapcase": _OF_TEXT,
    "ternary": Signature(("any", "any", "bool"), ""),
    "title": _OF_TEXT,
    "toString": Signature(("any",), "text"),
    "trim": _OF_TEXT,
    "trimAll": _OF_TWO_TEXTS,
    "trimPrefix": _OF_TWO_TEXTS,
    "trimSuffix": _OF_TWO_TEXTS,
    "trimall": _OF_TWO_TEXTS,  # sprig's old name of trimAll
    "trunc": _OF_NUMBER_AND_TEXT,
    "until": Signature(("number",), "list"),
    "untilStep": Signature(("number", "number", "number"), "list"),
    "untitle": _OF_TEXT,
    "upper": _OF_TEXT,
    "urlquery": _OF_ANY,
}
"""Signatures by name. Arguments and results of other functions are unknown."""
KEEPS_EMPTY: Final = frozenset(
    {
        "b64enc",
        "camelcase",
        "initials",
        "kebabcase",
        "lower",
        "normalize",
        "nospace",
        "snakecase",
        "swapcase",
        "title",
        "toString",
        "trim",
        "untitle",
        "upper",
    }
)
"""Functions of one text that give an empty one for an empty one."""
FALLS_BACK: Final = frozenset({"coalesce", "default", "or"})
"""Functions that give another text in place of an empty one."""
MAKES_KEYS: Final = frozenset(
    {
        "bcrypt",
        "derivePassword",
        "genCA",
        "genCAWithKey",
        "genPrivateKey",
        "genSelfSignedCert",
        "genSelfSignedCertWithKey",
        "genSignedCert",
        "genSignedCertWithKey",
        "htpasswd",
    }
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
        "shuffle",
        "uuidv4",
    }
)
"""Functions that give something else with each call."""


def common_kind(name: str, kinds: tuple[str, ...]) -> str:
    """The kind of what a function gives that gives one of its arguments; "any" if they differ."""
    # The last argument of ternary is the condition.
    results = set(kinds[:2]) if name == "ternary" else set(kinds)
    return results.pop() if len(results) == 1 else "any"
