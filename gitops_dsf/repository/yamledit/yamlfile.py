"""Edits a YAML file that people wrote, in place, and keeps its comments, quotes and indentation.

Guaranteed: a document that is not edited stays byte for byte. Not guaranteed: that each line of an
edited document does; ruamel.yaml writes it with one style of indentation.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from io import StringIO
from typing import Any, Final, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from gitops_dsf.diagnostics import Edit
from gitops_dsf.repository.load import FieldPath, value_at
from gitops_dsf.repository.yamledit.comments import with_comments_of
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
"""The end of a document inside a part, where more can follow."""
_MISSING: Final = object()


class YamlFile:
    """The documents of one text.

    Documents that are not edited stay byte for byte. An edited document keeps its comments. Its
    other lines stay the same if it is indented in one style.
    """

    def __init__(self, text: str) -> None:
        self._bom = _BOM if text.startswith(_BOM) else ""
        # A line that starts with `---` is always a marker (YAML 1.2.2, section 9.1.2).
        self._documents = [
            _Document(part) for part in _MARKER.split(text.removeprefix(_BOM)) if part
        ]

    def find(self, kind: str, name: str) -> CommentedMap | None:
        """Returns the document of an object, to be edited in place; None if there is none."""
        document = self._find(kind, name)
        return None if document is None else document.content

    def remove(self, kind: str, name: str) -> bool:
        """Removes the document of an object. Returns False if there is none."""
        unwanted = self._find(kind, name)
        self._documents = [document for document in self._documents if document is not unwanted]
        return unwanted is not None

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
        # Parsing for an edit is slow, and a file may hold a thousand clusters. So the documents
        # that contain the name are parsed first; names are rarely written with escapes.
        for document in sorted(self._documents, key=lambda document: name not in document.body):
            content = document.content
            if isinstance(content, CommentedMap) and content.get("kind") == kind:
                metadata = content.get("metadata")
                if isinstance(metadata, Mapping) and metadata.get("name") == name:
                    return document
        return None


def appended(text: str, document: str) -> str:
    """Returns a text with one more document at its end."""
    if not text.strip():
        return document
    # As the file has them: a file with both kinds of line breaks is a nuisance in most editors.
    newline = "\r\n" if "\r\n" in text else "\n"
    end = "" if text.endswith(newline) else newline
    return f"{text}{end}---{newline}{document.replace(chr(10), newline)}"


def written(content: CommentedMap) -> str:
    """The text of a new document."""
    return _written(_emitter(2, 2, 0, marker=False), content)


class _Parsed(NamedTuple):
    """A document, and the emitter that writes it."""

    emitter: YAML
    content: Any
    text: str
    """The text that the emitter writes before any edit."""


class _Document:
    """A document that is parsed on first use, with the comments after it."""

    def __init__(self, text: str) -> None:
        line, end, rest = text.partition("\n")
        is_marker = line.startswith("---") and line[3:].strip()[:1] in {"", "#"}
        self._marker = f"{line}{end}" if is_marker else ""
        self.body = rest if is_marker else text
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self.lines = text.count("\n")
        """The number of lines before any edit."""

    @cached_property
    def _parsed(self) -> _Parsed:
        return _parse(self.body.replace("\r\n", "\n"))

    @property
    def content(self) -> Any:  # noqa: ANN401 - whatever YAML holds
        """The content that can be edited; None if there is nothing, or more than one document."""
        return None if _END.search(self.body) else self._parsed.content

    @property
    def text(self) -> str:
        """The text of the document: as it was, unless an edit changed it."""
        if "_parsed" not in self.__dict__:
            # The content was not asked for, so it cannot have changed.
            return f"{self._marker}{self.body}"
        # ruamel.yaml writes a whole document. Where that equals its own writing before the edits,
        # nothing was edited, and the text of people counts.
        new = _written(self._parsed.emitter, self._parsed.content)
        if new == self._parsed.text:
            return f"{self._marker}{self.body}"
        new = with_comments_of(self.body.replace("\r\n", "\n"), new)
        return f"{self._marker}{new.replace(chr(10), self._newline)}"


def _parse(text: str) -> _Parsed:
    """Parses one document, with the emitter that writes exactly this text.

    If none does, it is the one with the most common indentation.
    """
    attempts: list[_Parsed] = []
    # ruamel.yaml does not keep how lists are indented, so the style is found by trying.
    for indent in _INDENTS:
        emitter = _emitter(*indent, marker=text.startswith("---"))
        content = emitter.load(text)
        attempt = _Parsed(emitter, content, _written(emitter, content))
        if attempt.text == text:
            return attempt
        attempts.append(attempt)
    return attempts[0]


def _emitter(mapping: int, sequence: int, offset: int, *, marker: bool) -> YAML:
    yaml = YAML()
    # A diff for reviewers shows only what an edit changed, so quotes and long lines stay.
    yaml.preserve_quotes = True
    yaml.width = _WIDTH
    yaml.allow_duplicate_keys = False
    yaml.explicit_start = marker
    yaml.indent(mapping=mapping, sequence=sequence, offset=offset)
    return yaml


def _written(yaml: YAML, content: Any) -> str:  # noqa: ANN401 - whatever YAML holds
    if content is None:
        return ""
    out = StringIO()
    yaml.dump(content, out)
    return out.getvalue()
