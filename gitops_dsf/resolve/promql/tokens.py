"""PromQL's words: enough of its lexer to count them and to know where each starts."""

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
    """A word and its 0-based character offset. `kind` is string, duration, number, name, operator, or bad."""

    kind: str
    text: str
    offset: int

    @property
    def end(self) -> int:
        """Offset behind the word."""
        return self.offset + len(self.text)


def tokens(text: str, *, most: int) -> list[Token]:
    """The words of an expression without white space and comments. Ends behind the first that is none (kind
    bad), and after `most` words.
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
        if word[0] == ":" and in_range:  # elsewhere a colon starts the name of a recording rule
            kind, word = "operator", ":"
        in_range = word == "[" or (in_range and word != "]")
        if kind != "blank":
            found.append(Token(kind, word, index))
        index += len(word)
    return found
