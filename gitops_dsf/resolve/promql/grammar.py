"""A recogniser of PromQL's grammar that keeps positions, because the errors of the native parser have none.

It does not decide whether a query is valid. It finds the mistake in a query that the parser rejected.
"""

from dataclasses import dataclass, field

from gitops_dsf.resolve.promql.tokens import Token

AGGREGATIONS = frozenset(
    [
        "sum",
        "avg",
        "count",
        "min",
        "max",
        "group",
        "stddev",
        "stdvar",
        "topk",
        "bottomk",
        "count_values",
        "quantile",
        "limitk",
        "limit_ratio",
    ]
)
BINARY = frozenset(
    ["+", "-", "*", "/", "%", "^", "==", "!=", "<", ">", "<=", ">=", "and", "or", "unless", "atan2"]
)
_SET_OR_MATCH = frozenset({"on", "ignoring"})
_GROUP = frozenset({"group_left", "group_right"})
_MATCH_OPERATORS = frozenset({"=", "!=", "=~", "!~"})
_NUMBERS = frozenset({"inf", "nan"})


class NoParseError(Exception):
    """No rule of the grammar matches at this token."""

    def __init__(self, token: Token | None, expected: str) -> None:
        super().__init__(expected)
        self.token = token
        self.expected = expected


@dataclass(slots=True)
class Recogniser:
    """Reads a list of tokens once. `parts` are the spans of all sub-expressions, inner ones first."""

    words: list[Token]
    index: int = 0
    parts: list[tuple[int, int]] = field(default_factory=list)

    def whole(self) -> None:
        """Recognises the list as one expression. Raises NoParseError at the first token that cannot continue
        it.
        """
        self._expression()
        if self._peek() is not None:
            raise NoParseError(self._peek(), "an operator or the end of the query")

    def _peek(self) -> Token | None:
        return self.words[self.index] if self.index < len(self.words) else None

    def _text(self) -> str:
        token = self._peek()
        return token.text if token is not None and token.kind in {"operator", "name"} else ""

    def _word(self) -> str:
        return self._text().lower()

    def _accept(self, text: str) -> bool:
        if self._text() != text:
            return False
        self.index += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise NoParseError(self._peek(), f"`{text}`")

    def _take(self, *kinds: str, expected: str) -> Token:
        token = self._peek()
        if token is None or token.kind not in kinds:
            raise NoParseError(token, expected)
        self.index += 1
        return token

    def _expression(self) -> None:
        start = self.index
        self._unary()
        while self._word() in BINARY:
            self.index += 1
            self._modifiers()
            self._unary()
        self._done(start)

    def _modifiers(self) -> None:
        if self._word() == "bool":
            self.index += 1
        if self._word() in _SET_OR_MATCH:
            self.index += 1
            self._label_list()
            if self._word() in _GROUP:
                self.index += 1
                if self._text() == "(":
                    self._label_list()

    def _unary(self) -> None:
        start = self.index
        while self._text() in {"+", "-"}:
            self.index += 1
        self._primary()
        while self._suffix():
            pass
        self._done(start)

    def _suffix(self) -> bool:
        if self._accept("["):
            self._take("duration", "number", expected="a duration such as 5m")
            if self._accept(":") and self._text() != "]":
                self._take("duration", "number", expected="a duration such as 1m, or `]`")
            self._expect("]")
            return True
        if self._word() == "offset":
            self.index += 1
            self._accept("-")
            self._take("duration", "number", expected="a duration such as 5m")
            return True
        if self._accept("@"):
            if self._word() in {"start", "end"}:
                self.index += 1
                self._expect("(")
                self._expect(")")
            else:
                self._accept("-")
                self._take("number", expected="a time stamp, start() or end()")
            return True
        return False

    def _primary(self) -> None:
        token = self._peek()
        if token is None or token.kind == "bad":
            raise NoParseError(token, "an expression")
        if token.kind in {"number", "duration", "string"}:
            self.index += 1
        elif token.text == "(":
            self.index += 1
            self._expression()
            self._expect(")")
        elif token.text == "{":
            self._matchers()
        elif token.kind == "name":
            self._named(token)
        else:
            raise NoParseError(token, "an expression")

    def _named(self, token: Token) -> None:
        self.index += 1
        if token.text.lower() in AGGREGATIONS and self._word() in {"(", "by", "without"}:
            self._grouping()
            self._arguments()
            self._grouping()
        elif token.text.lower() in _NUMBERS:
            return
        elif self._text() == "(":
            self._arguments()
        elif self._text() == "{":
            self._matchers()

    def _grouping(self) -> None:
        if self._word() in {"by", "without"}:
            self.index += 1
            self._label_list()

    def _arguments(self) -> None:
        self._expect("(")
        if self._accept(")"):
            return
        self._expression()
        while self._accept(","):
            self._expression()
        if not self._accept(")"):
            raise NoParseError(self._peek(), "`,` or `)`")

    def _label_list(self) -> None:
        self._expect("(")
        while not self._accept(")"):
            self._take("name", "string", expected="a label name or `)`")
            if not self._accept(",") and self._text() != ")":
                raise NoParseError(self._peek(), "`,` or `)`")

    def _matchers(self) -> None:
        self._expect("{")
        while not self._accept("}"):
            first = self._take("name", "string", expected="a label name or `}`")
            if self._text() in _MATCH_OPERATORS:
                self.index += 1
                self._take("string", expected="a value in quotes")
            elif first.kind == "name":
                raise NoParseError(self._peek(), "=, !=, =~ or !~")
            if not self._accept(",") and self._word() != "or" and self._text() != "}":
                raise NoParseError(self._peek(), "`,` or `}`")
            if self._word() == "or":
                self.index += 1

    def _done(self, start: int) -> None:
        span = (self.words[start].offset, self.words[self.index - 1].end)
        if not self.parts or self.parts[-1] != span:
            self.parts.append(span)
