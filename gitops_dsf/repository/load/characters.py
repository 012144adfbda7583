"""Finds the character of a file that a character of a YAML value comes from.

Quotes, escapes and folding make the text of a scalar differ from its source, so a mistake inside of
a query needs this to be shown at its column.
"""

from typing import Final

from yaml.nodes import ScalarNode

_HEX_ESCAPES: Final = {"x": 2, "u": 4, "U": 8}
"""Hexadecimal digits of the escapes that name a character by its number."""
_BLANK_ESCAPES: Final = frozenset("tnrvf _\t\nNLP")
"""Escapes of YAML 1.2 (section 5.7) for white space, and for a line break that is folded away."""


def line_and_column(text: str, index: int) -> tuple[int, int]:
    """The 0-based line and column of a character."""
    return text.count("\n", 0, index), index - (text.rfind("\n", 0, index) + 1)


def source_index(text: str, node: ScalarNode, offset: int) -> int:
    """Index in `text` of the value's character at `offset`.

    Characters other than white space appear in the source in the same order and number (an escape
    counts as one). So the n-th of the value is the n-th of the source, whatever folding and
    indentation did between them. White space is mapped to the place after the preceding character,
    and so is the end of the value.
    """
    value = str(node.value)
    start = int(node.start_mark.index)
    spans = _spans(text, start, int(node.end_mark.index), str(node.style or ""))
    visible = [index for index, character in enumerate(value) if not character.isspace()]
    if len(visible) != len(spans):
        # The count above did not hold. The start of the value is better than a wrong column.
        return start
    before = sum(1 for index in visible if index < offset)
    if offset < len(value) and not value[offset].isspace():
        return spans[before][0]
    return spans[before - 1][1] if before else start


def _spans(text: str, start: int, end: int, style: str) -> list[tuple[int, int]]:
    """Start and end index of every character of the value that is not white space."""
    # libyaml's marks of a block begin at its indicator, and those of a quoted text at its quotes.
    if style in {"|", ">"}:
        # The rest of the first line is the header of the block, such as `|-`.
        line_end = text.find("\n", start, end)
        start = end if line_end < 0 else line_end + 1
    elif style in {"'", '"'}:
        start += 1
        end -= 1
    spans: list[tuple[int, int]] = []
    index = start
    while index < end:
        width, is_blank = _width(text, index, style)
        if not is_blank:
            spans.append((index, index + width))
        index += width
    return spans


def _width(text: str, index: int, style: str) -> tuple[int, bool]:
    """The number of source characters of the character at an index, and whether it is blank."""
    character = text[index]
    if style == "'" and text.startswith("''", index):
        return 2, False
    if style == '"' and character == "\\":
        escape = text[index + 1]
        digits = _HEX_ESCAPES.get(escape, 0)
        if digits:
            number = int(text[index + 2 : index + 2 + digits], 16)
            return 2 + digits, chr(number).isspace()
        return 2, escape in _BLANK_ESCAPES
    return 1, character.isspace()
