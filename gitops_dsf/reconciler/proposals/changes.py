"""Makes the change of a proposal in a checkout: new locks, or the clusters of the hub."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dsf_wire.text import printable
from gitops_dsf.errors import RepositoryError
from gitops_dsf.importer.planned import Import
from gitops_dsf.importer.selection import ImportSelection
from gitops_dsf.importer.valid import take_valid
from gitops_dsf.pipeline import check_loaded
from gitops_dsf.reconciler.proposals.workload import Change
from gitops_dsf.repository.files import write_files
from gitops_dsf.repository.load import Document, Loaded
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.sources import load
from gitops_dsf.repository.yamledit import YamlFile
from gitops_dsf.sync.fetch import Fetcher, FetchLimits
from gitops_dsf.sync.locks import LockState, new_errors
from gitops_dsf.sync.plan import plan_sync
from gitops_dsf.wording import plural

MAX_LEAVING: Final = 0.2
"""Share of the clusters in git that one proposal may remove: a render may not remove more
ManifestWorks.
"""


_KIND: Final = "ManagedCluster"


async def locks(
    root: Path, scorers: Sequence[str], *, seconds: float, secrets: Path | None = None
) -> Change:
    """Raises RepositoryError when the checkout cannot be read, or a lock cannot be written."""
    declared = declare(load(root))
    full = {scorer.name for scorer in declared.scorers if scorer.value.spec.reads_config}
    full |= {name for kind, name in declared.left_out if kind == "DynamicScorer"}
    asked = sorted(full.intersection(scorers))
    if not asked:
        return Change()
    async with Fetcher(limits=FetchLimits(seconds=seconds), secrets=secrets) as fetcher:
        plan = await plan_sync(root, fetcher=fetcher, only=asked)
    changed = [
        outcome
        for outcome in plan.outcomes
        if outcome.verdict in {LockState.NEW, LockState.CHANGED}
    ]
    refused = [outcome for outcome in plan.outcomes if outcome.verdict is LockState.REFUSED]
    why = "; ".join(f"{item.scorer}: {'; '.join(item.reasons)}" for item in refused)
    if not changed:
        return Change(why=why, refused=[item.scorer for item in refused])
    details = []
    for item in changed:
        details += [f"{item.url} says:"]
        details += [
            f"{change.field}: {_value(change.before)} -> {_value(change.after)}"
            for change in item.changes
        ]
        details += [f"warning: {note}" for note in item.notes]
    write_files(root, plan.files)
    names = [item.scorer for item in changed]
    return Change(
        files=sorted(plan.files),
        title="Accept what /config of "
        + (f"scorer {names[0]} says" if len(names) == 1 else f"{len(names)} scorers says"),
        details=[printable(line, most=600) for line in details],
        note=why,
        scorers=names,
        refused=[item.scorer for item in refused],
    )


def _value(value: Any) -> str:  # noqa: ANN401 - any plain value
    return "(absent)" if value is None else printable(value, most=250)


def inventory(root: Path, clusters: Sequence[Mapping[str, Any]], gone: Sequence[str]) -> Change:
    """Raises RepositoryError when the checkout or a cluster cannot be read, or a file cannot be
    written.
    """
    loaded = load(root)
    documents = {document.name: document for document in loaded.documents if document.kind == _KIND}
    known = sorted(documents)
    found = (
        take_valid(root, clusters, selection=ImportSelection(), loaded=loaded) if clusters else None
    )
    leaving = [documents[name] for name in gone if name in documents]
    # One cluster that git must not hold keeps no other from being offered.
    left_out = (
        [
            printable(f"{line.name} is left out: {'; '.join(line.changes)}", most=600)
            for line in found.refused
        ]
        if found
        else []
    )
    note = ""
    if len(leaving) > MAX_LEAVING * len(known):
        note = (
            f"{len(leaving)} of {len(known)} clusters in git are not on the hub; one"
            " proposal removes at most"
            " 20 % of them"
        )
        leaving = []
    files = _files(root, found, leaving)
    mistakes = _mistakes(loaded, files)
    if mistakes and leaving:
        names = ", ".join(item.name for item in leaving[:5])
        note = f"without {names} the repository would be invalid: {'; '.join(mistakes[:3])}"
        leaving = []
        files = _files(root, found, [])
        mistakes = _mistakes(loaded, files)
    told = "; ".join([*left_out, *([note] if note else [])])
    if mistakes or not files:
        why = f"the repository would be invalid: {'; '.join(mistakes[:3])}" if mistakes else note
        return Change(why=why, note=told, known=known)
    write_files(root, files)
    details = _details(found, leaving)
    return Change(
        files=sorted(files),
        title=f"Follow the hub in {plural(len(details), 'cluster')}",
        details=details,
        note=told,
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
                f"{document.position}: {_KIND} {document.name} cannot be edited; write it"
                " without aliases and"
                " merge keys"
            )
            raise RepositoryError(msg)
        files[document.file] = None if file.holds_nothing else file.text
    return files


def _mistakes(loaded: Loaded, files: Mapping[str, str | None]) -> list[str]:
    """Errors that these files add to those that the repository has already."""
    if not files:
        return []
    before, after = (check_loaded(each).diagnostics for each in (loaded, loaded.with_files(files)))
    return [f"{item.code} {item.position}: {item.message}" for item in new_errors(before, after)]


def _details(found: Import | None, leaving: Sequence[Document]) -> list[str]:
    lines = [f"{item.name} left: its ManagedCluster is gone" for item in leaving]
    if found is not None:
        lines += [f"{line.name} joined" for line in found.added]
        lines += [f"{line.name}: {'; '.join(line.changes)}" for line in found.changed]
    return [printable(line, most=600) for line in lines]
