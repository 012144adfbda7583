"""Reads the sources of a fleet repository. Every verb that reads a fleet does it with `load`."""

from collections.abc import Iterable
from pathlib import Path

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.diagnostics.listed import Listed
from gitops_dsf.repository.git import top_of
from gitops_dsf.repository.load import Document, Loaded, ParsedFiles
from gitops_dsf.repository.load.discover import discover
from gitops_dsf.repository.load.parse import parse
from gitops_dsf.repository.load.paths import SETTINGS_FILE
from gitops_dsf.repository.recorded.compare import compared
from gitops_dsf.repository.recorded.misplaced import misplaced


def load(
    root: Path, *, known: ParsedFiles | None = None, also: Iterable[Diagnostic] = ()
) -> Loaded:
    """Reads a fleet repository, and compares it with what git has of it.

    `also` are findings about what a revision has and the folder lacks. With `known`, two versions
    of a repository parse a file that is the same in both once.

    Raises RepositoryError when the folder or a file cannot be read.
    """
    files, names, diagnostics = discover(root)
    # A fleet that was unpacked from an archive is valid, too: git expects nothing there.
    top = top_of(root)
    if top is not None:
        diagnostics += compared(root, names, files)
    diagnostics += also
    if not files and not diagnostics:
        diagnostics.append(_empty(root))
    documents: list[Document] = []
    listed = Listed()
    listed.add(diagnostics)
    parsed_files = {} if known is None else known
    for file, text in files.items():
        if (file, text) not in parsed_files:
            parsed_files[file, text] = parse(file=file, text=text)
        parsed, mistakes = parsed_files[file, text]
        documents += parsed
        listed.add(mistakes)
    # The first one counts; `declare` reports further ones.
    settings: Document | None = None
    for document in documents:
        if document.kind == "FleetRepository":
            settings = document
            break
    if top is not None and settings is not None:
        listed.add(misplaced(root, top, settings))
    return Loaded(documents=tuple(documents), diagnostics=tuple(listed.all()))


def _empty(root: Path) -> Diagnostic:
    """The finding about a folder without any source."""
    hint = "run gitops-dsf init in an empty folder, or name the folder of a fleet repository"
    if (root.resolve().parent / SETTINGS_FILE).is_file():
        hint = "the fleet repository is the folder above: name that one"
    return codes.EMPTY.at(
        Position(file=SETTINGS_FILE),
        "no gitops-dsf.yaml, and no YAML file in scorers/, config/, clusters/, apps/, locks/ or"
        " tests/",
        hint,
    )
