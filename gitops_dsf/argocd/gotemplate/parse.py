"""Parses a template as Go's package text/template does, with the functions that Argo CD gives it."""

import re
from typing import Final

from gitops_dsf.argocd.data import api
from gitops_dsf.argocd.gotemplate.nodes import (
    Action,
    Branch,
    Constant,
    Field,
    Function,
    Group,
    Operand,
    Other,
    Pipeline,
    Statement,
    Variable,
)
from gitops_dsf.argocd.gotemplate.tokens import SPACES, TemplateError, Token, tokens

DEEPEST: Final = 60
"""How deep parentheses and branches may be nested. Go itself takes ten thousand."""
_STARTS: Final = frozenset(
    {"bool", "char", "complex", "dot", "field", "word", "number", "string", "variable", "("}
)
_ESCAPE: Final = re.compile(
    r"\\(?:([abfnrtv\\\"'])|x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|)", re.DOTALL
)
_SIMPLE: Final = dict(zip("abfnrtv\\\"'", "\a\b\f\n\r\t\v\\\"'", strict=True))
_WHOLE: Final = re.compile(
    r"[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|[0-9](?:_?[0-9])*)"
)
_BROKEN: Final = re.compile(
    r"[+-]?(?:(?:[0-9](?:_?[0-9])*)?\.?(?:[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9]+)?"
    r"|0[xX](?:_?[0-9a-fA-F])*\.?(?:[0-9a-fA-F](?:_?[0-9a-fA-F])*)?[pP][+-]?[0-9]+)i?"
)


class TooDeepError(TemplateError):
    """Parentheses or branches are nested deeper than anybody needs."""


def parse(text: str) -> tuple[Statement, ...]:
    """The statements of a template, without the text between them. Raises TemplateError."""
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = [token for token in tokens(text) if token.kind != "text"]
        self._next = 0
        self._variables = ["$"]
        self._ranges = 0
        self._depth = 0

    def whole(self) -> tuple[Statement, ...]:
        found, end = self._list(top=True)
        if end.kind != "end":
            raise TemplateError(f"{{{{ {end.value} }}}} belongs to nothing", end.offset, "remove it")
        return found

    def _list(self, *, top: bool = False, opened: Token | None = None) -> tuple[tuple[Statement, ...], Token]:
        """Statements up to `end`, `else` or the end of the text, which is returned."""
        found: list[Statement] = []
        while (token := self._take()).kind == "open":
            word = self._skip()
            if word.kind == "keyword" and word.value in {"end", "else"}:
                self._take()
                return tuple(found), word
            if word.kind == "keyword" and word.value != "nil":
                self._take()
                found.append(self._control(word, top=top))
            else:
                found.append(Action(self._pipeline("close", "the action", opened=token)))
        if opened is not None:
            raise TemplateError(
                f"{{{{ {opened.value} }}}} has no {{{{ end }}}}", opened.offset, "add {{ end }}"
            )
        return tuple(found), token

    def _control(self, word: Token, *, top: bool) -> Statement:
        if word.value in {"if", "with", "range"}:
            return self._branch(word)
        if word.value in {"break", "continue"}:
            self._close(word)
            if not self._ranges:
                raise TemplateError(f"{word.value} stands outside of range", word.offset, "remove it")
        elif word.value == "define" and not top:
            raise TemplateError("define stands inside of another statement", word.offset)
        else:
            self._named(word)
        return Other(word.offset, word.value)

    def _named(self, word: Token) -> None:
        """The rest of define, block and template."""
        name = self._skip()
        if name.kind != "string":
            raise TemplateError(f"{word.value} needs a name in quotes", name.offset)
        self._take()
        _unquoted(name)
        if word.value == "define":
            kept, self._variables = self._variables, ["$"]
            self._close(word)
        else:
            kept = self._variables
            if word.value == "block" or self._skip().kind != "close":
                self._pipeline("close", word.value, opened=word)
            else:
                self._take()
            if word.value == "template":
                return
            self._variables = ["$"]
        ranges, self._ranges = self._ranges, 0
        _, end = self._nested(word)
        self._ranges = ranges
        if end.value != "end":
            raise TemplateError(f"else does not belong into {word.value}", end.offset, "remove it")
        self._close(end)
        self._variables = kept

    def _branch(self, word: Token) -> Branch:
        known = len(self._variables)
        pipeline = self._pipeline("close", word.value, opened=word)
        self._ranges += word.value == "range"
        body, end = self._nested(word)
        self._ranges -= word.value == "range"
        otherwise: tuple[Statement, ...] = ()
        if end.value == "else" and word.value != "range" and self._skip().value == word.value:
            again = self._take()
            self._deeper(again)
            otherwise = (self._branch(again),)
            self._depth -= 1
        elif end.value == "else":
            self._close(end)
            otherwise, last = self._nested(word)
            if last.value == "else":
                raise TemplateError("a second else", last.offset, "remove it")
            self._close(last)
        else:
            self._close(end)
        del self._variables[known:]
        return Branch(word.offset, word.value, pipeline, body, otherwise)

    def _nested(self, word: Token) -> tuple[tuple[Statement, ...], Token]:
        self._deeper(word)
        found = self._list(opened=word)
        self._depth -= 1
        return found

    def _deeper(self, token: Token) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise TooDeepError(f"more than {DEEPEST} levels are nested here", token.offset)

    def _pipeline(self, end: str, context: str, *, opened: Token) -> Pipeline:
        start = self._skip()
        variables, assigns = self._declared(context)
        commands: list[tuple[Operand, ...]] = []
        while (token := self._skip()).kind != end:
            if token.kind not in _STARTS and not (token.kind == "keyword" and token.value == "nil"):
                raise _unexpected(token, commands=bool(commands))
            command = self._command()
            if commands and (isinstance(command[0], Constant) or command[0] == Field(command[0].offset, ())):
                raise TemplateError(
                    "a value cannot stand behind |", command[0].offset, "write a function there, or remove |"
                )
            commands.append(command)
        self._take()
        if not commands:
            raise TemplateError(
                f"{context} has no value", opened.offset, "write a parameter, such as {{.name}}"
            )
        return Pipeline(start.offset, variables, assigns, tuple(commands))

    def _declared(self, context: str) -> tuple[tuple[str, ...], bool]:
        found: list[str] = []
        while (token := self._skip()).kind == "variable":
            place = self._next
            self._take()
            sign = self._skip()
            if sign.kind not in {":=", "=", ","}:
                self._next = place
                break
            self._take()
            found.append(token.value)
            self._variables.append(token.value)
            if sign.kind != ",":
                return tuple(found), sign.kind == "="
            if context != "range" or len(found) > 1 or self._skip().kind not in {"variable", "close", ")"}:
                raise TemplateError(", does not fit here", sign.offset)
        return tuple(found), False

    def _command(self) -> tuple[Operand, ...]:
        """The operands of a command. Takes the | behind them."""
        found: list[Operand] = []
        while True:
            self._skip()
            operand = self._operand()
            if operand is not None:
                found.append(operand)
            token = self._take()
            if token.kind == "space" and operand is not None:
                continue
            if token.kind in {"close", ")"}:
                self._next -= 1
            elif token.kind != "|":
                raise _unexpected(token, commands=True)
            if not found:
                raise TemplateError("nothing stands before |", token.offset)
            return tuple(found)

    def _operand(self) -> Operand | None:
        token = self._take()
        found = self._term(token)
        if found is None:
            self._next -= 1
            return None
        names: list[str] = []
        while self._peek().kind == "field":
            names.append(self._take().value[1:])
        if not names:
            return found
        match found:
            case Field(offset, first) if first:
                return Field(offset, (*first, *names))
            case Variable(offset, name, _):
                return Variable(offset, name, tuple(names))
            case Group(offset, pipeline, _):
                return Group(offset, pipeline, tuple(names))
            case Function(offset, name):
                inner = Pipeline(offset, (), False, ((found,),))
                return Group(offset, inner, tuple(names))
        raise TemplateError(f". does not fit behind {token.value}", token.offset + len(token.value))

    def _term(self, token: Token) -> Operand | None:
        match token.kind:
            case "word":
                if token.value not in api()["functions"]:
                    hint = f"write .{token.value} for a parameter"
                    raise TemplateError(f"there is no function {token.value}", token.offset, hint)
                return Function(token.offset, token.value)
            case "dot":
                return Field(token.offset, ())
            case "field":
                return Field(token.offset, (token.value[1:],))
            case "variable":
                if token.value not in self._variables:
                    raise TemplateError(f"there is no variable {token.value}", token.offset)
                return Variable(token.offset, token.value, ())
            case "bool":
                return Constant(token.offset, token.value == "true", "bool")
            case "number" | "complex" | "char":
                return Constant(token.offset, _whole(token), "number")
            case "string":
                return Constant(token.offset, _unquoted(token), "text")
            case "(":
                self._deeper(token)
                inside = self._pipeline(")", "(", opened=token)
                self._depth -= 1
                return Group(token.offset, inside, ())
            case "keyword" if token.value == "nil":
                return Constant(token.offset, None, "nil")
        return None

    def _close(self, word: Token) -> None:
        token = self._skip()
        if token.kind != "close":
            raise TemplateError(
                f"{token.value} does not fit behind {word.value}", token.offset, "write }} there"
            )
        self._take()

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _skip(self) -> Token:
        """The next token that is not white space. It stays."""
        while self._peek().kind == "space":
            self._next += 1
        return self._peek()


def _unexpected(token: Token, *, commands: bool) -> TemplateError:
    written = token.value.strip(SPACES) or token.value
    where = "here" if commands else "at the start of an action"
    return TemplateError(f"{written} does not fit {where}", token.offset)


def _unquoted(token: Token) -> str:
    """The text that a literal stands for. Raises TemplateError if an escape is none."""
    if token.value[0] == "`":
        return token.value[1:-1].replace("\r", "")
    quote = token.value[0]

    def character(found: re.Match[str]) -> str:
        simple, *codes = found.groups()
        if simple is not None and simple != ({'"', "'"} - {quote}).pop():
            return _SIMPLE[simple]
        if (digits := codes[1]) is not None and int(digits, 8) < 256:
            return chr(int(digits, 8))
        for digits in (codes[0], codes[2], codes[3]):
            if digits is not None and int(digits, 16) <= 0x10FFFF and not 0xD800 <= int(digits, 16) < 0xE000:
                return chr(int(digits, 16))
        raise TemplateError(f"{found[0]} is no escape in a text", token.offset, "write \\\\ for a backslash")

    return _ESCAPE.sub(character, token.value[1:-1])


def _whole(token: Token) -> int | None:
    """The value of a whole number; None for another number. Raises TemplateError if it is no number."""
    text = token.value
    if token.kind == "complex":
        return None
    if token.kind == "char":
        character = _unquoted(token)
        if len(character) != 1:
            raise TemplateError(f"{text} is not one character", token.offset, 'write a text in "')
        return ord(character)
    if _WHOLE.fullmatch(text):
        digits = text.lstrip("+-").replace("_", "")
        base = {"x": 16, "o": 8, "b": 2}.get(digits[1:2].lower(), 10)
        if base == 10 and len(digits) > 1 and digits[0] == "0":
            if set(digits) & {"8", "9"}:
                raise TemplateError(f"{text} is no octal number", token.offset, "remove the zeros in front")
            base = 8
        value = int(digits[2:] if base in {16, 2} or digits[1:2] in {"o", "O"} else digits, base)
        if value < 2**63:
            return -value if text[0] == "-" else value
        return None
    if not _BROKEN.fullmatch(text) or not any(sign.isdigit() for sign in text):
        raise TemplateError(f"{text} is no number", token.offset)
    return None
