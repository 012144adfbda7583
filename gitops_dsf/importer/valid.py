"""Plans an import that leaves the repository valid.

A cluster with which it would not be valid is left out, and all others are taken: a spoke chooses
its ClusterClaims itself, and one spoke must not keep the others out.

Not guaranteed: that every cluster to blame is found. After three searches, or when the repository
asks for something that the fleet lacks, all clusters are taken and `validate` reports the errors.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.importer.planned import Import, ImportLine
from gitops_dsf.importer.selection import ImportSelection
from gitops_dsf.importer.take import take
from gitops_dsf.pipeline import check_loaded
from gitops_dsf.repository.load import Document, Loaded
from gitops_dsf.repository.sources import load
from gitops_dsf.sync.locks import new_errors

MAX_SEARCHED: Final = 3
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
    """Like `take`, without clusters that bring errors.

    Those are among the refused ones, with the first error.

    Where no single cluster can be blamed, all are taken: then the repository asks for something
    that the fleet does not have, such as an eligible cluster for an application, and `validate`
    says what.
    """
    loaded = load(root) if loaded is None else loaded
    hub_objects = list(objects)
    plan = partial(take, root, hub_objects, selection=selection, overwrite=overwrite, loaded=loaded)
    planned = plan()
    if not _written_clusters(planned):
        return planned
    return _Search(plan, loaded, planned).best(planned)


class _Search:
    """Looks for the clusters that bring errors which the repository has not had before."""

    def __init__(self, plan: "partial[Import]", loaded: Loaded, planned: Import) -> None:
        self._plan = plan
        self._loaded = loaded
        self._before = _findings_without_clusters(planned, loaded)
        self._blamed: dict[str, str] = {}
        """Clusters that are left out, and why."""

    def best(self, planned: Import) -> Import:
        """The import without the clusters to blame, or as it was if that does not help."""
        errors = self._errors(planned)
        # Each round leaves out at least one cluster more, so it ends.
        while marked := self._marked(planned, errors):
            for name, error in marked.items():
                self._blamed[name] = _reason(error)
            planned = self._plan(without=self._blamed)
            errors = self._errors(planned)
        return self._without_tipping(planned, errors)

    def _without_tipping(self, planned: Import, errors: Sequence[Diagnostic]) -> Import:
        """Leaves out clusters with which errors begin that are in other documents."""
        tried = planned
        for _ in range(MAX_SEARCHED):
            if not errors:
                break
            name = self._tipping(_written_clusters(tried))
            if name is None:
                return planned
            self._blamed[name] = _reason(errors[0])
            tried = self._plan(without=self._blamed)
            remaining = self._errors(tried)
            # It was not this cluster alone: without it another one brings the same errors.
            if _texts(remaining) >= _texts(errors):
                return planned
            errors = remaining
        return planned if errors else tried

    def _errors(self, planned: Import) -> list[Diagnostic]:
        checked = check_loaded(self._loaded.with_files(planned.files))
        return new_errors(self._before, checked.diagnostics)

    def _marked(self, planned: Import, errors: Iterable[Diagnostic]) -> dict[str, Diagnostic]:
        """The clusters in whose documents errors are, with the first one.

        Those in a document that cannot be read are found by the file, if no other cluster is
        written into it.
        """
        names_of_file: dict[str, list[str]] = {}
        for line in _cluster_lines(planned):
            names_of_file.setdefault(line.file, []).append(line.name)
        documents = self._loaded.with_files(planned.files).documents
        marked: dict[str, Diagnostic] = {}
        for error in errors:
            names = names_of_file.get(error.position.file, [])
            name = _name_at(error, names, documents)
            if name is not None:
                marked.setdefault(name, error)
        return marked

    def _tipping(self, names: Sequence[str]) -> str | None:
        """The first cluster with which errors begin, when they are taken one after the other.

        None if there are errors without any.
        """
        if not names or self._breaks(held_back=names):
            return None
        # Each check takes long in a large fleet, so the first one is found by halving: there are no
        # errors with the first `low` clusters, and errors with the first `high`.
        low = 0
        high = len(names)
        while high - low > 1:
            middle = (low + high) // 2
            if self._breaks(held_back=names[middle:]):
                high = middle
            else:
                low = middle
        return names[low]

    def _breaks(self, *, held_back: Sequence[str]) -> bool:
        """Whether there are errors when these clusters are not taken."""
        without = {**dict.fromkeys(held_back, "held back"), **self._blamed}
        return bool(self._errors(self._plan(without=without)))


def _cluster_lines(planned: Import) -> Iterator[ImportLine]:
    """The lines of the clusters that an import writes.

    Those that git has come first: a new one is blamed before them.
    """
    for line in (*planned.changed, *planned.added):
        if line.kind == "ManagedCluster":
            yield line


def _written_clusters(planned: Import) -> list[str]:
    return [line.name for line in _cluster_lines(planned)]


def _findings_without_clusters(planned: Import, loaded: Loaded) -> tuple[Diagnostic, ...]:
    """The findings of the repository, with what the import writes beside clusters."""
    others = dict(planned.files)
    for line in _cluster_lines(planned):
        others.pop(line.file, None)
    return check_loaded(loaded.with_files(others)).diagnostics


def _name_at(error: Diagnostic, names: Sequence[str], documents: Iterable[Document]) -> str | None:
    """The one of these clusters, all in the file of an error, in whose document the error is."""
    for document in documents:
        if document.file != error.position.file or document.name not in names:
            continue
        last_line = document.first_line + document.text.count("\n") + 1
        if document.first_line < error.position.line <= last_line:
            return document.name
    return names[0] if len(names) == 1 else None


def _texts(errors: Iterable[Diagnostic]) -> set[tuple[str, str]]:
    return {(error.code, error.message) for error in errors}


def _reason(error: Diagnostic) -> str:
    return f"the repository would be invalid: {error.code} {error.position}: {error.message}"
