"""Spellings of the blog post and of the first enhancement text: recognised, named, and rewritten by `gitops-dsf migrate` alone."""

from dataclasses import dataclass

from gitops_dsf.load import Document, Path


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """One spelling that is not ours, and what to write."""

    path: Path
    is_value: bool
    """Whether the value is spelled differently; otherwise its key is."""
    message: str
    hint: str
    replaces: tuple[Path, ...] = ()
    """Places that would be filled by the right spelling; what is missing there is no mistake of its own."""


def find_dialects(document: Document) -> list[Dialect]:
    """Every foreign spelling of a document, in the order of the rules."""
    del document
    return []
