"""A lexer of PromQL that is just good enough to count tokens and find where each starts."""

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|\#[^\n]*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)
  | (?P<duration>(?:[0-9]+(?:ms|[smhdwy]))+(?![0-9a-zA-Z_]))
  | (?P<number>0[xX][0-9a-fA-F_]+|[0-9][0-9_]*(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?)
  | (?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)
  | (?P<operator>==|!=|<=|>=|=~|!~|[-+*/%^<>=!@,:;(){}\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token and its 0-based character offset. `kind` is string, duration, number, name,
    operator, or bad.
    """

    kind: str
    text: str
    offset: int

    @property
    def end(self) -> int:
        """Offset after the token."""
        return self.offset + len(self.text)


def tokens(text: str, *, most: int) -> list[Token]:
    """Yields the tokens of an expression, without white space and comments. Stops after an invalid token
    (kind bad) and after `most` tokens.
    """
    found: list[Token] = []
    index = 0
    in_range = False
    while index < len(text) and len(found) < most:
        match = _TOKEN.match(text, index)
        if match is None:
            found.append(Token("bad", text[index], index))
            break
        kind = match.lastgroup or "bad"
        word = match[0]
        if word[0] == ":" and in_range:  # elsewhere, a colon starts the name of a recording rule
            kind, word = "operator", ":"
        in_range = word == "[" or (in_range and word != "]")
        if kind != "blank":
            found.append(Token(kind, word, index))
        index += len(word)
    return found
