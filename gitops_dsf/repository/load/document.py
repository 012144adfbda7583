"""One YAML document: its plain data, and the position of each part in the file.

Positions are computed on request. The document keeps its text and composes it again for the first
request, so a repository without mistakes never pays for positions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Final, NamedTuple

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from gitops_dsf.diagnostics import Position
from gitops_dsf.repository.load.characters import line_and_column, source_index
from gitops_dsf.repository.load.compose import compose
from gitops_dsf.repository.load.plaindata import FieldPath, value_at

_ABSENT: Final = object()


@dataclass(frozen=True, kw_only=True, slots=True)
class AmbiguousValue:
    """A scalar that YAML parsers read differently.

    It stays a text until the type of its field is known.
    """

    path: FieldPath
    position: Position
    text: str
    """The text as it was written."""
    readings: tuple[str, ...]
    """The other meanings of the text, if it is not meant as text."""


class _PathEnd(NamedTuple):
    """The place in a composed document that a path leads to."""

    node: Node
    """The deepest node on the path that exists."""
    key: ScalarNode | None
    """The field name in front of that node; None for list items and the root."""
    exists: bool
    """Whether the whole path exists."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Document:
    """The plain data (dict, list, str, int, float, bool, None) of one document, with positions."""

    file: str
    text: str
    """The part of the file that contains the document, from its `---` or the start of the file."""
    first_line: int
    """The number of lines of the file before that part."""
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
        # The composer stops after this document, because the rest of the text may be malformed.
        return next(islice(compose(self.text), self.index, None))

    def at(self, path: FieldPath) -> Position:
        """The position of the value at a path.

        For a missing path, the key of its nearest existing parent.
        """
        end = self._find(path)
        if not end.exists and end.key is not None:
            return self._position_of(end.key)
        return self._position_of(end.node)

    def key_at(self, path: FieldPath) -> Position:
        """The position of the key at a path; for list items, the item."""
        end = self._find(path)
        return self._position_of(end.node if end.key is None else end.key)

    def inside(self, path: FieldPath, offset: int) -> Position:
        """The position of a character of a string value, through quotes, escapes and folding."""
        node, _, exists = self._find(path)
        if not exists or not isinstance(node, ScalarNode):
            return self.at(path)
        line, column = line_and_column(self.text, source_index(self.text, node, offset))
        return Position(file=self.file, line=self.first_line + line + 1, column=column + 1)

    def written(self, path: FieldPath) -> str:
        """The text of a scalar as it is written: 1.10, not 1.1.

        Empty if the value is not a scalar.
        """
        node, _, exists = self._find(path)
        return str(node.value) if exists and isinstance(node, ScalarNode) else ""

    def part(self, path: FieldPath, *, data: dict[str, Any]) -> "Document":
        """A document of this data, with the positions of the object at a path and of its fields."""
        node = self._find(path).node
        start = self._position_of(node)
        name = self.at((*path, "name"))
        part = replace(
            self,
            data=data,
            start=(start.line, start.column),
            name_at=(name.line, name.column),
            ambiguous=(),
        )
        # The cached root: paths of the part begin at this node, with the marks of the whole text.
        part.__dict__["root"] = node
        return part

    def items(self, *path: str | int) -> Iterator[FieldPath]:
        """The paths of the items of a list; none if there is no list."""
        values = value_at(self.data, path)
        if isinstance(values, list):
            for index in range(len(values)):
                yield (*path, index)

    def has(self, path: FieldPath) -> bool:
        """Whether the field exists, even with the value null."""
        return value_at(self.data, path, _ABSENT) is not _ABSENT

    def _find(self, path: FieldPath) -> _PathEnd:
        """Follows a path in the composed document as far as it exists."""
        node = self.root
        key: ScalarNode | None = None
        for part in path:
            if isinstance(node, MappingNode):
                entry = _field(node, part)
                if entry is None:
                    return _PathEnd(node, key, exists=False)
                key, node = entry
            elif (
                isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value)
            ):
                node = node.value[part]
                key = None
            else:
                return _PathEnd(node, key, exists=False)
        return _PathEnd(node, key, exists=True)

    def _position_of(self, node: Node) -> Position:
        return Position(
            file=self.file,
            line=self.first_line + node.start_mark.line + 1,
            column=node.start_mark.column + 1,
        )


def _field(mapping: MappingNode, name: str | int) -> tuple[ScalarNode, Node] | None:
    """The key and the value of the first field of this name; None if there is none."""
    for key, value in mapping.value:
        if isinstance(key, ScalarNode) and key.value == name:
            return key, value
    return None


def _text(data: object, field: str) -> str:
    value = data.get(field) if isinstance(data, dict) else None
    return value if isinstance(value, str) else ""
