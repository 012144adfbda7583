"""Text in Markdown that a forge shows as it is: no markup, no mention, no second line."""

import re
from typing import Final

from dsf_wire.text import printable

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>|#~&])")


def escaped(text: str) -> str:
    """Escapes text so that no Markdown parser reads markup, a mention or a second line in it."""
    return _SPECIAL.sub(r"\\\1", printable(" ".join(text.replace("->", "→").split()))).replace(
        "@", "@\u200b"
    )


def code(text: str) -> str:
    """A code span for any text."""
    line = printable(" ".join(text.split()))
    if "`" not in line:
        return f"`{line}`"
    fence = "`" * (1 + max(len(run) for run in re.findall(r"`+", line)))
    return f"{fence} {line} {fence}"
