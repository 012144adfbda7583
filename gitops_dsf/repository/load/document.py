"""One YAML document: its plain data, and where in the file each part of it was written.

Positions are looked up when somebody asks: the document keeps its text and is composed a second time for the
first question, which costs nothing in a repository without mistakes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from gitops_dsf.diagnostics import Position
from gitops_dsf.repository.load.ambiguous import AmbiguousValue
from gitops_dsf.repository.load.compose import compose
from gitops_dsf.repository.load.source_text import source_index

Path = Sequence[str | int]
"""Field names and list indices from the root, such as ("spec", "masks", 0, "clusterName")."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Document:
    """Plain data (dict, list, str, int, float, bool, None) of one document, and its place in the
    repository.
    """

    file: str
    text: str
    """The part of the file that holds the document, from its `---` or the start of the file."""
    first_line: int
    """Lines of the file before that part."""
    index: int
    """Which document of that part this is; more than 0 only after a `...` line."""
    data: dict[str, Any]
    start: tuple[int, int]
    """Line and column (from 1) of the document's first field."""
    name_at: tuple[int, int]
    """Line and column (from 1) of metadata.name, or of the document's start without one."""
    ambiguous: tuple[AmbiguousValue, ...] = ()
    """Values that readers of YAML disagree about; each has a finding already."""

    @property
    def api_version(self) -> str:
        """`apiVersion`, empty when absent or not a string."""
        value = self.data.get("apiVersion")
        return value if isinstance(value, str) else ""

    @property
    def kind(self) -> str:
        """`kind`, empty when absent or not a string."""
        value = self.data.get("kind")
        return value if isinstance(value, str) else ""

    @property
    def name(self) -> str:
        """`metadata.name`, empty when absent or not a string."""
        metadata = self.data.get("metadata")
        value = metadata.get("name") if isinstance(metadata, dict) else None
        return value if isinstance(value, str) else ""

    @property
    def position(self) -> Position:
        """Where metadata.name is written: the place that findings about the whole object point at."""
        return Position(file=self.file, line=self.name_at[0], column=self.name_at[1])

    @cached_property
    def root(self) -> Node:
        """The composed document, with marks relative to `text`."""
        # No further than this document: what follows it in the text may be broken.
        return next(islice(compose(self.text), self.index, None))

    def at(self, path: Path) -> Position:
        """Where the value of a path is written; for a path that is not there, the key of its nearest parent
        that is.
        """
        node, key, whole = self._walk(path)
        if not whole and key is not None:
            node = key
        return self._mark(node)

    def key_at(self, path: Path) -> Position:
        """Where the key of a path is written; the item itself for list items."""
        node, key, _ = self._walk(path)
        return self._mark(node if key is None else key)

    def inside(self, path: Path, offset: int) -> Position:
        """Where a character of a string value is written, by its offset in the value: through quotes, escapes
        and folding.
        """
        node, _, whole = self._walk(path)
        if not whole or not isinstance(node, ScalarNode):
            return self.at(path)
        index = source_index(self.text, node, offset)
        line = self.text.count("\n", 0, index)
        column = index - (self.text.rfind("\n", 0, index) + 1)
        return Position(file=self.file, line=self.first_line + line + 1, column=column + 1)

    def written(self, path: Path) -> str:
        """The text of a scalar as its author wrote it, 1.10 and not 1.1; empty for what is no scalar."""
        node, _, whole = self._walk(path)
        return str(node.value) if whole and isinstance(node, ScalarNode) else ""

    def has(self, path: Path) -> bool:
        """Whether the author wrote something at this path."""
        value: Any = self.data
        for part in path:
            there = (
                part in value
                if isinstance(value, dict)
                else isinstance(value, list) and isinstance(part, int) and part < len(value)
            )
            if not there:
                return False
            value = value[part]
        return True

    def _walk(self, path: Path) -> tuple[Node, Node | None, bool]:
        """The deepest node on the way, the key it stands under, and whether the whole path is there."""
        node, key = self.root, None
        for part in path:
            if isinstance(node, MappingNode):
                found = next(
                    ((k, v) for k, v in node.value if isinstance(k, ScalarNode) and k.value == part), None
                )
                if found is None:
                    return node, key, False
                key, node = found
            elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
                node, key = node.value[part], None
            else:
                return node, key, False
        return node, key, True

    def _mark(self, node: Node) -> Position:
        return Position(
            file=self.file, line=self.first_line + node.start_mark.line + 1, column=node.start_mark.column + 1
        )
