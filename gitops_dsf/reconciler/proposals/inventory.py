"""Clusters that joined, left or changed: works out the new files as `gitops-dsf import` does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dsf_wire.text import printable
from gitops_dsf.errors import RepositoryError
from gitops_dsf.importer import Import, Selection, take
from gitops_dsf.reconciler.proposals.protocol import InventoryChange
from gitops_dsf.reconciler.proposals.validation import Validation
from gitops_dsf.repository.load import Document, load
from gitops_dsf.repository.yamledit import YamlFile

MOST_LEAVE: Final = 0.2
"""Share of the clusters in git that one proposal may remove: a render may not remove more ManifestWorks."""
_KIND: Final = "ManagedCluster"


def inventory(
    root: Path, clusters: Sequence[Mapping[str, Any]], gone: Sequence[str], *, validation: Validation
) -> InventoryChange:
    """Raises RepositoryError when the checkout or a cluster cannot be read."""
    documents = {item.name: item for item in load(root).documents if item.kind == _KIND}
    known = sorted(documents)
    # A cluster that asks to join does not count before somebody accepts it.
    counted = [
        item for item in clusters if item["metadata"]["name"] in documents or item["spec"]["hubAcceptsClient"]
    ]
    found = take(root, counted, selection=Selection()) if counted else None
    leaving = [documents[name] for name in gone if name in documents]
    why = ""
    if len(leaving) > MOST_LEAVE * len(known):
        why = (
            f"{len(leaving)} of {len(known)} clusters in git are not on the hub; one proposal removes at most"
            " 20 % of them"
        )
        leaving = []
    files = _files(root, found, leaving)
    mistakes = validation.new_errors(files)
    if mistakes and leaving:
        names = ", ".join(item.name for item in leaving[:5])
        why = f"without {names} the repository would be invalid: {'; '.join(mistakes[:3])}"
        leaving = []
        files = _files(root, found, leaving)
        mistakes = validation.new_errors(files)
    if mistakes:
        return InventoryChange(
            state="undecided", known=known, why=f"the repository would be invalid: {'; '.join(mistakes[:3])}"
        )
    if not files:
        return InventoryChange(state="same", known=known, why=why)
    return InventoryChange(
        state="change",
        files=files,
        details=_details(found, leaving),
        why=why,
        known=known,
        title=_title(found, leaving),
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


def _details(found: Import | None, leaving: Sequence[Document]) -> list[str]:
    lines = [f"{item.name} left: its ManagedCluster is gone" for item in leaving]
    if found is not None:
        lines += [f"{line.name} joined" for line in found.added]
        lines += [f"{line.name}: {'; '.join(line.changes)}" for line in found.changed]
    return [printable(line, most=600) for line in lines]


def _title(found: Import | None, leaving: Sequence[Document]) -> str:
    parts = [
        _some([line.name for line in found.added] if found is not None else [], "Add"),
        _some([item.name for item in leaving], "Remove"),
        _some([line.name for line in found.changed] if found is not None else [], "Update"),
    ]
    named = [part for part in parts if part]
    return " and ".join([named[0], *(part[0].lower() + part[1:] for part in named[1:])])


def _some(names: Sequence[str], verb: str) -> str:
    if not names:
        return ""
    return f"{verb} cluster {names[0]}" if len(names) == 1 else f"{verb} {len(names)} clusters"
