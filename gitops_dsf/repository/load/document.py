"""One YAML document: its plain data, and the position of each part in the file.

Positions are computed on request. The document keeps its text and composes it again for the first
request, so a repository without mistakes never pays for positions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from gitops_dsf.diagnostics import Position
from gitops_dsf.repository.load.characters import line_and_column, source_index
from gitops_dsf.repository.load.compose import compose
from gitops_dsf.repository.load.plaindata import FieldPath, value_at


@dataclass(frozen=True, kw_only=True, slots=True)
class AmbiguousValue:
    """A scalar that YAML parsers read differently.

    It stays a text until the type of its field is known.
    """

    path: FieldPath
    position: Position
    text: str
    """As it was written."""
    readings: tuple[str, ...]
    """What it may mean if text is not meant."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Document:
    """The plain data (dict, list, str, int, float, bool, None) of one document, with positions."""

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

    def at(self, path: FieldPath) -> Position:
        """The position of the value at a path.

        For a missing path, the key of its nearest existing parent.
        """
        node, key, whole = self.walk(path)
        if not whole and key is not None:
            node = key
        return self._mark(node)

    def key_at(self, path: FieldPath) -> Position:
        """The position of the key at a path; for list items, the item."""
        node, key, _ = self.walk(path)
        return self._mark(node if key is None else key)

    def inside(self, path: FieldPath, offset: int) -> Position:
        """The position of a character of a string value, through quotes, escapes and folding."""
        node, _, whole = self.walk(path)
        if not whole or not isinstance(node, ScalarNode):
            return self.at(path)
        line, column = line_and_column(self.text, source_index(self.text, node, offset))
        return Position(file=self.file, line=self.first_line + line + 1, column=column + 1)

    def written(self, path: FieldPath) -> str:
        """The text of a scalar as it is written: 1.10, not 1.1.

        Empty if the value is not a scalar.
        """
        node, _, whole = self.walk(path)
        return str(node.value) if whole and isinstance(node, ScalarNode) else ""

    def part(self, path: FieldPath, *, data: dict[str, Any]) -> "Document":
        """A document of this data, with the positions of the object at a path and of its fields."""
        node, _, _ = self.walk(path)
        start, name = (
            (each.line, each.column) for each in (self._mark(node), self.at((*path, "name")))
        )
        found = replace(self, data=data, start=start, name_at=name, ambiguous=())
        found.__dict__["root"] = node
        return found

    def items(self, *path: str | int) -> Iterator[FieldPath]:
        """The paths of the items of a list; none if there is no list."""
        found = value_at(self.data, path)
        return ((*path, index) for index in range(len(found) if isinstance(found, list) else 0))

    def has(self, path: FieldPath) -> bool:
        return value_at(self.data, path, _ABSENT) is not _ABSENT

    def walk(self, path: FieldPath) -> tuple[Node, ScalarNode | None, bool]:
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
