"""gitops-dsf log: lists past changes of decisions from the journal."""

import argparse
import sys

from gitops_dsf.cli.journaldata import add_journal_arguments, journal_files, read_journal
from gitops_dsf.cli.jsontext import json_text
from gitops_dsf.cli.timespan import add_span_arguments, span
from gitops_dsf.errors import UsageError

DESCRIPTION = """\
Lists the changes of OCM's decisions that the reconciler wrote into the journal: when, from where to where,
and which score changed most. `gitops-dsf why` explains one of them."""

EXAMPLES = """\
examples:
  gitops-dsf log                                   all moves of the last 14 days
  gitops-dsf log portal --days 90                  moves of one application
  gitops-dsf log --from 2026-06-01T00:00:00Z --format json
  gitops-dsf log --journal ../journal --compact-before 2026-01     make old months smaller, in a checkout of the branch
"""  # noqa: E501

DEFAULT_DAYS = 14.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of log."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument(
        "application",
        metavar="APP",
        nargs="?",
        help="ScoredApplication, ApplicationSet, or Placement with or without its namespace; all by default",
    )
    add_journal_arguments(parser)
    add_span_arguments(parser, days=DEFAULT_DAYS)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text by default")
    parser.add_argument(
        "--compact-before",
        metavar="YYYY-MM",
        help="with --journal FOLDER: remove explanations and scores from older months, and list nothing",
    )


def run(args: argparse.Namespace) -> int:
    """Returns 0, also when there are no records."""
    if args.compact_before is not None:
        return _compact(args)
    from gitops_dsf.journal.timeline import in_order, matches

    start, end = span(args)
    found = read_journal(args)
    records = [
        record
        for record in in_order(found.records)
        if start <= record.time.timestamp() <= end
        and (args.application is None or matches(record, args.application))
    ]
    if args.format == "json":
        sys.stdout.write(json_text({"records": records, "skipped": [str(bad) for bad in found.bad]}))
        return 0
    from gitops_dsf.cli.journal_text import log_text

    if not records:
        about = f" of {args.application}" if args.application else ""
        print(f"no change{about} is recorded in this span; --days N looks further back", file=sys.stderr)
        return 0
    sys.stdout.write(log_text(records))
    return 0


def _compact(args: argparse.Namespace) -> int:
    from gitops_dsf.journal.compaction import compacted
    from gitops_dsf.journal.lines import FILE
    from gitops_dsf.repository.write import write_files

    if args.journal is None or not args.journal.is_dir():
        msg = (
            "--compact-before writes files: check the branch out into a folder, with git worktree add FOLDER"
            " gitops-dsf-journal, and name the folder with --journal"
        )
        raise UsageError(msg)
    if FILE.fullmatch(f"{args.compact_before}.jsonl") is None:
        msg = f"--compact-before {args.compact_before} is not a month; write it as YYYY-MM, such as 2026-06"
        raise UsageError(msg)
    files = journal_files(args.journal)
    changed = compacted(files, before=args.compact_before)
    write_files(args.journal, changed)
    for name, content in changed.items():
        print(f"{name}: {len(files[name])} bytes before, {len(content)} now", file=sys.stderr)
    if not changed:
        print("nothing to compact", file=sys.stderr)
    return 0
