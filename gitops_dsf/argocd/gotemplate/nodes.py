"""The parts of a template: tokens, as Go's package text/template cuts it, and parsed nodes."""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias
from typing import Literal as OneOf


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. A number that is not whole and decimal, and nil, are None."""

    offset: int
    value: str | int | bool | None
    kind: OneOf["text", "number", "bool", "nil"]


@dataclass(frozen=True, slots=True)
class Field:
    """`.a.b`; `.` alone has no names."""

    offset: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """`$x.a.b`."""

    offset: int
    name: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """The name of a function."""

    offset: int
    name: str


@dataclass(frozen=True, slots=True)
class Group:
    """A pipeline in parentheses, and the fields taken from its result."""

    offset: int
    pipeline: "Pipeline"
    names: tuple[str, ...]


Operand: TypeAlias = Constant | Field | Variable | Function | Group


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands, each of which passes its result on to the next.

    `variables` take the result of the last one.

    `variables` take the result of the last one.
    """

    offset: int
    variables: tuple[str, ...]
    assigns: bool
    """Whether the variable existed before."""
    commands: tuple[tuple[Operand, ...], ...]


@dataclass(frozen=True, slots=True)
class Action:
    """`{{ pipeline }}`."""

    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class Branch:
    """`{{ if }}`, `{{ range }}` or `{{ with }}`."""

    kind: OneOf["if", "range", "with"]
    length: int
    """Characters of the body as it is written."""
    pipeline: Pipeline
    body: tuple["Statement", ...]
    otherwise: tuple["Statement", ...]


Statement: TypeAlias = Action | Branch


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
_ENDS_A_WORD: Final = frozenset(SPACES + ".,|:)(")
_SPACE: Final = re.compile(r"[ \t\r\n](?:(?![ \t\r\n]-\}\})[ \t\r\n])*")
"""The last blank before -}} belongs to that."""
_STRING: Final = re.compile(r"""(["'])(?:\\[^\n]|(?!\1)[^\\\n])*\1|`[^`]*`""")
_INSIDE: Final = re.compile(r"(?<![\w)])\.(\w+)\.(\w[\w.]*)$")
"""A name inside of a parameter."""
_NAME: Final = re.compile(r"[\w./-]*")
_LONGEST: Final = 320
"""Characters of a name that a hint repeats: those of the longest label."""
_NUMBER: Final = re.compile(r"[+-]?[0-9.][0-9a-zA-Z_.+]*|[+-]")


class TemplateError(Exception):
    """A template that Argo CD cannot use; `offset` is where it shows, in characters."""

    def __init__(self, message: str, offset: int, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.offset, self.hint = message, offset, hint


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a template; `kind` is what the lexer takes it for, or the sign itself."""

    kind: str
    value: str
    offset: int


def tokens(text: str) -> Iterator[Token]:
    """The tokens of the actions of a template. Raises TemplateError at what is none."""
    at = 0
    while (start := text.find("{{", at)) >= 0:
        trims = text[start + 2 : start + 3] == "-" and text[start + 3 : start + 4] in tuple(SPACES)
        inside = start + (4 if trims else 2)
        if text.startswith("/*", inside):
            at = _comment(text, start, inside)
            continue
        yield Token("open", "{{", start)
        at = yield from _action(text, start, inside)
    yield Token("end", "", len(text))


def _comment(text: str, start: int, body: int) -> int:
    end = text.find("*/", body + 2)
    if end < 0:
        raise TemplateError("the comment has no end", start, "write */}} behind it")
    if (close := _close(text, end + 2)) is None:
        raise TemplateError(
            "something stands between the comment and }}",
            end + 2,
            "a comment has an action of its own: {{/* ... */}}",
        )
    return close


def _close(text: str, at: int) -> int | None:
    """Where the action ends; None if it does not end here."""
    if text.startswith("}}", at):
        return at + 2
    trims = text[at : at + 1] in tuple(SPACES) and text.startswith("-}}", at + 1)
    return at + 4 if trims else None


def _action(text: str, start: int, at: int) -> Generator[Token, None, int]:
    depth = 0
    while True:
        if (close := _close(text, at)) is not None:
            if depth:
                raise TemplateError("( has no )", at, "write ) before }}")
            yield Token("close", text[at:close], at)
            return close
        if at >= len(text):
            raise TemplateError("the action has no end", start, "write }} behind it")
        token = _token(text, at)
        depth += {"(": 1, ")": -1}.get(token.kind, 0)
        if depth < 0:
            raise TemplateError(") has no (", at, "remove it")
        yield token
        at += len(token.value)


def _token(text: str, at: int) -> Token:
    sign = text[at]
    if found := _SPACE.match(text, at):
        return Token("space", found[0], at)
    if sign in "\"'`":
        if (found := _STRING.match(text, at)) is None:
            raise TemplateError(
                f"{sign} has no second one", at, f"write {sign} where the text ends"
            )
        return Token("number" if sign == "'" else "string", found[0], at)
    if sign in "$." and not (sign == "." and text[at + 1 : at + 2] in tuple("0123456789")):
        value = _word(text, at, at + 1)
        kind = "variable" if sign == "$" else "field" if len(value) > 1 else "dot"
        return Token(kind, value, at)
    if sign in "+-.0123456789" and sign.isascii():
        found = _NUMBER.match(text, at)
        return Token("number", found[0] if found is not None else sign, at)
    if _alphanumeric(sign):
        value = _word(text, at, at)
        kind = "keyword" if value in KEYWORDS else "bool" if value in {"true", "false"} else "word"
        return Token(kind, value, at)
    if sign == ":":
        if text[at + 1 : at + 2] != "=":
            raise TemplateError(": stands alone", at, "write :=")
        return Token(":=", ":=", at)
    if sign.isascii() and sign.isprintable():
        return Token(sign, sign, at)
    raise TemplateError(f"{sign!a} does not fit into an action", at)


def _word(text: str, start: int, at: int) -> str:
    while at < len(text) and _alphanumeric(text[at]):
        at += 1
    if at < len(text) and text[at] not in _ENDS_A_WORD and not text.startswith("}}", at):
        written = text[start:at]
        hint = "write a space before it"
        if written.startswith(".") and text[at] in "-/":
            hint = f'a name with {text[at]} in it is written index . "NAME"'
            if found := _INSIDE.search(text[max(0, at - _LONGEST) : at]):
                rest = text[at : at + _LONGEST]
                hint = f'write index .{found[1]} "{found[2]}{_NAME.findall(rest)[0]}"'
        raise TemplateError(f"{text[at]!a} does not fit behind {written}", at, hint)
    return text[start:at]


def _alphanumeric(sign: str) -> bool:
    return sign == "_" or sign.isalpha() or sign.isdecimal()
