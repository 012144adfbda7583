"""Cuts a template into tokens, as the lexer of Go's package text/template does."""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Final

from gitops_dsf.argocd.gotemplate.mistakes import TemplateError

SPACES: Final = " \t\r\n"
KEYWORDS: Final = frozenset(
    {
        "block",
        "break",
        "continue",
        "define",
        "else",
        "end",
        "if",
        "nil",
        "range",
        "template",
        "with",
    }
)
_DIGITS: Final = "0123456789"
_ENDS_A_WORD: Final = frozenset(SPACES + ".,|:)(")
_SPACE: Final = re.compile(r"[ \t\r\n](?:(?![ \t\r\n]-\}\})[ \t\r\n])*")
"""The last blank before -}} belongs to that."""
_STRING: Final = re.compile(r"""(["'])(?:\\[^\n]|(?!\1)[^\\\n])*\1|`[^`]*`""")
_NUMBER: Final = re.compile(r"[+-]?[0-9.][0-9a-zA-Z_.+]*|[+-]")
_INSIDE: Final = re.compile(r"(?<![\w)])\.(\w+)\.(\w[\w.]*)$")
"""A name inside a parameter."""
_NAME: Final = re.compile(r"[\w./-]*")
_MAX_NAME: Final = 320
"""Characters of a name that a hint repeats: those of the longest label."""


@dataclass(frozen=True, slots=True)
class TemplateToken:
    """A piece of a template; `kind` is what the lexer takes it for, or the sign itself."""

    kind: str
    value: str
    offset: int


def tokens(text: str) -> Iterator[TemplateToken]:
    """The tokens of the actions of a template. Raises TemplateError at what is none."""
    position = 0
    while (start := text.find("{{", position)) >= 0:
        # Go takes {{- for a sign only with white space behind it: {{-3}} writes a number.
        trims = text[start + 2 : start + 3] == "-" and text[start + 3 : start + 4] in tuple(SPACES)
        inside = start + (4 if trims else 2)
        if text.startswith("/*", inside):
            position = _comment(text, start, inside)
            continue
        yield TemplateToken("open", "{{", start)
        position = yield from _action(text, start, inside)
    yield TemplateToken("end", "", len(text))


def _comment(text: str, start: int, body: int) -> int:
    """The offset behind a comment."""
    end = text.find("*/", body + 2)
    if end < 0:
        raise TemplateError("the comment has no end", start, "write */}} behind it")
    close = _close(text, end + 2)
    if close is None:
        raise TemplateError(
            "something stands between the comment and }}",
            end + 2,
            "a comment has an action of its own: {{/* ... */}}",
        )
    return close


def _close(text: str, at: int) -> int | None:
    """The offset behind the action; None if the action does not end here."""
    if text.startswith("}}", at):
        return at + 2
    trims = text[at : at + 1] in tuple(SPACES) and text.startswith("-}}", at + 1)
    return at + 4 if trims else None


def _action(text: str, start: int, at: int) -> Generator[TemplateToken, None, int]:
    """The tokens of one action. Returns where the text goes on behind it."""
    depth = 0
    while True:
        close = _close(text, at)
        if close is not None:
            if depth:
                raise TemplateError("( has no )", at, "write ) before }}")
            yield TemplateToken("close", text[at:close], at)
            return close
        if at >= len(text):
            raise TemplateError("the action has no end", start, "write }} behind it")
        token = _token(text, at)
        if token.kind == "(":
            depth += 1
        elif token.kind == ")":
            depth -= 1
        if depth < 0:
            raise TemplateError(") has no (", at, "remove it")
        yield token
        at += len(token.value)


def _token(text: str, at: int) -> TemplateToken:
    """The token that begins here."""
    sign = text[at]
    if space := _SPACE.match(text, at):
        return TemplateToken("space", space[0], at)
    if sign in "\"'`":
        literal = _STRING.match(text, at)
        if literal is None:
            raise TemplateError(
                f"{sign} has no second one", at, f"write {sign} where the text ends"
            )
        # A character in single quotes is a number for Go.
        return TemplateToken("number" if sign == "'" else "string", literal[0], at)
    if sign == "$":
        return TemplateToken("variable", _word(text, at, at + 1), at)
    if sign == "." and text[at + 1 : at + 2] not in tuple(_DIGITS):
        value = _word(text, at, at + 1)
        return TemplateToken("field" if len(value) > 1 else "dot", value, at)
    # The parser decides whether it is a number that Go accepts: 5x and 089 are cut like one.
    if sign in "+-." or sign in _DIGITS:
        number = _NUMBER.match(text, at)
        return TemplateToken("number", number[0] if number is not None else sign, at)
    if _is_alphanumeric(sign):
        value = _word(text, at, at)
        return TemplateToken(_kind_of_word(value), value, at)
    if sign == ":":
        if text[at + 1 : at + 2] != "=":
            raise TemplateError(": stands alone", at, "write :=")
        return TemplateToken(":=", ":=", at)
    if sign.isascii() and sign.isprintable():
        return TemplateToken(sign, sign, at)
    raise TemplateError(f"{sign!a} does not fit into an action", at)


def _kind_of_word(word: str) -> str:
    if word in KEYWORDS:
        return "keyword"
    return "bool" if word in {"true", "false"} else "word"


def _word(text: str, start: int, at: int) -> str:
    """The word that begins at `start`, whose characters up to `at` are known."""
    while at < len(text) and _is_alphanumeric(text[at]):
        at += 1
    if at < len(text) and text[at] not in _ENDS_A_WORD and not text.startswith("}}", at):
        word = text[start:at]
        hint = _hint_for_sign(text, at, word)
        raise TemplateError(f"{text[at]!a} cannot follow {word}", at, hint)
    return text[start:at]


def _hint_for_sign(text: str, at: int, word: str) -> str:
    """The hint for a word that goes on with a sign that no name in Go has."""
    if not word.startswith(".") or text[at] not in "-/":
        return "write a space before it"
    # Labels are often read so: .labels.topology.kubernetes.io/region
    field = _INSIDE.search(text[max(0, at - _MAX_NAME) : at])
    if field is None:
        return f'a name with {text[at]} in it is written index . "NAME"'
    rest = _NAME.findall(text[at : at + _MAX_NAME])[0]
    return f'write index .{field[1]} "{field[2]}{rest}"'


def _is_alphanumeric(sign: str) -> bool:
    return sign == "_" or sign.isalpha() or sign.isdecimal()
