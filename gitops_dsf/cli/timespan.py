"""The span of time that --days, --from and --to choose."""

import argparse
import time
from typing import Final, NamedTuple

from gitops_dsf.cli.arguments import DEFAULT_DAYS
from gitops_dsf.errors import UsageError

_DAY_SECONDS: Final = 86_400


class Span(NamedTuple):
    """A span of time, in Unix seconds."""

    start: float
    end: float


def span(args: argparse.Namespace, *, known: Span | None = None) -> Span:
    """Returns the chosen span; by default `known`, that of the data, or the last days.

    Raises UsageError if it is empty, or if it has two starts.
    """
    if args.start is not None and args.days is not None:
        raise UsageError("--from and --days are two starts; give one of them")
    if args.end is not None:
        end = args.end.timestamp()
    else:
        end = time.time() if known is None else known.end
    if args.start is not None:
        start = args.start.timestamp()
    # Saved answers have a span of their own, which may be long ago.
    elif known is not None and args.days is None:
        start = known.start
    else:
        days = DEFAULT_DAYS if args.days is None else args.days
        start = end - days * _DAY_SECONDS
    # Also for --days 0 or fewer.
    if start >= end:
        raise UsageError(
            "the span ends before it starts; write --from before --to, and --days above 0"
        )
    return Span(start, end)
