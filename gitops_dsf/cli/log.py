"""gitops-dsf log: past changes of decisions, from the journal."""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import UNSET, Struct, UnsetType

from dsf_wire.text import printable, printable_lines
from gitops_dsf.cli.arguments import DEFAULT_DAYS
from gitops_dsf.errors import UsageError
from gitops_dsf.hub.metadata import age_text, timestamp_of
from gitops_dsf.journal.cause import largest_change, scores_of_people
from gitops_dsf.journal.record import FILE, Read, Record, read
from gitops_dsf.journal.timeline import by_placement, in_order, times
from gitops_dsf.repository.revision import fetch_branch, find_branch
from gitops_dsf.show.jsontext import json_text
from gitops_dsf.show.tables import table
from gitops_dsf.show.verdicts import explanation_text
from gitops_dsf.wording import names_text, prioritizer_text

DAY_SECONDS: Final = 86_400
FETCH_SECONDS: Final = 60.0
"""A remote that takes longer is told, and the branch is read as the clone has it."""
MOST_NAMED: Final = 3
MOST_SCORES: Final = 20


class LogSource(Struct, frozen=True, kw_only=True):
    """Where the records are from, and how old that is."""

    origin: str
    pushed: str | UnsetType = UNSET
    """When the reconciler pushed the branch last; absent for files."""
    fetched: bool | UnsetType = UNSET
    """Whether the branch was fetched just now; absent for files."""
    problem: str = ""
    """Why it was not fetched, although nobody said --no-fetch."""


class LogOutput(Struct, frozen=True, kw_only=True, rename="camel"):
    """The output of `log`."""

    journal: LogSource
    records: Sequence[Record]
    skipped: Sequence[str]


def run(args: argparse.Namespace) -> int:
    """Returns 0, also when nothing moved in the span. Raises UsageError if an application has no record."""
    start, end = span(args)
    if args.at is not None and args.application is None:
        raise UsageError(
            "--at explains the move of one application: write gitops-dsf log APP --at TIME"
        )
    found, source = _read(args, since=start)
    if args.application is not None and not found.records:
        raise UsageError(
            f"the journal has no record of {args.application}; gitops-dsf log lists what it has"
        )
    records = in_order(found.records)
    if args.at is not None:
        last = _last(_until(records, args.at))
        if not last:
            raise UsageError(
                f"the journal has no record of {args.application} up to {args.at.isoformat()}; its first one"
                f" is of {min(record.time for record in records).isoformat()}"
            )
        shown = last
    else:
        last = _last(records) if args.application is not None else []
        shown = [record for record in records if start <= record.time.timestamp() <= end]
    if args.output == "json":
        sys.stdout.write(json_text(LogOutput(journal=source, records=shown, skipped=found.bad)))
        return 0
    sys.stdout.write(printable_lines(_source_lines(source, now=time.time())))
    explained = "\n".join(map(explained_text, last))
    if args.at is not None:
        sys.stdout.write(explained)
    elif shown:
        sys.stdout.write("\n".join(filter(None, (log_text(shown), explained))))
    else:
        about = f" of {args.application}" if args.application else ""
        text = f"no change{about} is recorded in this span; --days N looks further back"
        print(printable(text), file=sys.stderr)
        sys.stdout.write(explained)
    return 0


def _until(records: Sequence[Record], end: datetime) -> list[Record]:
    until = end.timestamp()
    return [
        record
        for each in by_placement(records).values()
        for at, record in zip(times(each), each, strict=True)
        if at <= until
    ]


def _last(records: Iterable[Record]) -> list[Record]:
    return list({record.placement: record for record in records}.values())


def _read(args: argparse.Namespace, *, since: float) -> tuple[Read, LogSource]:
    """Fetches and reads the journal, and says on standard error which lines it skipped. Raises UsageError.

    Months before `since` (Unix seconds) are not read, unless one application is asked for.
    """
    problem, fetches = "", args.journal is None and not args.no_fetch
    if fetches:
        problem = fetch_branch(args.directory, args.journal_branch, seconds=FETCH_SECONDS)
    journal = journal_files(args)
    if journal is None:
        name = args.journal_branch
        why = f" (it cannot be fetched: {problem})" if problem else ""
        raise UsageError(
            f"there is no branch {name} in this clone{why}; fetch it with git fetch origin"
            f" +refs/heads/{name}:refs/remotes/origin/{name}, or name the journal with --journal. The"
            " reconciler writes it if spec.reconciler.journal.enabled is true"
        )
    files, origin = journal
    source = LogSource(origin=origin)
    if args.journal is None:
        branch = find_branch(args.directory, args.journal_branch)
        source = LogSource(
            origin=origin,
            pushed=timestamp_of(branch.committed) if branch is not None else UNSET,
            fetched=fetches and not problem,
            problem=problem,
        )
    about = args.application
    if about is None:
        files = since_month(files, since)
    found = read(files, about=about, explained=about is not None or args.output == "json")
    for bad in found.bad:
        place = (
            bad if args.journal is not None and not args.journal.is_dir() else f"{origin}: {bad}"
        )
        print(printable(f"{place}; it is skipped"), file=sys.stderr)
    return found, source


def _source_lines(source: LogSource, *, now: float) -> Iterator[str]:
    """`branch gitops-dsf-journal at 4f2c4f2c4f, fetched now, last pushed 3 min ago`; nothing for files."""
    if source.pushed is UNSET:
        return
    age = age_text(now - datetime.fromisoformat(source.pushed).timestamp())
    how = "fetched now" if source.fetched else "not fetched"
    how += f" ({source.problem})" if source.problem else ""
    missing = "" if source.fetched else "; later moves are missing"
    yield from (f"{source.origin}, {how}, last pushed {age} ago{missing}", "")


def span(
    args: argparse.Namespace, *, known: tuple[float, float] | None = None
) -> tuple[float, float]:
    """The span in Unix seconds; `known`, that of the data, is the default. Raises UsageError."""
    now = known[1] if known is not None else time.time()
    end = args.end.timestamp() if args.end is not None else now
    if args.start is not None and args.days is not None:
        raise UsageError("--from and --days are two starts; give one of them")
    days = DEFAULT_DAYS if args.days is None else args.days
    start = args.start.timestamp() if args.start is not None else end - days * DAY_SECONDS
    if known is not None and args.start is None and args.days is None:
        start = known[0]
    if start >= end:
        raise UsageError(
            "the span ends before it starts; write --from before --to, and --days above 0"
        )
    return start, end


def journal_files(args: argparse.Namespace) -> tuple[dict[str, bytes], str] | None:
    """The files by name, and where they are from; None if there is no branch. Raises UsageError."""
    if args.journal is not None:
        return _files(args.journal), str(args.journal)
    branch = find_branch(args.directory, args.journal_branch)
    if branch is None:
        return None
    contents = branch.contents(suffixes=(".jsonl",))
    files = {path: content for path, content in contents if FILE.fullmatch(path)}
    return files, f"branch {branch.name} at {branch.short}"


def since_month(files: Mapping[str, bytes], start: float) -> dict[str, bytes]:
    """The files without months before a time (Unix seconds). One that is named otherwise stays."""
    first = f"{datetime.fromtimestamp(start, UTC):%Y-%m}.jsonl"
    return {
        name: content
        for name, content in files.items()
        if not FILE.fullmatch(name) or name >= first
    }


def _files(path: Path) -> dict[str, bytes]:
    """The files of a folder that belong to a journal, or the file itself. Raises UsageError."""
    try:
        if not path.is_dir():
            return {path.name: path.read_bytes()}
        files = sorted(each for each in path.iterdir() if FILE.fullmatch(each.name))
        if not files:
            raise UsageError(
                f"{path} has no file of a journal; write a folder with files like 2026-06.jsonl"
            )
        return {each.name: each.read_bytes() for each in files}
    except OSError as error:
        raise UsageError(
            f"cannot read the journal {path}: {error.strerror}; write a folder with files like 2026-06.jsonl"
        ) from error


def log_text(records: Sequence[Record]) -> str:
    rows = []
    for record in records:
        before = _named(record.from_) if record.from_ is not None else "?"
        rows.append(
            [
                time_text(record),
                record.placement,
                before,
                _to(record),
                cause_text(record),
                record.commit[:10],
            ]
        )
    return table(["time (UTC)", "placement", "from", "to", "cause", "commit"], rows)


def cause_text(record: Record) -> str:
    """The recorded cause. Versions that recorded none had the largest change of a score in its place."""
    if record.cause is not None:
        return str(record.cause)
    change = largest_change(record)
    if change is None:
        return ""
    values = f"{_value(change.before)} -> {_value(change.after)}"
    return f"{prioritizer_text(change.name)} of {change.cluster} {values}"


def explained_text(record: Record) -> str:
    lines = [f"{time_text(record)} UTC: {record.placement} {_what(record)}"]
    if record.applications:
        plural = "s" if len(record.applications) > 1 else ""
        lines.append(f"  ApplicationSet{plural} {', '.join(record.applications)}")
    if record.cause is not None:
        lines.append(f"  cause: {record.cause}")
    lines.append(f"  live commit of the fleet repository: {record.commit or 'not known'}")
    if record.admitted is not None:
        gain = (
            "" if record.gain is None else f", for {record.gain:+.1f} points by the written weights"
        )
        lines.append(f"  admitted at {record.admitted.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC{gain}")
    if record.doubt:
        lines.append(f"  note: {record.doubt}")
    text = printable_lines(lines) + "\n" + _scores(record)
    for each in record.clusters:
        text += "\n" + explanation_text(each, placement=record.placement)
    return text


def time_text(record: Record) -> str:
    """`2026-06-01 03:12:07`, in UTC."""
    return f"{record.time.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def _what(record: Record) -> str:
    if record.kind == "Start":
        return f"is decided for {_to(record)}; the decision before is not known"
    if record.from_ is not None:
        text = f"moved from {_named(record.from_)} to {_to(record)}"
    else:
        text = f"has {record.count} clusters now: {_named(record.left)} left, {_named(record.joined)} joined"
    return (
        f"{text}, while no reconciler looked; this is when it was found"
        if record.kind == "Later"
        else text
    )


def _to(record: Record) -> str:
    return f"{record.count} clusters" if record.to is None else _named(record.to)


def _named(clusters: Iterable[str]) -> str:
    return names_text(clusters, most=MOST_NAMED) or "no cluster"


def _scores(record: Record) -> str:
    scores = scores_of_people(record)
    if not scores:
        return "  no score changed since the record before\n"
    shown = scores[:MOST_SCORES]
    rows = [
        [prioritizer_text(each.name), each.cluster, _value(each.before), _value(each.after)]
        for each in shown
    ]
    text = table(["score", "cluster", "before", "now"], rows, right={2, 3})
    more = len(scores) - len(shown) + record.more_scores
    return f"{text}  and {more} more scores\n" if more else text


def _value(value: int | None) -> str:
    return "none" if value is None else str(value)
