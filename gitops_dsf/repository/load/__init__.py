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
    "Known",
    "Loaded",
    "load_text",
    "texts_in",
    "value_at",
]


_LOST: Final = frozenset({codes.ABSENT.id, codes.CHANGED_BY_GIT.id})


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """Every document that could be parsed, and the findings about the others.

    Documents are in order of file and line.

    Documents are in order of file and line.
    """

    documents: tuple[Document, ...]
    diagnostics: tuple[Diagnostic, ...]

    def check_complete(self) -> None:
        """For programs that go on where a document is broken.

        Raises RepositoryError if git has sources that could not be read: without them a repository
        looks like one from which somebody removed them.
        """
        lost = [item for item in self.diagnostics if item.code in _LOST]
        if lost:
            places = "\n".join(
                f"  {item.position}: {item.message}; {item.hint}" for item in lost[:5]
            )
            raise RepositoryError(f"git has sources that cannot be read here:\n{places}")

    def with_files(self, files: Mapping[str, str | None]) -> "Loaded":
        """The repository as it is once these texts are written; None removes a file."""
        documents = [item for item in self.documents if item.file not in files]
        diagnostics = [item for item in self.diagnostics if item.position.file not in files]
        for file, text in files.items():
            if text is not None:
                new = load_text(text, file=file)
                documents += new.documents
                diagnostics += new.diagnostics
        documents.sort(key=lambda item: item.file)
        return Loaded(documents=tuple(documents), diagnostics=tuple(diagnostics))


Known = dict[tuple[str, str], Parsed]
"""What is in files that were parsed, by path and text."""


def load_text(text: str, *, file: str) -> Loaded:
    """Reads one text as if it were a file of a repository."""
    documents, diagnostics = parse(file=file, text=text.removeprefix("\ufeff"))
    return Loaded(documents=tuple(documents), diagnostics=tuple(diagnostics))
