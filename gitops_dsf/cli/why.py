"""gitops-dsf why: explains a past move of an application."""

import argparse
import sys

from gitops_dsf.cli.hubdata import moment
from gitops_dsf.cli.journaldata import add_journal_arguments, read_journal
from gitops_dsf.cli.jsontext import json_text
from gitops_dsf.errors import UsageError

DESCRIPTION = """\
Explains the last move of an application, or the last one up to --at, from the journal that the reconciler
wrote: which scores had changed, and what each score added to the sums of the old and the new cluster, in the
words of `gitops-dsf explain`."""

EXAMPLES = """\
examples:
  gitops-dsf why portal                                  the last move
  gitops-dsf why portal --at 2026-06-01T03:15:00Z        why it was where it was at that time
  gitops-dsf why argocd/portal fleet --format json       the record itself
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of why."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument(
        "application",
        metavar="APP",
        help="ScoredApplication, ApplicationSet, or Placement with or without its namespace",
    )
    add_journal_arguments(parser)
    parser.add_argument("--at", metavar="TIME", type=moment, help="now by default")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text by default")


def run(args: argparse.Namespace) -> int:
    """Returns 0. Raises UsageError when there is no record of the application up to that time."""
    from gitops_dsf.cli.journal_text import why_text
    from gitops_dsf.journal.timeline import by_placement, in_order, matches, times

    records = [record for record in read_journal(args).records if matches(record, args.application)]
    if not records:
        msg = f"the journal has no record of {args.application}; gitops-dsf log lists what it has"
        raise UsageError(msg)
    if args.at is not None:
        until = args.at.timestamp()
        first = min(records, key=lambda record: record.time)
        records = [
            record
            for each in by_placement(records).values()
            for at, record in zip(times(each), each, strict=True)
            if at <= until
        ]
        if not records:
            msg = (
                f"the journal has no record of {args.application} up to {args.at.isoformat()}; its first one"
                f" is of {first.time.isoformat()}"
            )
            raise UsageError(msg)
    last = {record.placement: record for record in in_order(records)}
    if args.format == "json":
        sys.stdout.write(json_text({"records": list(last.values())}))
        return 0
    sys.stdout.write("\n".join(why_text(record) for record in last.values()))
    return 0
