"""Clusters that joined, left or changed: writes files as `gitops-dsf import` does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dsf_wire.text import printable
from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.errors import RepositoryError
from gitops_dsf.importer import Import, Selection, take
from gitops_dsf.pipeline import check_loaded
from gitops_dsf.reconciler.proposals.change import Change
from gitops_dsf.repository.load import Document, Loaded, load
from gitops_dsf.repository.write import remove_files, write_files
from gitops_dsf.repository.yamledit import YamlFile
from gitops_dsf.wording import plural

MOST_LEAVE: Final = 0.2
"""Share of the clusters in git that one proposal may remove: a render may not remove more ManifestWorks."""
_KIND: Final = "ManagedCluster"


def inventory(root: Path, clusters: Sequence[Mapping[str, Any]], gone: Sequence[str]) -> Change:
    """Raises RepositoryError when the checkout or a cluster cannot be read, or a file cannot be written."""
    loaded = load(root)
    documents = {item.name: item for item in loaded.documents if item.kind == _KIND}
    known = sorted(documents)
    # A cluster that asks to join does not count before somebody accepts it.
    counted = [
        item
        for item in clusters
        if item["metadata"]["name"] in documents or item.get("spec", {}).get("hubAcceptsClient")
    ]
    found = take(root, counted, selection=Selection()) if counted else None
    leaving = [documents[name] for name in gone if name in documents]
    note = ""
    if len(leaving) > MOST_LEAVE * len(known):
        note = (
            f"{len(leaving)} of {len(known)} clusters in git are not on the hub; one proposal removes at most"
            " 20 % of them"
        )
        leaving = []
    files = _files(root, found, leaving)
    mistakes = _new_errors(loaded, files)
    if mistakes and leaving:
        names = ", ".join(item.name for item in leaving[:5])
        note = f"without {names} the repository would be invalid: {'; '.join(mistakes[:3])}"
        leaving, files = [], _files(root, found, [])
        mistakes = _new_errors(loaded, files)
    if mistakes or not files:
        why = f"the repository would be invalid: {'; '.join(mistakes[:3])}" if mistakes else note
        return Change(why=why, known=known)
    write_files(root, {file: text for file, text in files.items() if text is not None})
    remove_files(root, [file for file, text in files.items() if text is None])
    details = _details(found, leaving)
    return Change(
        files=sorted(files),
        title=f"Follow the hub in {plural(len(details), 'cluster')}",
        details=details,
        note=note,
        known=known,
    )


def _files(root: Path, found: Import | None, leaving: Sequence[Document]) -> dict[str, str | None]:
    """What changes, without the documents that leave. An empty file is deleted."""
    files: dict[str, str | None] = dict(found.files) if found is not None else {}
    for document in leaving:
        text = files.get(document.file)
        file = YamlFile(text if text is not None else (root / document.file).read_bytes().decode())
        if not file.remove(_KIND, document.name):
            msg = (
                f"{document.position}: {_KIND} {document.name} cannot be edited; write it without aliases and"
                " merge keys"
            )
            raise RepositoryError(msg)
        files[document.file] = None if file.holds_nothing else file.text
    return files


def _new_errors(loaded: Loaded, files: Mapping[str, str | None]) -> list[str]:
    """Errors that these files add to those that the repository has already."""
    if not files:
        return []
    known = {_key(item) for item in _errors(loaded)}
    return [
        f"{item.code} {item.position}: {item.message}"
        for item in _errors(loaded.with_files(files))
        if _key(item) not in known
    ]


def _errors(loaded: Loaded) -> list[Diagnostic]:
    return [item for item in check_loaded(loaded).diagnostics if item.severity is Severity.ERROR]


def _key(item: Diagnostic) -> tuple[str, str, str]:
    return item.code, item.position.file, item.message


def _details(found: Import | None, leaving: Sequence[Document]) -> list[str]:
    lines = [f"{item.name} left: its ManagedCluster is gone" for item in leaving]
    if found is not None:
        lines += [f"{line.name} joined" for line in found.added]
        lines += [f"{line.name}: {'; '.join(line.changes)}" for line in found.changed]
    return [printable(line, most=600) for line in lines]
