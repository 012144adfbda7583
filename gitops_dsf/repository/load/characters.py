"""Finds the character of a file that a character of a YAML value comes from.

Quotes, escapes and folding make the text of a scalar differ from its source, so a mistake inside of
a query needs this to be shown at its column.
"""

from yaml.nodes import ScalarNode

_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}

_BLANK_ESCAPES = frozenset("tnrvf _\t\nNLP")


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
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    places = _places(text, start, end, str(node.style or ""))
    solid = [index for index, char in enumerate(value) if not char.isspace()]
    if len(solid) != len(places):
        return start
    before = sum(1 for index in solid if index < offset)
    if offset < len(value) and not value[offset].isspace():
        return places[before][0]
    return places[before - 1][1] if before else start


def _places(text: str, start: int, end: int, style: str) -> list[tuple[int, int]]:
    """Start and end index of every character of the value that is not white space."""
    if style in {"|", ">"}:
        line_end = text.find("\n", start, end)
        start = end if line_end < 0 else line_end + 1
    elif style in {"'", '"'}:
        start, end = start + 1, end - 1
    places: list[tuple[int, int]] = []
    index = start
    while index < end:
        width, blank = _width(text, index, style)
        if not blank:
            places.append((index, index + width))
        index += width
    return places


def _width(text: str, index: int, style: str) -> tuple[int, bool]:
    """How many source characters the character at an index uses, and whether it is white space."""
    char = text[index]
    if style == "'" and text.startswith("''", index):
        return 2, False
    if style == '"' and char == "\\":
        escape = text[index + 1]
        digits = _HEX_ESCAPES.get(escape, 0)
        if digits:
            return 2 + digits, chr(int(text[index + 2 : index + 2 + digits], 16)).isspace()
        return 2, escape in _BLANK_ESCAPES
    return 1, char.isspace()
