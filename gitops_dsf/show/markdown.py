"""Text of others in Markdown that a forge shows as it is: no markup, mention or second line."""

import re
from typing import Final

from dsf_wire.text import printable

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>|#~&])")
_ZERO_WIDTH_SPACE: Final = "\u200b"
"""The character between `@` and a name.

A forge then reads no mention, and a reader sees no difference.
"""


def escaped(text: str) -> str:
    """Escapes text so that no Markdown parser reads markup, a mention or a second line in it."""
    # The arrow is replaced first, because `>` is escaped, and `-\>` reads badly in a mail.
    line = printable(" ".join(text.replace("->", "→").split()))
    return _SPECIAL.sub(r"\\\1", line).replace("@", f"@{_ZERO_WIDTH_SPACE}")


def code(text: str) -> str:
    """A code span for any text."""
    # A line break would end the row of a table, or the entry of a list.
    line = printable(" ".join(text.split()))
    if "`" not in line:
        return f"`{line}`"
    # CommonMark: a span ends at the first run of backticks that is as long as the one before it.
    fence = "`" * (1 + max(map(len, re.findall(r"`+", line))))
    return f"{fence} {line} {fence}"
