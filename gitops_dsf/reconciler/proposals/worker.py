"""The worker: a process that reads one Task, makes the Change in the working tree, and ends. `ask` starts it.
And the texts of a Change, for its commit and its pull request.

It is a separate process because a fleet of 2,000 clusters needs a few hundred MB and seconds of CPU, while
the reconciler must renew its Lease and probe scorers.
"""

import asyncio
import os
import re
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import msgspec

from dsf_wire.text import printable
from gitops_dsf.errors import GitopsDsfError, RepositoryError
from gitops_dsf.importer.manifest import Selection
from gitops_dsf.importer.take import Import
from gitops_dsf.importer.valid import take_valid
from gitops_dsf.pipeline import check_loaded
from gitops_dsf.reconciler.git.clone import run
from gitops_dsf.reconciler.git.credentials import GitError
from gitops_dsf.repository.files import write_files
from gitops_dsf.repository.load import Document, Loaded
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.sources import load
from gitops_dsf.repository.yamledit import YamlFile
from gitops_dsf.sync.fetch import Fetcher, FetchLimits
from gitops_dsf.sync.locks import LockState, new_errors
from gitops_dsf.sync.plan import plan_sync
from gitops_dsf.wording import plural

SECONDS: Final = 300.0
NICE: Final = 10
"""All other processes have precedence."""
MOST_LEAVE: Final = 0.2
"""Share of the clusters in git that one proposal may remove: a render may not remove more ManifestWorks."""
MOST: Final = 200
"""Changes that a text lists at most. The commit shows all of them."""

_COMMANDS: Final = re.compile(
    r"#(?=\w)|\bGH-(?=[0-9])|/(?:issues|pull|work_items|merge_requests)/(?=[0-9])|(?<![\w!])[!&](?=[0-9])"
    r"|(?<![\w@])@(?=\w)|\[(?=[^\[\]]*\b(?:ci|skip|actions)\b)",
    re.IGNORECASE,
)
"""What commands CI and forges: `fixes #12` in a merged commit closes the issue, `@name` notifies the person,
and `[skip ci]` skips the checks. A space after the match prevents that.
"""
_KIND: Final = "ManagedCluster"


class Kind(StrEnum):
    LOCKS = "locks"
    INVENTORY = "inventory"


_REASONS: Final = {
    Kind.LOCKS: (
        "/config pages no longer say what their locks say. Nothing changes on any cluster before this is"
        " merged."
    ),
    Kind.INVENTORY: (
        "The hub's ManagedClusters differ from clusters/. Labels and claims are those that gitops-dsf import"
        " takes."
    ),
}


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A change to make in a checkout."""

    root: str
    kind: Kind
    scorers: list[str] = []
    """For locks: the scorers whose /config pages are compared with their locks."""
    seconds: float = 10.0
    """Time limit of each page."""
    secrets: str | None = None
    """Folder with the credentials of pages."""
    clusters: list[dict[str, Any]] = []
    """For the inventory: ManagedClusters of the hub that are not being deleted."""
    gone: list[str] = []
    """Clusters that may be removed from git."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change that was made in a checkout."""

    files: list[str] = []
    """The files that were written or removed, below the folder of the fleet; empty if nothing differs."""
    title: str = ""
    details: list[str] = []
    """One change each. They may quote /config pages and clusters, without control characters."""
    why: str = ""
    """Why it is not known whether something differs. Then nothing was changed."""
    note: str = ""
    """What was left out, and why."""
    scorers: list[str] = []
    """Scorers whose locks changed."""
    refused: list[str] = []
    """Scorers whose pages could not be read, or were not accepted."""
    known: list[str] = []


async def locks(
    root: Path, scorers: Sequence[str], *, seconds: float, secrets: Path | None = None
) -> Change:
    """Raises RepositoryError when the checkout cannot be read, or a lock cannot be written."""
    declared = declare(load(root))
    full = {item.name for item in declared.scorers if item.value.spec.reads_config}
    full |= {name for kind, name in declared.left_out if kind == "DynamicScorer"}
    asked = sorted(full.intersection(scorers))
    if not asked:
        return Change()
    async with Fetcher(limits=FetchLimits(seconds=seconds), secrets=secrets) as fetcher:
        plan = await plan_sync(root, fetcher=fetcher, only=asked)
    changed = [item for item in plan.outcomes if item.verdict in {LockState.NEW, LockState.CHANGED}]
    refused = [item for item in plan.outcomes if item.verdict is LockState.REFUSED]
    why = "; ".join(f"{item.scorer}: {'; '.join(item.reasons)}" for item in refused)
    if not changed:
        return Change(why=why, refused=[item.scorer for item in refused])
    details = []
    for item in changed:
        details += [f"{item.url} says:"]
        details += [
            f"{each.field}: {_value(each.before)} -> {_value(each.after)}" for each in item.changes
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
    """Raises RepositoryError when the checkout or a cluster cannot be read, or a file cannot be written."""
    loaded = load(root)
    documents = {item.name: item for item in loaded.documents if item.kind == _KIND}
    known = sorted(documents)
    found = take_valid(root, clusters, selection=Selection(), loaded=loaded) if clusters else None
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
    if len(leaving) > MOST_LEAVE * len(known):
        note = (
            f"{len(leaving)} of {len(known)} clusters in git are not on the hub; one proposal removes at most"
            " 20 % of them"
        )
        leaving = []
    files = _files(root, found, leaving)
    mistakes = _mistakes(loaded, files)
    if mistakes and leaving:
        names = ", ".join(item.name for item in leaving[:5])
        note = f"without {names} the repository would be invalid: {'; '.join(mistakes[:3])}"
        leaving, files = [], _files(root, found, [])
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
                f"{document.position}: {_KIND} {document.name} cannot be edited; write it without aliases and"
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


async def ask(task: Task) -> Change:
    """Starts a worker and waits for its response. Cancelling kills the worker. Raises GitError."""
    code, out, err = await run(
        # -P: the working tree may hold files that are called as a module of ours.
        (sys.executable, "-P", "-m", __name__),
        what="the worker",
        folder=Path("/"),
        stdin=msgspec.json.encode(task),
        seconds=SECONDS,
    )
    if code:
        last = (err.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        msg = f"the worker ended with exit code {code}: {last}"
        raise GitError(msg)
    return msgspec.json.decode(out, type=Change)


async def work(task: Task) -> Change:
    root = Path(task.root)
    try:
        if task.kind is Kind.LOCKS:
            secrets = None if task.secrets is None else Path(task.secrets)
            return await locks(root, task.scorers, seconds=task.seconds, secrets=secrets)
        return inventory(root, task.clusters, task.gone)
    except GitopsDsfError as error:
        # Without the path of the working folder.
        return Change(why=" ".join(str(error).replace(f"{root}/", "").split()))


def commit_message(kind: Kind, change: Change) -> str:
    listed = "\n".join(f"- {line}" for line in _listed(change))
    return f"{title(change)}\n\n{_REASONS[kind]}\n\n{listed}"


def title(change: Change) -> str:
    return _without_commands(change.title)


def request_body(kind: Kind, change: Change) -> str:
    """The body in Markdown. Texts from /config pages and clusters stand in a code block, so that they mention
    nobody and link nowhere. A squashed commit repeats them as plain text, so commands are removed from them
    as well.
    """
    listed = "\n".join(_listed(change))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", listed)), default=0))
    return (
        f"{_REASONS[kind]}\n\n{fence}text\n{listed}\n{fence}\n\nMerge it to accept. Close it"
        " to refuse: the same content is not proposed again. Once it is outdated it is closed by itself,"
        " unless somebody else has pushed to its branch.\n"
    )


def _without_commands(text: str) -> str:
    """The text without commands to CI and forges: it may come from a /config page or a cluster claim."""
    return _COMMANDS.sub(r"\g<0> ", text)


def _listed(change: Change) -> list[str]:
    lines = [_without_commands(line) for line in change.details[:MOST]]
    rest = len(change.details) - len(lines)
    return [*lines, f"and {rest} more"] if rest else lines


def main() -> None:
    """Reads the task from standard input, and writes the change to standard output."""
    os.nice(NICE)
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(work(task))))


if __name__ == "__main__":
    main()
