"""A YAML file that people wrote.

It is edited in place and keeps its comments, quotes and indentation.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from io import StringIO
from typing import Any, Final, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from gitops_dsf.diagnostics import Edit
from gitops_dsf.repository.load import FieldPath, value_at
from gitops_dsf.repository.yamledit.mirror import apply

_INDENTS: Final = ((2, 4, 2), (2, 2, 0), (4, 4, 2), (4, 6, 4), (4, 4, 0))
"""Indentation of mappings, sequences and dashes in the styles people use, the most common first."""
_WIDTH: Final = 1_000_000
"""Characters before a line is folded. Lines are never folded, because reviewers compare whole
values.
"""
_BOM: Final = "\ufeff"
_MARKER: Final = re.compile(r"^(?=---(?:\s|$))", re.MULTILINE)
_END: Final = re.compile(r"^\.\.\.(?:\s|$)", re.MULTILINE)
"""The end of a document inside of a part, where more can follow."""
_MISSING: Final = object()


class YamlFile:
    """The documents of one text.

    Documents that are not edited stay byte for byte.

    An edited document keeps its comments. Its other lines stay the same if it is indented in one
    style.
    """

    def __init__(self, text: str) -> None:
        self._bom = _BOM if text.startswith(_BOM) else ""
        # A line that starts with `---` is always a marker (YAML 1.2.2, section 9.1.2).
        self._documents = [
            _Document(part) for part in _MARKER.split(text.removeprefix(_BOM)) if part
        ]

    def find(self, kind: str, name: str) -> CommentedMap | None:
        """Returns the document of an object, to be edited in place."""
        found = self._find(kind, name)
        return None if found is None else found.content

    def remove(self, kind: str, name: str) -> bool:
        """Removes the document of an object. Returns False if there is none."""
        found = self._find(kind, name)
        self._documents = [document for document in self._documents if document is not found]
        return found is not None

    def edit(self, line: int, edits: Iterable[Edit]) -> bool:
        """Makes the edits of a finding in the document that holds a line.

        Returns False if the document cannot be edited.
        """
        try:
            content = self._content_at(line)
            return content is not None and all(apply(content, edit) for edit in edits)
        except YAMLError:
            return False

    def has(self, line: int, path: FieldPath) -> bool:
        """Whether the document that holds a line has a field now; False if it cannot be edited."""
        try:
            return value_at(self._content_at(line), path, _MISSING) is not _MISSING
        except YAMLError:
            return False

    def _content_at(self, line: int) -> Any:  # noqa: ANN401 - whatever YAML holds
        for document in self._documents:
            line -= document.lines
            if line <= 0:
                return document.content
        return None

    @property
    def holds_nothing(self) -> bool:
        """Whether no document is left."""
        return all(document.content is None for document in self._documents)

    @property
    def text(self) -> str:
        """The text of the whole file."""
        return self._bom + "".join(document.text for document in self._documents)

    def _find(self, kind: str, name: str) -> "_Document | None":
        # Parsing for an edit is slow, and a file may hold a thousand clusters. Names are rarely written with
        # escapes.
        for document in sorted(self._documents, key=lambda each: name not in each.body):
            content = document.content
            if isinstance(content, CommentedMap) and content.get("kind") == kind:
                metadata = content.get("metadata")
                if isinstance(metadata, Mapping) and metadata.get("name") == name:
                    return document
        return None


class _Read(NamedTuple):
    yaml: YAML
    content: Any
    written: str
    """The text that the emitter writes before any edit."""


class _Document:
    """A document that is parsed on first use, with the comments after it."""

    def __init__(self, text: str) -> None:
        line, end, rest = text.partition("\n")
        is_marker = line.startswith("---") and line[3:].strip()[:1] in {"", "#"}
        self._marker, self.body = (f"{line}{end}", rest) if is_marker else ("", text)
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self.lines = text.count("\n")
        """Before any edit."""

    @cached_property
    def _read(self) -> _Read:
        return _read(self.body.replace("\r\n", "\n"))

    @property
    def content(self) -> Any:  # noqa: ANN401 - whatever YAML holds
        """What can be edited; None if there is nothing, or more than one document."""
        return None if _END.search(self.body) else self._read.content

    @property
    def text(self) -> str:
        if "_read" not in self.__dict__:
            return f"{self._marker}{self.body}"
        new = _written(self._read.yaml, self._read.content)
        if new == self._read.written:
            return f"{self._marker}{self.body}"
        new = with_comments_of(self.body.replace("\r\n", "\n"), new)
        return f"{self._marker}{new.replace(chr(10), self._newline)}"


def appended(text: str, document: str) -> str:
    """Returns a text with one more document at its end."""
    if not text.strip():
        return document
    newline = "\r\n" if "\r\n" in text else "\n"
    end = "" if text.endswith(newline) else newline
    return f"{text}{end}---{newline}{document.replace(chr(10), newline)}"


def _read(text: str) -> _Read:
    """Parses one document. Returns it with the emitter whose output is closest to the text."""
    found: list[_Read] = []
    for indent in _INDENTS:
        yaml = _emitter(*indent, marker=text.startswith("---"))
        content = yaml.load(text)
        found.append(_Read(yaml, content, _written(yaml, content)))
        if found[-1].written == text:
            return found[-1]
    return found[0]


def _emitter(mapping: int, sequence: int, offset: int, *, marker: bool) -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = _WIDTH
    yaml.allow_duplicate_keys = False
    yaml.explicit_start = marker
    yaml.indent(mapping=mapping, sequence=sequence, offset=offset)
    return yaml


def written(content: CommentedMap) -> str:
    """The text of a new document."""
    return _written(_emitter(2, 2, 0, marker=False), content)


def _written(yaml: YAML, content: Any) -> str:  # noqa: ANN401 - whatever YAML holds
    if content is None:
        return ""
    out = StringIO()
    yaml.dump(content, out)
    return out.getvalue()


_COMMENT: Final = re.compile(r"(?:^|(?<=\s))(#)")


def with_comments_of(old: str, new: str) -> str:
    """Returns the new text of a document, with every comment of the old text that is missing in it.

    Each comes back where it was, on a line of its own. Its subject may be gone; only its author can
    decide about that.
    """
    before, kept = old.splitlines(keepends=True), new.splitlines(keepends=True)
    all_lost = list(_lost(before, kept))
    if not all_lost:
        return new
    meaning = _meaning(new)
    for at, lost in reversed(all_lost):
        line = before[lost]
        place, indent = _place(at, line, "".join(before[lost + 1 : lost + 2]).strip(), kept)
        for start in (found.start(1) for found in _COMMENT.finditer(line)):
            without = [*before[:lost], f"{line[:start].rstrip()}\n", *before[lost + 1 :]]
            comment = line[start:].rstrip()
            is_there = _count(comment, kept) >= _count(comment, before)
            if is_there or _meaning("".join(without)) != _meaning(old):
                continue  # or a text that looks like a comment
            tried = [*kept[:place], f"{indent}{comment}\n", *kept[place:]]
            if _meaning("".join(tried)) == meaning:
                kept = tried
                break
    return "".join(kept)


def _count(comment: str, lines: Sequence[str]) -> int:
    return sum(line.rstrip().endswith(comment) for line in lines)


def _place(at: int, line: str, below: str, kept: Sequence[str]) -> tuple[int, str]:
    """Where a comment comes back, and its indentation.

    It is above the line that it stood above, if that moved.
    """
    moved = [index for index, text in enumerate(kept) if below and text.strip() == below]
    if line.lstrip().startswith("#") and len(moved) == 1:
        at, line = moved[0], kept[moved[0]]
    return at, line[: len(line) - len(line.lstrip())]


def _lost(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int]]:
    """For each line that may hold a missing comment, its places in the new and old texts."""
    for tag, start, end, into, until in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if tag in {"delete", "replace"}:
            # A comment at the end of a replaced part belongs to what follows.
            yield from (
                (
                    until if index == end - 1 and before[index].lstrip().startswith("#") else into,
                    index,
                )
                for index in range(start, end)
                if "#" in before[index]
            )


def _meaning(text: str) -> Any:  # noqa: ANN401 - whatever YAML holds
    try:
        return YAML(typ="safe").load(text)
    except YAMLError:
        return ValueError
