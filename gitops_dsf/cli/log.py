"""The verb `gitops-dsf log`: shows past changes of decisions, from the journal."""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from dsf_wire.text import printable, printable_lines
from gitops_dsf.cli.journalfiles import JournalFiles, journal_files, since_month
from gitops_dsf.cli.timespan import span
from gitops_dsf.errors import UsageError
from gitops_dsf.hub.times import age_text, timestamp_of
from gitops_dsf.journal.lines import JournalRead, read
from gitops_dsf.journal.record import Record
from gitops_dsf.journal.timeline import by_placement, in_order, times
from gitops_dsf.repository.revision.branch import fetch_branch, find_branch
from gitops_dsf.show.journal import explained_text, log_text
from gitops_dsf.show.jsontext import json_text

FETCH_SECONDS: Final = 60.0
"""If a remote takes longer, the branch is read as the clone has it, and the output says so."""


class LogSource(Struct, frozen=True, kw_only=True):
    """The source of the records, and its age."""

    origin: str
    pushed: str | UnsetType = UNSET
    """The time when the reconciler pushed the branch last; absent for files."""
    fetched: bool | UnsetType = UNSET
    """Whether the branch was fetched just now; absent for files."""
    problem: str = ""
    """The reason why it was not fetched, although --no-fetch was not given."""


class LogOutput(Struct, frozen=True, kw_only=True, rename="camel"):
    """The output of `log`."""

    journal: LogSource
    records: Sequence[Record]
    skipped: Sequence[str]


class _Journal(NamedTuple):
    content: JournalRead
    source: LogSource


def run(args: argparse.Namespace) -> int:
    """Returns 0, also when nothing moved in the span.

    Raises UsageError if an application has no record.
    """
    start, end = span(args)
    # Several applications may have moved by that time, each for a reason of its own.
    if args.at is not None and args.application is None:
        raise UsageError(
            "--at explains the move of one application: write gitops-dsf log APP --at TIME"
        )
    journal = _read(args, since=start)
    records = in_order(journal.content.records)
    # A misspelt name has no record either, so this is a mistake, and an empty span is none.
    if args.application is not None and not records:
        raise UsageError(
            f"the journal has no record of {args.application}; gitops-dsf log lists what it has"
        )
    if args.at is not None:
        explained = _last(_until(records, args.at))
        listed = explained
        if not explained:
            first = min(record.time for record in records)
            raise UsageError(
                f"the journal has no record of {args.application} up to {args.at.isoformat()}; its"
                f" first one is of {first.isoformat()}"
            )
    else:
        explained = [] if args.application is None else _last(records)
        listed = [record for record in records if start <= record.time.timestamp() <= end]
    if args.output == "json":
        bad = journal.content.bad
        sys.stdout.write(json_text(LogOutput(journal=journal.source, records=listed, skipped=bad)))
        return 0
    sys.stdout.write(printable_lines(_source_lines(journal.source, now=time.time())))
    parts = list(map(explained_text, explained))
    # --at asks for one move, which its explanation shows whole.
    if args.at is None and listed:
        parts.insert(0, log_text(listed))
    if not listed:
        _say_nothing_changed(args)
    sys.stdout.write("\n".join(parts))
    return 0


def _say_nothing_changed(args: argparse.Namespace) -> None:
    if args.application is None:
        message = "no change is recorded in this span; --days N looks further back"
    else:
        message = (
            f"no change of {args.application} is recorded in this span; --days N looks further back"
        )
    print(printable(message), file=sys.stderr)


def _until(records: Sequence[Record], end: datetime) -> list[Record]:
    """The records up to a time, by the times of their Placement, which never go back."""
    until = []
    for of_placement in by_placement(records).values():
        for seconds, record in zip(times(of_placement), of_placement, strict=True):
            if seconds <= end.timestamp():
                until.append(record)
    return until


def _last(records: Iterable[Record]) -> list[Record]:
    """The last move of each Placement, how it was verified, and its last list for Kueue."""
    last: dict[str, list[Record]] = {}
    for record in records:
        if record.changes_decision:
            last[record.placement] = [record]
            continue
        of_placement = last.setdefault(record.placement, [])
        # A list for Kueue replaces the one before it. Records of a verification add up: each one
        # is another step of it.
        if record.order is not None:
            of_placement[:] = [before for before in of_placement if before.order is None]
        of_placement.append(record)
    records_of_all: list[Record] = []
    for of_placement in last.values():
        records_of_all += of_placement
    return records_of_all


def _read(args: argparse.Namespace, *, since: float) -> _Journal:
    """Fetches and reads the journal, and prints which lines are skipped. Raises UsageError.

    Months before `since` (Unix seconds) are not read, unless one application is asked for: its last
    move may be older.
    """
    # The reconciler pushes the branch while people work in an old clone.
    fetches = args.journal is None and not args.no_fetch
    problem = ""
    if fetches:
        problem = fetch_branch(args.directory, args.journal_branch, seconds=FETCH_SECONDS)
    files = journal_files(args)
    if files is None:
        raise _no_branch(args.journal_branch, problem)
    source = LogSource(origin=files.origin)
    # Files say nothing of their age: whoever named them knows where they are from.
    if args.journal is None:
        branch = find_branch(args.directory, args.journal_branch)
        source = LogSource(
            origin=files.origin,
            pushed=UNSET if branch is None else timestamp_of(branch.committed),
            fetched=fetches and not problem,
            problem=problem,
        )
    about = args.application
    contents = since_month(files.contents, since) if about is None else files.contents
    # Explanations are most of a journal, and a list of moves shows none of them.
    explained = about is not None or args.output == "json"
    content = read(contents, about=about, explained=explained)
    _say_skipped(args, files, content)
    return _Journal(content, source)


def _no_branch(name: str, problem: str) -> UsageError:
    if problem:
        return UsageError(
            f"there is no branch {name} in this clone (it cannot be fetched: {problem}); fetch it"
            f" with git fetch origin +refs/heads/{name}:refs/remotes/origin/{name}, or name the"
            " journal with --journal. The reconciler writes it if spec.reconciler.journal.enabled"
            " is true"
        )
    return UsageError(
        f"there is no branch {name} in this clone; fetch it with git fetch origin"
        f" +refs/heads/{name}:refs/remotes/origin/{name}, or name the journal with --journal. The"
        " reconciler writes it if spec.reconciler.journal.enabled is true"
    )


def _say_skipped(args: argparse.Namespace, files: JournalFiles, content: JournalRead) -> None:
    is_one_file = args.journal is not None and not args.journal.is_dir()
    for bad in content.bad:
        line = f"{bad}; it is skipped" if is_one_file else f"{files.origin}: {bad}; it is skipped"
        print(printable(line), file=sys.stderr)


def _source_lines(source: LogSource, *, now: float) -> Iterator[str]:
    """The age of the branch; nothing for files.

    For example `branch gitops-dsf-journal at 4f2c4f2c4f, fetched now, last pushed 3 min ago`.
    """
    if source.pushed is UNSET:
        return
    age = age_text(now - datetime.fromisoformat(source.pushed).timestamp())
    if source.fetched:
        yield f"{source.origin}, fetched now, last pushed {age} ago"
    elif source.problem:
        yield (
            f"{source.origin}, not fetched ({source.problem}), last pushed {age} ago; later moves"
            " are missing"
        )
    else:
        yield f"{source.origin}, not fetched, last pushed {age} ago; later moves are missing"
    yield ""
