"""Parses a template as Go's package text/template does, with the functions that Argo CD gives it.

Not guaranteed: that Go accepts each template that is parsed here. Named templates (`define`,
`block`, `template`) are not read; no example of Argo CD has one. Of rare forms of numbers more is
accepted than in Go.
"""

import re
from typing import Final

from gitops_dsf.argocd import api
from gitops_dsf.argocd.gotemplate import nodes
from gitops_dsf.argocd.gotemplate.mistakes import TemplateError, Trouble
from gitops_dsf.argocd.gotemplate.tokens import SPACES, TemplateToken, tokens

MAX_DEPTH: Final = 60
"""The deepest nesting of parentheses and branches.

Go itself takes ten thousand; this parser calls itself for each level, and Python ends that at a
thousand calls.
"""
_STARTS: Final = frozenset({"bool", "dot", "field", "word", "number", "string", "variable", "("})
_ESCAPE: Final = re.compile(
    r"\\(?:[abfnrtv\\\"]|x[0-9a-fA-F]{2}|[0-3][0-7]{2}|u[0-9a-fA-F]{4}"
    r"|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|())"
)
_WHOLE: Final = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,17})")
_NUMBER: Final = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_.]+(?:[pP][+-]?[0-9_]+)?|0[oO]?[0-7_]*|0[bB][01_]+|[1-9][0-9_]*"
    r"|[0-9_]*\.?[0-9_]+[eE][+-]?[0-9_]+|[0-9_]+\.[0-9_]*(?:[eE][+-]?[0-9_]+)?"
    r"|\.[0-9_]+(?:[eE][+-]?[0-9_]+)?)i?"
    r"|'(?:[^'\\\n]|\\[^\n][0-9a-zA-Z]*)'|.*[+-].*i"
)
"""A number as Go writes it, or a character. What is rare is taken for one without a closer look."""
_NAMED: Final = frozenset({"block", "define", "template"})


def parse(text: str) -> tuple[nodes.Statement, ...]:
    """The statements of a template, without the text between them.

    Raises TemplateError, whose mistake is UNSURE where the template is not read to its end: it may
    well run.
    """
    return _Parser(text).whole()


class _Parser:
    """Reads the tokens from left to right. `_next` is the index of the next one."""

    def __init__(self, text: str) -> None:
        self._tokens = list(tokens(text))
        self._next = 0
        self._variables = ["$"]
        self._depth = 0
        self._loops = 0

    def whole(self) -> tuple[nodes.Statement, ...]:
        """The statements of the whole text."""
        statements, end = self._list()
        if end.kind != "end":
            raise TemplateError(
                f"{{{{ {end.value} }}}} belongs to nothing", end.offset, "remove it"
            )
        return statements

    def _list(
        self, *, opened: TemplateToken | None = None
    ) -> tuple[tuple[nodes.Statement, ...], TemplateToken]:
        """Statements up to `end`, `else` or the end of the text, which is returned."""
        statements: list[nodes.Statement] = []
        while (token := self._take()).kind == "open":
            word = self._skip()
            if word.kind == "keyword" and word.value in {"end", "else"}:
                self._take()
                return tuple(statements), word
            if word.kind == "keyword" and word.value in {"if", "range", "with"}:
                self._take()
                statements.append(self._branch(word))
            elif word.kind == "keyword" and word.value in _NAMED:
                raise TemplateError(
                    f"{word.value} is not read, so this template is not checked",
                    word.offset,
                    "write it without named templates",
                    trouble=Trouble.UNSURE,
                )
            elif word.kind == "keyword" and word.value in {"break", "continue"}:
                self._take()
                if not self._loops:
                    raise TemplateError(
                        f"{word.value} is outside a range", word.offset, "remove it"
                    )
                self._close(word)
            # Everything else is an action that writes, or declares a variable.
            else:
                pipeline = self._pipeline("close", "the action", opened=token)
                statements.append(nodes.ActionNode(pipeline))
        if opened is not None:
            raise TemplateError(
                f"{{{{ {opened.value} }}}} has no {{{{ end }}}}", opened.offset, "add {{ end }}"
            )
        return tuple(statements), token

    def _branch(self, word: TemplateToken) -> nodes.BranchNode:
        """The part that follows `if`, `range` or `with`, up to its `end`."""
        variables = len(self._variables)
        pipeline = self._pipeline("close", word.value, opened=word)
        start = self._next
        self._loops += word.value == "range"
        body, end = self._nested(word)
        self._loops -= word.value == "range"
        length = end.offset - self._tokens[start - 1].offset
        otherwise: tuple[nodes.Statement, ...] = ()
        # Go knows `else if` and `else with`, each of which ends what it belongs to, too.
        if end.value == "else" and self._skip().value in {"if", "with"} and word.value != "range":
            inner = self._take()
            self._deeper(inner)
            otherwise = (self._branch(inner),)
            self._depth -= 1
        else:
            self._close(end)
            if end.value == "else":
                otherwise, last = self._nested(word)
                if last.value == "else":
                    raise TemplateError("a second else", last.offset, "remove it")
                self._close(last)
        # Variables that a branch declares end with it.
        del self._variables[variables:]
        match word.value:
            case "if" | "range" | "with" as kind:
                return nodes.BranchNode(kind, length, pipeline, body, otherwise)
        raise AssertionError(word.value)

    def _nested(self, word: TemplateToken) -> tuple[tuple[nodes.Statement, ...], TemplateToken]:
        """The statements of a branch, and the `end` or `else` behind them."""
        self._deeper(word)
        statements = self._list(opened=word)
        self._depth -= 1
        return statements

    def _deeper(self, token: TemplateToken) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TemplateError(
                f"more than {MAX_DEPTH} levels are nested here",
                token.offset,
                "write it flat",
                trouble=Trouble.COST,
            )

    def _pipeline(self, end: str, context: str, *, opened: TemplateToken) -> nodes.PipeNode:
        """Commands up to a token of the kind `end`, which is taken, too."""
        start = self._skip()
        variables, assigns = self._declared(is_range=context == "range")
        commands: list[tuple[nodes.Operand, ...]] = []
        while (token := self._skip()).kind != end:
            if token.kind not in _STARTS and not (token.kind == "keyword" and token.value == "nil"):
                raise _unexpected(token, commands=bool(commands))
            command = self._command()
            # The part behind | is called with the value before it, and Go cannot call these.
            first = command[0]
            is_dot = first == nodes.FieldNode(first.offset, ())
            if commands and (isinstance(first, nodes.ConstantNode) or is_dot):
                raise TemplateError(
                    "a value cannot stand behind |",
                    first.offset,
                    "write a function there, or remove |",
                )
            commands.append(command)
        self._take()
        if not commands:
            raise TemplateError(
                f"{context} has no value", opened.offset, "write a parameter, such as {{.name}}"
            )
        return nodes.PipeNode(start.offset, variables, assigns, tuple(commands))

    def _declared(self, *, is_range: bool) -> tuple[tuple[str, ...], bool]:
        """The variables that take the value, in a range also `$key, $value`, and whether by `=`."""
        start = self._next
        # Only in a range there may be two: $key, $value := ...
        names: list[str] = []
        while (token := self._skip()).kind == "variable" and len(names) < 2:
            self._take()
            names.append(token.value)
            sign = self._skip()
            if sign.kind in {":=", "="}:
                self._take()
                unknown = set(names).difference(self._variables)
                if sign.kind == "=" and unknown:
                    raise TemplateError(f"there is no variable {min(unknown)}", token.offset)
                self._variables += names
                return tuple(names), sign.kind == "="
            if sign.kind != ",":
                break
            if not is_range or len(names) > 1:
                raise TemplateError(", does not fit here", sign.offset)
            self._take()
        # It was the first operand of a command, such as in {{ $x | lower }}.
        self._next = start
        return (), False

    def _command(self) -> tuple[nodes.Operand, ...]:
        """The operands of a command. Takes the | behind them."""
        operands: list[nodes.Operand] = []
        while True:
            self._skip()
            operand = self._operand()
            if operand is not None:
                operands.append(operand)
            token = self._take()
            if token.kind == "space" and operand is not None:
                continue
            if token.kind in {"close", ")"}:
                self._next -= 1
            elif token.kind != "|":
                raise _unexpected(token, commands=True)
            if not operands:
                raise TemplateError("nothing stands before |", token.offset)
            return tuple(operands)

    def _operand(self) -> nodes.Operand | None:
        """A term and the fields that are taken from it; None if no operand begins here."""
        token = self._take()
        term = self._term(token)
        if term is None:
            self._next -= 1
            return None
        names: list[str] = []
        while self._peek().kind == "field":
            names.append(self._take().value[1:])
        if not names:
            return term
        match term:
            case nodes.FieldNode(offset, first) if first:
                return nodes.FieldNode(offset, (*first, *names))
            case nodes.VariableNode(offset, name, _):
                return nodes.VariableNode(offset, name, tuple(names))
            case nodes.ChainNode(offset, pipeline, _):
                return nodes.ChainNode(offset, pipeline, tuple(names))
            case nodes.FunctionNode(offset, name):
                inner = nodes.PipeNode(offset, (), False, ((term,),))
                return nodes.ChainNode(offset, inner, tuple(names))
        raise TemplateError(f". cannot follow {token.value}", token.offset + len(token.value))

    def _term(self, token: TemplateToken) -> nodes.Operand | None:
        """The operand that a token is, or begins, without fields; None if it is none."""
        match token.kind:
            case "word":
                if token.value not in api()["functions"]:
                    hint = f"write .{token.value} for a parameter"
                    raise TemplateError(f"there is no function {token.value}", token.offset, hint)
                return nodes.FunctionNode(token.offset, token.value)
            case "dot":
                return nodes.FieldNode(token.offset, ())
            case "field":
                return nodes.FieldNode(token.offset, (token.value[1:],))
            case "variable":
                if token.value not in self._variables:
                    raise TemplateError(f"there is no variable {token.value}", token.offset)
                return nodes.VariableNode(token.offset, token.value, ())
            case "bool":
                return nodes.ConstantNode(token.offset, token.value == "true", "bool")
            case "number":
                if not _NUMBER.fullmatch(token.value):
                    hint = "write a text with double quotes" if token.value[0] == "'" else ""
                    raise TemplateError(f"{token.value} is not a number", token.offset, hint)
                value = int(token.value) if _WHOLE.fullmatch(token.value) else None
                return nodes.ConstantNode(token.offset, value, "number")
            # Both literals, "text" and `text`, are texts. Only the first one knows escapes.
            case "string":
                return nodes.ConstantNode(token.offset, _unquoted(token), "text")
            case "(":
                self._deeper(token)
                inside = self._pipeline(")", "(", opened=token)
                self._depth -= 1
                return nodes.ChainNode(token.offset, inside, ())
            case "keyword" if token.value == "nil":
                return nodes.ConstantNode(token.offset, None, "nil")
        return None

    def _close(self, word: TemplateToken) -> None:
        """Takes the end of an action whose word, such as `end`, takes no value."""
        token = self._skip()
        if token.kind != "close":
            raise TemplateError(
                f"{token.value} cannot follow {word.value}", token.offset, "write }} there"
            )
        self._take()

    def _peek(self) -> TemplateToken:
        return self._tokens[self._next]

    def _take(self) -> TemplateToken:
        self._next += 1
        return self._tokens[self._next - 1]

    def _skip(self) -> TemplateToken:
        """The next token that is not white space. It stays."""
        while self._peek().kind == "space":
            self._next += 1
        return self._peek()


def _unexpected(token: TemplateToken, *, commands: bool) -> TemplateError:
    sign = token.value.strip(SPACES) or token.value
    if commands:
        return TemplateError(f"{sign} does not fit here", token.offset)
    return TemplateError(f"{sign} does not fit at the start of an action", token.offset)


def _unquoted(token: TemplateToken) -> str:
    """The text that a literal stands for. Raises TemplateError if an escape is none."""
    if token.value[0] == "`":
        return token.value[1:-1].replace("\r", "")

    def character(escape: re.Match[str]) -> str:
        # Only the empty last group of the expression takes part if no sequence is known.
        if escape[1] is None:
            return escape[0].encode().decode("unicode_escape")
        raise TemplateError(
            f"{escape[0]} is not an escape sequence", token.offset, "write \\\\ for a backslash"
        )

    return _ESCAPE.sub(character, token.value[1:-1])
