"""Loads the files of a fleet repository as documents: plain data that knows its position."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as Folder

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.load.discover import SETTINGS_FILE, discover
from gitops_dsf.repository.load.document import AmbiguousValue, Document, Path, texts_in, value_at
from gitops_dsf.repository.load.parse import Parsed, parse

__all__ = [
    "SETTINGS_FILE",
    "AmbiguousValue",
    "Document",
    "Known",
    "Loaded",
    "Path",
    "load",
    "load_text",
    "texts_in",
    "value_at",
]


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """Every document that could be parsed, in order of file and line, and the findings about the others."""

    documents: tuple[Document, ...]
    diagnostics: tuple[Diagnostic, ...]

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


def load(root: Folder, *, known: Known | None = None) -> Loaded:
    """Reads a fleet repository. Raises RepositoryError when the folder or a file cannot be read.

    With `known`, two versions of a repository parse a file that is the same in both once.
    """
    files, diagnostics = discover(root)
    if not files and not diagnostics:
        message = (
            "no gitops-dsf.yaml, and no YAML file in scorers/, config/, clusters/, apps/, locks/ or tests/"
        )
        hint = "run gitops-dsf init in an empty folder, or name the folder of a fleet repository"
        if (root.resolve().parent / SETTINGS_FILE).is_file():
            hint = "the fleet repository is the folder above: name that one"
        diagnostics.append(codes.EMPTY.at(Position(file=SETTINGS_FILE), message, hint))
    documents: list[Document] = []
    known = {} if known is None else known
    for file, text in files.items():
        if (file, text) not in known:
            known[file, text] = parse(file=file, text=text)
        found, mistakes = known[file, text]
        documents += found
        diagnostics += mistakes
    return Loaded(documents=tuple(documents), diagnostics=tuple(diagnostics))


def load_text(text: str, *, file: str) -> Loaded:
    """Reads one text as if it were a file of a repository."""
    documents, diagnostics = parse(file=file, text=text.removeprefix("\ufeff"))
    return Loaded(documents=tuple(documents), diagnostics=tuple(diagnostics))
