"""Parses a template as Go's package text/template does, with the functions that Argo CD gives it.

Only named templates are not read, which no example of Argo CD has.
"""

import re
from typing import Final

from gitops_dsf.argocd import api
from gitops_dsf.argocd.gotemplate import nodes
from gitops_dsf.argocd.gotemplate.nodes import SPACES, TemplateError, Token, tokens

SHARED: Final = "the ApplicationSet controller, which all teams share"
DEEPEST: Final = 60
"""How deep parentheses and branches may be nested. Go itself takes ten thousand."""
_STARTS: Final = frozenset({"bool", "dot", "field", "word", "number", "string", "variable", "("})
_ESCAPE: Final = re.compile(
    r"\\(?:[abfnrtv\\\"]|x[0-9a-fA-F]{2}|[0-3][0-7]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|())"
)
_WHOLE: Final = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,17})")
_NUMBER: Final = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_.]+(?:[pP][+-]?[0-9_]+)?|0[oO]?[0-7_]*|0[bB][01_]+|[1-9][0-9_]*"
    r"|[0-9_]*\.?[0-9_]+[eE][+-]?[0-9_]+|[0-9_]+\.[0-9_]*(?:[eE][+-]?[0-9_]+)?|\.[0-9_]+(?:[eE][+-]?[0-9_]+)?)i?"
    r"|'(?:[^'\\\n]|\\[^\n][0-9a-zA-Z]*)'|.*[+-].*i"
)
"""A number as Go writes it, or a character. What is rare is taken for one without a closer look."""
_NAMED: Final = frozenset({"block", "define", "template"})


class CostlyError(TemplateError):
    """A template that is more than anybody needs."""


class UnreadError(TemplateError):
    """A template that is not read to its end. It may well be right."""


def parse(text: str) -> tuple[nodes.Statement, ...]:
    """The statements of a template, without the text between them. Raises TemplateError."""
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = list(tokens(text))
        self._next = 0
        self._variables = ["$"]
        self._depth = 0
        self._loops = 0

    def whole(self) -> tuple[nodes.Statement, ...]:
        found, end = self._list()
        if end.kind != "end":
            raise TemplateError(
                f"{{{{ {end.value} }}}} belongs to nothing", end.offset, "remove it"
            )
        return found

    def _list(self, *, opened: Token | None = None) -> tuple[tuple[nodes.Statement, ...], Token]:
        """Statements up to `end`, `else` or the end of the text, which is returned."""
        found: list[nodes.Statement] = []
        while (token := self._take()).kind == "open":
            word = self._skip()
            if word.kind == "keyword" and word.value in {"end", "else"}:
                self._take()
                return tuple(found), word
            if word.kind == "keyword" and word.value in {"if", "range", "with"}:
                self._take()
                found.append(self._branch(word))
            elif word.kind == "keyword" and word.value in _NAMED:
                message = f"{word.value} is not read, so this template is not checked"
                raise UnreadError(message, word.offset, "write it without named templates")
            elif word.kind == "keyword" and word.value in {"break", "continue"}:
                self._take()
                if not self._loops:
                    message = f"{word.value} is outside of a range"
                    raise TemplateError(message, word.offset, "remove it")
                self._close(word)
            else:
                found.append(nodes.Action(self._pipeline("close", "the action", opened=token)))
        if opened is not None:
            raise TemplateError(
                f"{{{{ {opened.value} }}}} has no {{{{ end }}}}", opened.offset, "add {{ end }}"
            )
        return tuple(found), token

    def _branch(self, word: Token) -> nodes.Branch:
        known = len(self._variables)
        pipeline = self._pipeline("close", word.value, opened=word)
        start = self._next
        self._loops += word.value == "range"
        body, end = self._nested(word)
        self._loops -= word.value == "range"
        length = end.offset - self._tokens[start - 1].offset
        otherwise: tuple[nodes.Statement, ...] = ()
        # Go knows `else if` and `else with`, each of which ends what it belongs to, too.
        if end.value == "else" and self._skip().value in {"if", "with"} and word.value != "range":
            again = self._take()
            self._deeper(again)
            otherwise = (self._branch(again),)
            self._depth -= 1
        else:
            self._close(end)
            if end.value == "else":
                otherwise, last = self._nested(word)
                if last.value == "else":
                    raise TemplateError("a second else", last.offset, "remove it")
                self._close(last)
        del self._variables[known:]
        match word.value:
            case "if" | "range" | "with" as kind:
                return nodes.Branch(kind, length, pipeline, body, otherwise)
        raise AssertionError(word.value)

    def _nested(self, word: Token) -> tuple[tuple[nodes.Statement, ...], Token]:
        self._deeper(word)
        found = self._list(opened=word)
        self._depth -= 1
        return found

    def _deeper(self, token: Token) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise CostlyError(
                f"more than {DEEPEST} levels are nested here", token.offset, "write it flat"
            )

    def _pipeline(self, end: str, context: str, *, opened: Token) -> nodes.Pipeline:
        start = self._skip()
        variables, assigns = self._declared(is_range=context == "range")
        commands: list[tuple[nodes.Operand, ...]] = []
        while (token := self._skip()).kind != end:
            if token.kind not in _STARTS and not (token.kind == "keyword" and token.value == "nil"):
                raise _unexpected(token, commands=bool(commands))
            command = self._command()
            if commands and (
                isinstance(command[0], nodes.Constant)
                or command[0] == nodes.Field(command[0].offset, ())
            ):
                raise TemplateError(
                    "a value cannot stand behind |",
                    command[0].offset,
                    "write a function there, or remove |",
                )
            commands.append(command)
        self._take()
        if not commands:
            raise TemplateError(
                f"{context} has no value", opened.offset, "write a parameter, such as {{.name}}"
            )
        return nodes.Pipeline(start.offset, variables, assigns, tuple(commands))

    def _declared(self, *, is_range: bool) -> tuple[tuple[str, ...], bool]:
        """The variables that take the value: in a range also `$key, $value`."""
        place, names = self._next, list[str]()
        while (token := self._skip()).kind == "variable" and len(names) < 2:
            self._take()
            names.append(token.value)
            sign = self._skip()
            if sign.kind in {":=", "="}:
                self._take()
                if sign.kind == "=" and (unknown := set(names) - set(self._variables)):
                    raise TemplateError(f"there is no variable {min(unknown)}", token.offset)
                self._variables += names
                return tuple(names), sign.kind == "="
            if sign.kind != ",":
                break
            if not is_range or len(names) > 1:
                raise TemplateError(", does not fit here", sign.offset)
            self._take()
        self._next = place
        return (), False

    def _command(self) -> tuple[nodes.Operand, ...]:
        """The operands of a command. Takes the | behind them."""
        found: list[nodes.Operand] = []
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

    def _operand(self) -> nodes.Operand | None:
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
            case nodes.Field(offset, first) if first:
                return nodes.Field(offset, (*first, *names))
            case nodes.Variable(offset, name, _):
                return nodes.Variable(offset, name, tuple(names))
            case nodes.Group(offset, pipeline, _):
                return nodes.Group(offset, pipeline, tuple(names))
            case nodes.Function(offset, name):
                inner = nodes.Pipeline(offset, (), False, ((found,),))
                return nodes.Group(offset, inner, tuple(names))
        raise TemplateError(f". does not fit behind {token.value}", token.offset + len(token.value))

    def _term(self, token: Token) -> nodes.Operand | None:
        match token.kind:
            case "word":
                if token.value not in api()["functions"]:
                    hint = f"write .{token.value} for a parameter"
                    raise TemplateError(f"there is no function {token.value}", token.offset, hint)
                return nodes.Function(token.offset, token.value)
            case "dot":
                return nodes.Field(token.offset, ())
            case "field":
                return nodes.Field(token.offset, (token.value[1:],))
            case "variable":
                if token.value not in self._variables:
                    raise TemplateError(f"there is no variable {token.value}", token.offset)
                return nodes.Variable(token.offset, token.value, ())
            case "bool":
                return nodes.Constant(token.offset, token.value == "true", "bool")
            case "number":
                if not _NUMBER.fullmatch(token.value):
                    hint = "write a text with double quotes" if token.value[0] == "'" else ""
                    raise TemplateError(f"{token.value} is not a number", token.offset, hint)
                value = int(token.value) if _WHOLE.fullmatch(token.value) else None
                return nodes.Constant(token.offset, value, "number")
            case "string":
                return nodes.Constant(token.offset, _unquoted(token), "text")
            case "(":
                self._deeper(token)
                inside = self._pipeline(")", "(", opened=token)
                self._depth -= 1
                return nodes.Group(token.offset, inside, ())
            case "keyword" if token.value == "nil":
                return nodes.Constant(token.offset, None, "nil")
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

    def character(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0].encode().decode("unicode_escape")
        raise TemplateError(
            f"{found[0]} is not an escape sequence", token.offset, "write \\\\ for a backslash"
        )

    return _ESCAPE.sub(character, token.value[1:-1])
