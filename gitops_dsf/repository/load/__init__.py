"""The documents of a fleet repository: plain data that knows its position."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.errors import RepositoryError
from gitops_dsf.repository.load.document import AmbiguousValue, Document
from gitops_dsf.repository.load.parse import Parsed, parse
from gitops_dsf.repository.load.paths import SETTINGS_FILE
from gitops_dsf.repository.load.plaindata import FieldPath, texts_in, value_at

__all__ = [
    "SETTINGS_FILE",
    "AmbiguousValue",
    "Document",
    "FieldPath",
    "Loaded",
    "ParsedFiles",
    "load_text",
    "texts_in",
    "value_at",
]

ParsedFiles = dict[tuple[str, str], Parsed]
"""The content of files that were parsed, by path and text."""

_MAX_LISTED: Final = 5
_LOST: Final = frozenset({codes.ABSENT.id, codes.CHANGED_BY_GIT.id})
"""Findings about sources that git has, and that cannot be read here."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """Every document that could be parsed, and the findings about the others.

    Documents are in order of file and line.
    """

    documents: tuple[Document, ...]
    diagnostics: tuple[Diagnostic, ...]

    def check_complete(self) -> None:
        """Raises RepositoryError if git has sources that could not be read.

        It is for programs that go on where a document is broken: without those sources, a
        repository looks as if they had been removed.
        """
        lines: list[str] = []
        for finding in self.diagnostics:
            if finding.code in _LOST:
                lines.append(f"  {finding.position}: {finding.message}; {finding.hint}")
        if lines:
            listed = "\n".join(lines[:_MAX_LISTED])
            raise RepositoryError(f"git has sources that cannot be read here:\n{listed}")

    def with_files(self, files: Mapping[str, str | None]) -> "Loaded":
        """The repository as it is once these texts are written; None removes a file."""
        documents = [document for document in self.documents if document.file not in files]
        diagnostics = [
            finding for finding in self.diagnostics if finding.position.file not in files
        ]
        for file, text in files.items():
            if text is not None:
                new = load_text(text, file=file)
                documents += new.documents
                diagnostics += new.diagnostics
        # Stable: the documents of one file stay in order of their lines.
        documents.sort(key=lambda document: document.file)
        return Loaded(documents=tuple(documents), diagnostics=tuple(diagnostics))


def load_text(text: str, *, file: str) -> Loaded:
    """Reads one text as if it were a file of a repository."""
    # Editors on Windows write a byte order mark, and positions count from behind it.
    documents, diagnostics = parse(file=file, text=text.removeprefix("\ufeff"))
    return Loaded(documents=tuple(documents), diagnostics=tuple(diagnostics))
