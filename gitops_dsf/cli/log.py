"""gitops-dsf log: past changes of decisions, from the journal."""

import argparse
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from dsf_wire.text import printable, printable_lines
from gitops_dsf.cli.arguments import DEFAULT_DAYS
from gitops_dsf.cli.terminal import json_text, table
from gitops_dsf.cli.verdict_text import explanation_text
from gitops_dsf.errors import UsageError
from gitops_dsf.journal.record import FILE, Read, Record, ScoreChange, read
from gitops_dsf.journal.timeline import by_placement, in_order, times
from gitops_dsf.repository.revision import find_branch
from gitops_dsf.wording import names_text, prioritizer_text

DAY_SECONDS: Final = 86_400
MOST_NAMED: Final = 3
MOST_SCORES: Final = 20


class LogOutput(Struct, frozen=True, kw_only=True, rename="camel"):
    """The output of `log`."""

    records: Sequence[Record]
    skipped: Sequence[str]


def run(args: argparse.Namespace) -> int:
    """Returns 0, also when nothing moved in the span. Raises UsageError if an application has no record."""
    start, end = span(args)
    if args.at is not None and args.application is None:
        raise UsageError("--at explains the move of one application: write gitops-dsf log APP --at TIME")
    found = _read(args, since=start)
    if args.application is not None and not found.records:
        raise UsageError(f"the journal has no record of {args.application}; gitops-dsf log lists what it has")
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
        sys.stdout.write(json_text(LogOutput(records=shown, skipped=found.bad)))
        return 0
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


def _read(args: argparse.Namespace, *, since: float) -> Read:
    """Reads the journal, and says on standard error which lines it skipped. Raises UsageError.

    Months before `since` (Unix seconds) are not read, unless one application is asked for.
    """
    journal = journal_files(args)
    if journal is None:
        name = args.journal_branch
        raise UsageError(
            f"there is no branch {name} in this clone; fetch it with git fetch origin"
            f" +refs/heads/{name}:refs/remotes/origin/{name}, or name the journal with --journal. The"
            " reconciler writes it if spec.reconciler.journal.enabled is true"
        )
    files, origin = journal
    about = args.application
    if about is None:
        files = since_month(files, since)
    found = read(files, about=about, explained=about is not None or args.output == "json")
    for bad in found.bad:
        place = bad if args.journal is not None and not args.journal.is_dir() else f"{origin}: {bad}"
        print(printable(f"{place}; it is skipped"), file=sys.stderr)
    return found


def span(args: argparse.Namespace, *, known: tuple[float, float] | None = None) -> tuple[float, float]:
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
        raise UsageError("the span ends before it starts; write --from before --to, and --days above 0")
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
    return {name: content for name, content in files.items() if not FILE.fullmatch(name) or name >= first}


def _files(path: Path) -> dict[str, bytes]:
    """The files of a folder that belong to a journal, or the file itself. Raises UsageError."""
    try:
        if not path.is_dir():
            return {path.name: path.read_bytes()}
        files = sorted(each for each in path.iterdir() if FILE.fullmatch(each.name))
        if not files:
            raise UsageError(f"{path} has no file of a journal; write a folder with files like 2026-06.jsonl")
        return {each.name: each.read_bytes() for each in files}
    except OSError as error:
        raise UsageError(
            f"cannot read the journal {path}: {error.strerror}; write a folder with files like 2026-06.jsonl"
        ) from error


def log_text(records: Sequence[Record]) -> str:
    rows = []
    for record in records:
        change, largest = _largest_change(record), ""
        if change is not None:
            values = f"{_value(change.before)} -> {_value(change.after)}"
            largest = f"{prioritizer_text(change.name)} on {change.cluster} {values}"
        before = _named(record.from_) if record.from_ is not None else "?"
        rows.append([time_text(record), record.placement, before, _to(record), largest, record.commit[:10]])
    return table(["time (UTC)", "placement", "from", "to", "largest change of a score", "commit"], rows)


def explained_text(record: Record) -> str:
    lines = [f"{time_text(record)} UTC: {record.placement} {_what(record)}"]
    if record.applications:
        plural = "s" if len(record.applications) > 1 else ""
        lines.append(f"  ApplicationSet{plural} {', '.join(record.applications)}")
    lines.append(f"  live commit of the fleet repository: {record.commit or 'not known'}")
    if record.admitted is not None:
        gain = "" if record.gain is None else f", for {record.gain:+.1f} points by the written weights"
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
        f"{text}, while no reconciler looked; this is when it was found" if record.kind == "Later" else text
    )


def _to(record: Record) -> str:
    return f"{record.count} clusters" if record.to is None else _named(record.to)


def _named(clusters: Iterable[str]) -> str:
    return names_text(clusters, most=MOST_NAMED) or "no cluster"


def _scores(record: Record) -> str:
    if not record.scores:
        return "  no score changed since the record before\n"
    shown = record.scores[:MOST_SCORES]
    rows = [
        [prioritizer_text(each.name), each.cluster, _value(each.before), _value(each.after)] for each in shown
    ]
    text = table(["score", "cluster", "before", "now"], rows, right={2, 3})
    more = len(record.scores) - len(shown) + record.more_scores
    return f"{text}  and {more} more scores\n" if more else text


def _largest_change(record: Record) -> ScoreChange | None:
    """The largest change of a score of a cluster that left or joined, if values before are known."""
    moved = {*record.left, *record.joined}
    known = [each for each in record.scores if each.cluster in moved and each.before is not None]
    return max(known, key=lambda each: abs((each.after or 0) - (each.before or 0)), default=None)


def _value(value: int | None) -> str:
    return "none" if value is None else str(value)
