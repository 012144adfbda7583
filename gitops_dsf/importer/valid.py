"""Plans an import that leaves the repository valid.

A cluster with which it would not be is left out, and all others are taken: a spoke chooses its
ClusterClaims itself, and one spoke must not keep the others out.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.importer.manifest import ImportSelection
from gitops_dsf.importer.take import Import, take
from gitops_dsf.pipeline import check_loaded
from gitops_dsf.repository.load import Loaded
from gitops_dsf.repository.sources import load
from gitops_dsf.sync.locks import new_errors

_KIND: Final = "ManagedCluster"
MOST_SEARCHED: Final = 3
"""Clusters that are looked for one after the other. Each search checks the fleet about ten times.
"""


def take_valid(
    root: Path,
    objects: Iterable[Mapping[str, Any]],
    *,
    selection: ImportSelection,
    overwrite: bool = False,
    loaded: Loaded | None = None,
) -> Import:
    """As `take`, without clusters that bring errors.

    Those are among the refused ones, with the first error.

    Where no single cluster can be blamed, all are taken: then the repository asks for something
    that the fleet does not have, such as an eligible cluster for an application, and `validate`
    says what.
    """
    loaded = load(root) if loaded is None else loaded
    items = list(objects)
    plan = partial(take, root, items, selection=selection, overwrite=overwrite, loaded=loaded)
    found = plan()
    if not _clusters(found):
        return found
    before = _baseline(found, loaded)
    errors = _errors(found, loaded, before)
    blamed: dict[str, str] = {}
    while errors and (at := _in_documents(found, loaded, errors)):
        blamed |= {name: _why(error) for name, error in at.items()}
        found = plan(without=blamed)
        errors = _errors(found, loaded, before)
    tried = found
    for _ in range(MOST_SEARCHED):
        if not errors:
            break
        name = _tipping(_clusters(tried), partial(_breaks, plan, blamed, loaded, before))
        if name is None:
            return found
        blamed[name] = _why(errors[0])
        tried = plan(without=blamed)
        left = _errors(tried, loaded, before)
        if _texts(left) >= _texts(errors):
            return found
        errors = left
    return found if errors else tried


def _clusters(found: Import) -> list[str]:
    """The clusters that an import writes.

    Those that git has come first: a new one is blamed before them.
    """
    return [
        line.name for lines in (found.changed, found.added) for line in lines if line.kind == _KIND
    ]


def _baseline(found: Import, loaded: Loaded) -> tuple[Diagnostic, ...]:
    """The findings of the repository, with what the import writes beside clusters."""
    files = {
        line.file for lines in (found.changed, found.added) for line in lines if line.kind == _KIND
    }
    others = {file: text for file, text in found.files.items() if file not in files}
    return check_loaded(loaded.with_files(others)).diagnostics


def _errors(found: Import, loaded: Loaded, before: Sequence[Diagnostic]) -> list[Diagnostic]:
    return new_errors(before, check_loaded(loaded.with_files(found.files)).diagnostics)


def _texts(errors: Iterable[Diagnostic]) -> set[tuple[str, str]]:
    return {(item.code, item.message) for item in errors}


def _why(error: Diagnostic) -> str:
    return f"the repository would be invalid: {error.code} {error.position}: {error.message}"


def _in_documents(
    found: Import, loaded: Loaded, errors: Iterable[Diagnostic]
) -> dict[str, Diagnostic]:
    """The clusters in whose documents errors are, with the first one.

    Those in a document that cannot be read are found by the file, if no other cluster is written
    into it.
    """
    written: dict[str, list[str]] = {}
    for lines in (found.changed, found.added):
        for line in lines:
            if line.kind == _KIND:
                written.setdefault(line.file, []).append(line.name)
    documents = loaded.with_files(found.files).documents
    blamed: dict[str, Diagnostic] = {}
    for error in errors:
        file, names = error.position.file, written.get(error.position.file, [])
        within = [
            item.name
            for item in documents
            if item.file == file
            and item.name in names
            and item.first_line < error.position.line <= item.first_line + item.text.count("\n") + 1
        ]
        for name in within[:1] or (names if len(names) == 1 else ()):
            blamed.setdefault(name, error)
    return blamed


def _breaks(
    plan: "partial[Import]",
    blamed: Mapping[str, str],
    loaded: Loaded,
    before: Sequence[Diagnostic],
    held_back: Sequence[str],
) -> bool:
    """Whether there are errors when these clusters are not taken."""
    found = plan(without={**dict.fromkeys(held_back, "held back"), **blamed})
    return bool(_errors(found, loaded, before))


def _tipping(names: Sequence[str], breaks: "partial[bool]") -> str | None:
    """The first cluster with which errors begin, when clusters are taken one after the other.

    None if there are errors without any.
    """
    if breaks(held_back=names):
        return None
    low, high = 0, len(names)  # without errors for so many, with errors for so many
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if breaks(held_back=names[middle:]) else (middle, high)
    return names[low] if names else None
