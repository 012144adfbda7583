"""gitops-dsf log: past changes of decisions, from the journal."""

import argparse
import sys
from typing import TYPE_CHECKING

from gitops_dsf.cli.arguments import (
    add_fleet_directory,
    add_output,
    add_span_arguments,
    json_text,
    moment,
    span,
)
from gitops_dsf.cli.hubdata import add_journal_arguments, journal_files, since_month
from gitops_dsf.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from gitops_dsf.journal.record import Read, Record

DESCRIPTION = """\
Lists the changes of OCM's decisions that the reconciler wrote into the journal: when, from where to where,
and which score changed most. For one application it also explains the last one, or the last one up to --at:
which scores had changed, and what each score added to the sums of the old and the new cluster, in the words
of `gitops-dsf explain`."""

EXAMPLES = """\
examples:
  gitops-dsf log                                   all moves of the last 14 days
  gitops-dsf log portal                            those of one application, and why it moved last
  gitops-dsf log portal --at 2026-06-01T03:15:00Z  why it was where it was at that time
  gitops-dsf log --from 2026-06-01T00:00:00Z -o json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "application",
        metavar="APP",
        nargs="?",
        help="ScoredApplication, ApplicationSet, or Placement with or without its namespace; all by default",
    )
    add_fleet_directory(parser)
    add_journal_arguments(parser)
    add_span_arguments(parser)
    parser.add_argument(
        "--at", metavar="TIME", type=moment, help="explain the last move of APP up to then, and list nothing"
    )
    add_output(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    """Returns 0, also when nothing moved in the span. Raises UsageError if an application has no record."""
    from gitops_dsf.journal.timeline import in_order

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
        sys.stdout.write(json_text({"records": shown, "skipped": list(found.bad)}))
        return 0
    from gitops_dsf.cli.journal_text import explained_text, log_text

    explained = "\n".join(map(explained_text, last))
    if args.at is not None:
        sys.stdout.write(explained)
    elif shown:
        sys.stdout.write("\n".join(filter(None, (log_text(shown), explained))))
    else:
        about = f" of {args.application}" if args.application else ""
        print(f"no change{about} is recorded in this span; --days N looks further back", file=sys.stderr)
        sys.stdout.write(explained)
    return 0


def _until(records: "Sequence[Record]", end: "datetime") -> "list[Record]":
    from gitops_dsf.journal.timeline import by_placement, times

    until = end.timestamp()
    return [
        record
        for each in by_placement(records).values()
        for at, record in zip(times(each), each, strict=True)
        if at <= until
    ]


def _last(records: "Iterable[Record]") -> "list[Record]":
    return list({record.placement: record for record in records}.values())


def _read(args: argparse.Namespace, *, since: float) -> "Read":
    """Reads the journal, and says on standard error which lines it skipped. Raises UsageError.

    Months before `since` (Unix seconds) are not read, unless one application is asked for.
    """
    from dsf_wire.text import printable
    from gitops_dsf.journal.record import read

    files, origin = journal_files(args)
    about = args.application
    if about is None:
        files = since_month(files, since)
    found = read(files, about=about, explained=about is not None or args.output == "json")
    for bad in found.bad:
        place = bad if args.journal is not None and not args.journal.is_dir() else f"{origin}: {bad}"
        print(printable(f"{place}; it is skipped"), file=sys.stderr)
    return found
