"""Texts of others where people read them: in a terminal, a log, a comment or a status.

Such a text stays on its line, no character of it is invisible, turns the direction of writing or is
a control character, and no runner of a pipeline takes it for a command.

The runners of GitHub and Gitea read commands from the output of a job: `::add-mask::x` at the
beginning of a line, and `##[add-mask]x` anywhere in a line (actions/runner,
src/Runner.Common/ActionCommand.cs). The first `:` or `#` of such a text is written as its escape.
"""

import re
from collections.abc import Iterable
from typing import Final

_CUT: Final = "..."
_COMMAND_AT_START: Final = re.compile(r"(\s*):(?=:[A-Za-z-]+( [^:]*)?::)")
_COMMAND: Final = "##["


def printable(value: object, *, max_characters: int | None = None) -> str:
    r"""A value on one line, cut to `max_characters`.

    What is not printable becomes an escape, such as `\n`.
    """
    text = str(value)
    if max_characters is not None:
        # Cut before anything is escaped, because texts of others may be very long. One character
        # more than fits shows below that something was cut.
        text = text[: max_characters + 1]
    if not text.isprintable():
        text = "".join(map(_escaped, text))
    if _COMMAND in text:
        text = text.replace(_COMMAND, "\\x23#[")
    # The cheap test first: this runs for every line of a log.
    if "::" in text and _COMMAND_AT_START.match(text):
        text = _COMMAND_AT_START.sub(r"\1\\x3a", text, count=1)
    return (
        text
        if max_characters is None or len(text) <= max_characters
        else text[: max_characters - len(_CUT)] + _CUT
    )


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")


def printable_lines(lines: Iterable[str]) -> str:
    """Lines that may hold texts of others, each with a line break at its end."""
    return "".join(f"{printable(line)}\n" for line in lines)


def printable_json(text: str) -> str:
    """JSON text whose characters are printable, except for its line breaks. It says the same."""
    if _COMMAND in text:  # inside a string: outside of them JSON has no #
        text = text.replace(_COMMAND, "\\u0023#[")
    if text.isascii() and "\x7f" not in text:  # JSON has no other control characters
        return text
    lines: list[str] = []
    for line in text.split("\n"):
        # Most lines are printable as they are, and this is the quick way to see it.
        lines.append(line if line.isprintable() else "".join(map(_json, line)))
    return "\n".join(lines)


def _json(character: str) -> str:
    """A character of a JSON string, escaped unless it is printable."""
    if character.isprintable():
        return character
    # JSON escapes characters beyond the first 65,536 as two surrogates.
    pairs = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{pairs[start : start + 4]}" for start in range(0, len(pairs), 4))
