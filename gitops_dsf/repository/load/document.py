"""One YAML document: its plain data, and the position of each part in the file.

Positions are computed on request. The document keeps its text and composes it again for the first
request, so a repository without mistakes never pays for positions.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Final

from yaml._yaml import CParser
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from gitops_dsf.diagnostics import Position
from gitops_dsf.diagnostics.codes import ALIASES, DEPTH, Code

MAX_DEPTH: Final = 64
"""Levels of nested mappings and lists. The C composer recurses, and crashes on tens of thousands."""

_ALIAS = re.compile(r"(?:^|[\s\[{,])\*[^\s*]")
"""What every alias matches, and some other text."""


class _Composer(CParser):
    """PyYAML's binding asks its subclass for the tag of each node. There is none: the style tells what is
    quoted. A builtin that takes any arguments is called faster than a method.
    """

    resolve = descend_resolver = ascend_resolver = "".format


def compose(text: str) -> Iterator[Node]:
    """Composes every document of a text, in which `forbidden` found nothing.

    Raises yaml.MarkedYAMLError or yaml.reader.ReaderError at the first mistake.
    """
    parser: Any = _Composer(text)
    try:
        while parser.check_node():
            yield parser.get_node()
    finally:
        parser.dispose()


def forbidden(text: str) -> tuple[Code, Any, str, str] | None:
    """The first alias or too deep collection: code, mark, message, hint. Does not recurse; may raise."""
    if not _could_be_deep(text) and not ("*" in text and _ALIAS.search(text)):
        return None
    parser: Any = _Composer(text)
    level = 0
    try:
        while parser.check_event():
            event = parser.get_event()
            if isinstance(event, AliasEvent):
                message = f"the alias *{event.anchor} is not read"
                return ALIASES, event.start_mark, message, "write the value out"
            level += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            if level > MAX_DEPTH:
                message = f"more than {MAX_DEPTH} levels of mappings and lists inside each other"
                return DEPTH, event.start_mark, message, "flatten the document"
    finally:
        parser.dispose()
    return None


def _could_be_deep(text: str) -> bool:
    """Whether the text could be nested too deeply. It is cheap, and False is always right.

    Each level of nesting needs an opening bracket or at least one column at the start of a line: spaces, or
    the indicators of a compact collection such as `- - -`.
    """
    brackets = text.count("[") + text.count("{")
    return brackets >= MAX_DEPTH or _indented(MAX_DEPTH - brackets).search(f"\n{text}") is not None


@lru_cache(maxsize=256)
def _indented(columns: int) -> re.Pattern[str]:
    return re.compile(
        rf"[\n\r\x85\u2028\u2029]\ufeff?[ \t\-?:]{{{columns}}}"
    )  # what ends a line in libyaml


Path = tuple[str | int, ...]
"""Field names and list indices from the root, such as ("spec", "masks", 0, "clusterName")."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AmbiguousValue:
    """A scalar that YAML parsers read differently. It stays a text until the type of its field is known."""

    path: Path
    position: Position
    text: str
    """As it was written."""
    readings: tuple[str, ...]
    """What it may mean if text is not meant."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Document:
    """The plain data (dict, list, str, int, float, bool, None) of one document, and its position."""

    file: str
    text: str
    """The part of the file that contains the document, from its `---` or the start of the file."""
    first_line: int
    """How many lines of the file come before that part."""
    index: int
    """The index of the document in that part. It is above 0 only after a `...` line."""
    data: dict[str, Any]
    start: tuple[int, int]
    """Line and column (from 1) of the document's first field."""
    name_at: tuple[int, int]
    """Line and column (from 1) of metadata.name; of the document's start if it is absent."""
    ambiguous: tuple[AmbiguousValue, ...] = ()
    """Ambiguous scalars. Each has a finding already."""

    @property
    def api_version(self) -> str:
        """The value of `apiVersion`; empty if it is absent or not a string."""
        return _text(self.data, "apiVersion")

    @property
    def kind(self) -> str:
        """The value of `kind`; empty if it is absent or not a string."""
        return _text(self.data, "kind")

    @property
    def name(self) -> str:
        """The value of `metadata.name`; empty if it is absent or not a string."""
        return _text(self.data.get("metadata"), "name")

    @property
    def position(self) -> Position:
        """The position of metadata.name, which is used for findings about the whole object."""
        return Position(file=self.file, line=self.name_at[0], column=self.name_at[1])

    @cached_property
    def root(self) -> Node:
        """The composed document. Its marks are relative to `text`."""
        # Stop after this document: the rest of the text may be malformed.
        return next(islice(compose(self.text), self.index, None))

    def at(self, path: Path) -> Position:
        """The position of the value at a path. For a missing path, the key of its nearest existing parent."""
        node, key, whole = self.walk(path)
        if not whole and key is not None:
            node = key
        return self._mark(node)

    def key_at(self, path: Path) -> Position:
        """The position of the key at a path; for list items, the item."""
        node, key, _ = self.walk(path)
        return self._mark(node if key is None else key)

    def inside(self, path: Path, offset: int) -> Position:
        """The position of a character of a string value, through quotes, escapes and folding."""
        node, _, whole = self.walk(path)
        if not whole or not isinstance(node, ScalarNode):
            return self.at(path)
        line, column = line_and_column(self.text, source_index(self.text, node, offset))
        return Position(file=self.file, line=self.first_line + line + 1, column=column + 1)

    def written(self, path: Path) -> str:
        """The text of a scalar as it is written: 1.10, not 1.1. Empty if the value is not a scalar."""
        node, _, whole = self.walk(path)
        return str(node.value) if whole and isinstance(node, ScalarNode) else ""

    def part(self, path: Path, *, data: dict[str, Any]) -> "Document":
        """A document of this data, whose positions are those of the object at a path and of its fields."""
        node, _, _ = self.walk(path)
        start, name = (
            (each.line, each.column) for each in (self._mark(node), self.at((*path, "name")))
        )
        found = replace(self, data=data, start=start, name_at=name, ambiguous=())
        found.__dict__["root"] = node
        return found

    def items(self, *path: str | int) -> Iterator[Path]:
        """The paths of the items of a list; none if there is no list."""
        found = value_at(self.data, path)
        return ((*path, index) for index in range(len(found) if isinstance(found, list) else 0))

    def has(self, path: Path) -> bool:
        return value_at(self.data, path, _ABSENT) is not _ABSENT

    def walk(self, path: Path) -> tuple[Node, ScalarNode | None, bool]:
        """The deepest existing node on the path, its key, and whether the whole path exists."""
        node, key = self.root, None
        for part in path:
            if isinstance(node, MappingNode):
                fields = (
                    (k, v) for k, v in node.value if isinstance(k, ScalarNode) and k.value == part
                )
                if (found := next(fields, None)) is None:
                    return node, key, False
                key, node = found
            elif (
                isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value)
            ):
                node, key = node.value[part], None
            else:
                return node, key, False
        return node, key, True

    def _mark(self, node: Node) -> Position:
        return Position(
            file=self.file,
            line=self.first_line + node.start_mark.line + 1,
            column=node.start_mark.column + 1,
        )


def _text(data: object, field: str) -> str:
    value = data.get(field) if isinstance(data, dict) else None
    return value if isinstance(value, str) else ""


_ABSENT = object()


def value_at(data: Any, path: Path, missing: Any = None) -> Any:  # noqa: ANN401 - plain data
    """The plain value at a path; `missing` if there is none."""
    for part in path:
        if isinstance(data, dict):
            data = data.get(part, missing)
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return missing
    return data


def texts_in(data: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:  # noqa: ANN401 - plain data
    """Every string at or below a path, with its own path."""
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, dict):
        for key, item in data.items():
            yield from texts_in(item, (*path, key))
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from texts_in(item, (*path, index))


_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}
_BLANK_ESCAPES = frozenset("tnrvf _\t\nNLP")


def line_and_column(text: str, index: int) -> tuple[int, int]:
    """The 0-based line and column of a character."""
    return text.count("\n", 0, index), index - (text.rfind("\n", 0, index) + 1)


def source_index(text: str, node: ScalarNode, offset: int) -> int:
    """Index in `text` of the value's character at `offset`.

    Characters other than white space appear in the source in the same order and number (an escape counts as
    one). So the n-th of the value is the n-th of the source, whatever folding and indentation did between
    them. White space is mapped to the place after the preceding character, and so is the end of the value.
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
