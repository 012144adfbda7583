"""The options that name a span of time, for all verbs that need one."""

import argparse
import time

from gitops_dsf.cli.hubdata import moment
from gitops_dsf.errors import UsageError

DAY_SECONDS = 86_400


def add_span_arguments(parser: argparse.ArgumentParser, *, days: float) -> None:
    """Adds --days, --from and --to. `days` is the default."""
    group = parser.add_argument_group("which span of time")
    group.add_argument("--days", metavar="N", type=float, help=f"up to --to ({days:g})")
    group.add_argument("--from", dest="start", metavar="TIME", type=moment, help="in place of --days")
    group.add_argument("--to", dest="end", metavar="TIME", type=moment, help="now by default")
    parser.set_defaults(default_days=days)


def span(args: argparse.Namespace, *, known: tuple[float, float] | None = None) -> tuple[float, float]:
    """The span in Unix seconds. `known` is that of the data, if it has one: it stands in for the now and for
    the default number of days. Raises UsageError.
    """
    now = known[1] if known is not None else time.time()
    end = args.end.timestamp() if args.end is not None else now
    if args.start is not None and args.days is not None:
        raise UsageError("--from and --days are two starts; give one of them")
    days = args.default_days if args.days is None else args.days
    start = args.start.timestamp() if args.start is not None else end - days * DAY_SECONDS
    if known is not None and args.start is None and args.days is None:
        start = known[0]
    if start >= end:
        raise UsageError("the span ends before it starts; write --from before --to, and --days above 0")
    return start, end
