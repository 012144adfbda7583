"""The documents of a YAML file as text. Each can be replaced or removed; the others stay byte
for byte. Pure.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_START: Final = re.compile(r"---(?=\s|$)")
_END: Final = re.compile(r"\.\.\.(?=\s|$)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One document, or the text before the first. Marker, body and end together are the whole text, with line
    breaks.
    """

    marker: str = ""
    """The line `---`, with its comment; empty if the document has none, or starts on that line."""
    body: str = ""
    end: str = ""
    """The line `...` with the comments and directives after it."""

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return sum(text.count("\n") for text in (self.marker, self.body, self.end))


@dataclass
class _Open:
    """A document whose last line is not read yet."""

    marker: str = ""
    body: list[str] = field(default_factory=list)
    end: list[str] = field(default_factory=list)

    def close(self) -> Iterator[Source]:
        if self.marker or self.body or self.end:
            yield Source(marker=self.marker, body="".join(self.body), end="".join(self.end))


def split(text: str) -> Iterator[Source]:
    """Splits a text into documents. Joined, they are the text again. A line that starts with `---` is always
    a marker (YAML 1.2.2, section 9.1.2).
    """
    now = _Open()
    for line in _LINE.findall(text):
        if start := _START.match(line):
            yield from now.close()
            rest = line[start.end() :].strip()
            now = _Open(marker=line) if not rest or rest.startswith("#") else _Open(body=[line])
        elif _END.match(line):
            now.end.append(line)
        elif not now.end:
            now.body.append(line)
        elif not line.strip() or line.startswith(("#", "%")):
            now.end.append(line)
        else:
            yield from now.close()
            now = _Open(body=[line])
    yield from now.close()
