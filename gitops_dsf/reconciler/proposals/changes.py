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
from gitops_dsf.sync.locks import LockResult, LockState, new_errors
from gitops_dsf.sync.plan import plan_sync
from gitops_dsf.wording import plural

MAX_LEAVING: Final = 0.2
"""Share of the clusters in git that one proposal may remove.

A render may not remove more ManifestWorks, either.
"""


_KIND: Final = "ManagedCluster"


async def locks(
    root: Path, scorers: Sequence[str], *, seconds: float, secrets: Path | None = None
) -> Change:
    """New locks of these scorers, written into the checkout.

    Raises RepositoryError when the checkout cannot be read, or a lock cannot be written.
    """
    declared = declare(load(root))
    full = {scorer.name for scorer in declared.scorers if scorer.value.spec.reads_config}
    # Scorers with mistakes are included: the plan then refuses their locks, and says why.
    full |= {name for kind, name in declared.left_out if kind == "DynamicScorer"}
    # The hub may still run what git has no longer, and the plan knows no such name.
    due = sorted(full.intersection(scorers))
    if not due:
        return Change()
    async with Fetcher(limits=FetchLimits(seconds=seconds), secrets=secrets) as fetcher:
        plan = await plan_sync(root, fetcher=fetcher, only=due)
    changed: list[LockResult] = []
    refusals: list[str] = []
    refused_names: list[str] = []
    for outcome in plan.outcomes:
        if outcome.verdict in {LockState.NEW, LockState.CHANGED}:
            changed.append(outcome)
        elif outcome.verdict is LockState.REFUSED:
            refusals.append(f"{outcome.scorer}: {'; '.join(outcome.reasons)}")
            refused_names.append(outcome.scorer)
    refusal = "; ".join(refusals)
    if not changed:
        return Change(why=refusal, refused=refused_names)
    details: list[str] = []
    for outcome in changed:
        details.append(f"{outcome.url} says:")
        for change in outcome.changes:
            details.append(f"{change.field}: {_value(change.before)} -> {_value(change.after)}")
        for note in outcome.notes:
            details.append(f"warning: {note}")
    write_files(root, plan.files)
    names = [outcome.scorer for outcome in changed]
    if len(names) == 1:
        title = f"Accept what /config of scorer {names[0]} says"
    else:
        title = f"Accept what /config of {len(names)} scorers says"
    return Change(
        files=sorted(plan.files),
        title=title,
        details=_printable(details),
        note=refusal,
        scorers=names,
        refused=refused_names,
    )


def _value(value: Any) -> str:  # noqa: ANN401 - any plain value
    return "(absent)" if value is None else printable(value, max_characters=250)


def inventory(root: Path, clusters: Sequence[Mapping[str, Any]], gone: Sequence[str]) -> Change:
    """The clusters of the hub, written into the checkout.

    Raises RepositoryError when the checkout or a cluster cannot be read, or a file cannot be
    written. `gone` are clusters that may be removed.
    """
    loaded = load(root)
    documents = {document.name: document for document in loaded.documents if document.kind == _KIND}
    names_in_git = sorted(documents)
    imported: Import | None = None
    if clusters:
        imported = take_valid(root, clusters, selection=ImportSelection(), loaded=loaded)
    leaving = [documents[name] for name in gone if name in documents]
    # One cluster that git must not hold keeps no other from being offered.
    notes: list[str] = []
    if imported is not None:
        for line in imported.refused:
            text = f"{line.name} is left out: {'; '.join(line.changes)}"
            notes.append(printable(text, max_characters=600))
    note = ""
    if len(leaving) > MAX_LEAVING * len(names_in_git):
        note = (
            f"{len(leaving)} of {len(names_in_git)} clusters in git are not on the hub; one"
            " proposal removes at most 20 % of them"
        )
        leaving = []
    files = _files(root, imported, leaving)
    mistakes = _mistakes(loaded, files)
    if mistakes and leaving:
        # Joined clusters are offered without those that something in the repository still names.
        names = ", ".join(document.name for document in leaving[:5])
        note = f"without {names} the repository would be invalid: {'; '.join(mistakes[:3])}"
        leaving = []
        files = _files(root, imported, [])
        mistakes = _mistakes(loaded, files)
    if note:
        notes.append(note)
    all_notes = "; ".join(notes)
    if mistakes or not files:
        reason = f"the repository would be invalid: {'; '.join(mistakes[:3])}" if mistakes else note
        return Change(why=reason, note=all_notes, known=names_in_git)
    write_files(root, files)
    details = _details(imported, leaving)
    return Change(
        files=sorted(files),
        title=f"Follow the hub in {plural(len(details), 'cluster')}",
        details=details,
        note=all_notes,
        known=names_in_git,
    )


def _files(
    root: Path, imported: Import | None, leaving: Sequence[Document]
) -> dict[str, str | None]:
    """The changed files, without the documents that leave. An empty file is deleted."""
    files: dict[str, str | None] = dict(imported.files) if imported is not None else {}
    for document in leaving:
        text = files.get(document.file)
        file = YamlFile(text if text is not None else (root / document.file).read_bytes().decode())
        if not file.remove(_KIND, document.name):
            msg = (
                f"{document.position}: {_KIND} {document.name} cannot be edited; write it"
                " without aliases and merge keys"
            )
            raise RepositoryError(msg)
        files[document.file] = None if file.holds_nothing else file.text
    return files


def _mistakes(loaded: Loaded, files: Mapping[str, str | None]) -> list[str]:
    """Errors that these files add to those that the repository has already."""
    if not files:
        return []
    # A mistake that is in git already must not keep anybody from following the hub.
    before = check_loaded(loaded).diagnostics
    after = check_loaded(loaded.with_files(files)).diagnostics
    mistakes: list[str] = []
    for error in new_errors(before, after):
        mistakes.append(f"{error.code} {error.position}: {error.message}")
    return mistakes


def _details(imported: Import | None, leaving: Sequence[Document]) -> list[str]:
    lines = [f"{document.name} left: its ManagedCluster is gone" for document in leaving]
    if imported is not None:
        for added in imported.added:
            lines.append(f"{added.name} joined")
        for changed in imported.changed:
            lines.append(f"{changed.name}: {'; '.join(changed.changes)}")
    return _printable(lines)


def _printable(lines: Sequence[str]) -> list[str]:
    """The lines as reviewers may see them: pages and clusters wrote parts of them."""
    return [printable(line, max_characters=600) for line in lines]
