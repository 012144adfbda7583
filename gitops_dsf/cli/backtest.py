"""The verb `gitops-dsf backtest`: shows the decisions that a fleet would have made in the past."""

import argparse
import asyncio
import math
import sys
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from gitops_dsf.cli.hubdata import placement_key, read_fleet, read_hub_data
from gitops_dsf.cli.journalfiles import journal_files, since_month
from gitops_dsf.cli.sides import BaseFleet, base_fleet
from gitops_dsf.cli.timespan import Span, span
from gitops_dsf.errors import GitopsDsfError, UsageError
from gitops_dsf.journal.lines import read as read_journal
from gitops_dsf.journal.record import Record
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.git import RevisionError
from gitops_dsf.show.jsontext import json_text
from gitops_dsf.show.terminal import progress

# `main` imports this module only for this verb, so the others work without the extra.
try:
    from gitops_dsf.cli.backtesthistory import StoreHistory, feed_files, span_of
    from gitops_dsf.cli.storeaccess import check_store_url, open_store, trusted
    from gitops_dsf.fleetbacktest.comparison import RevisionComparison, RevisionTitles
    from gitops_dsf.fleetbacktest.result import RevisionResult, document
    from gitops_dsf.fleetbacktest.span import HistorySpan
    from gitops_dsf.metricstore.files import read_path
    from gitops_dsf.show.backtest.markdown import markdown
    from gitops_dsf.show.backtest.text import backtest_text
except ModuleNotFoundError as error:
    raise GitopsDsfError(
        f"{error.name} is not installed; a backtest needs the extra backtest"
        " (docs/start/install.md)"
    ) from error

# A slow store must leave time to decide what it gave, and what is being decided when the time is
# over is still finished and written.
READING: Final = 0.6
"""Part of --time-limit that reading the history may take."""
DECIDING: Final = 0.9
"""Part of --time-limit after which nothing more is decided."""


class _TimeLimits(NamedTuple):
    """Times by time.monotonic(); infinity without a limit."""

    read_until: float
    decide_until: float

    def is_over(self) -> bool:
        return time.monotonic() >= self.decide_until


def run(args: argparse.Namespace) -> int:
    """Returns 0 when the backtest was shown.

    It returns 1 when the repository has errors or the history cannot be read.
    """
    # The time that parsing the repositories takes counts, too: a pipeline waits for the whole verb.
    limits = _time_limits(args.time_limit)
    if args.prometheus is not None:
        check_store_url(args.prometheus)
    if args.journal is not None and not args.advise:
        raise UsageError(
            "--journal has the moves by which --advise proposes demands; write --advise, too"
        )
    head = read_fleet(args.directory)
    if head is None:
        return 1
    answers = () if args.history is None else read_path(args.history)
    known_span = span(args, known=span_of(answers))
    base = None if args.base is None else base_fleet(args.directory, args.base)
    comparison = _comparison(args, head, base, span=known_span)
    if args.history is None:
        asking = trusted(None if base is None else base.fleet, head)
        notes = _feed_store(args, asking, comparison, read_until=limits.read_until)
    else:
        notes = feed_files(comparison, args.history, answers, cluster_label=args.cluster_label)
    results = comparison.results(window=args.window, stop=limits.is_over)
    # Placements that were not decided are in the results. Advice that is missing would look as if
    # nothing could be better.
    if args.advise and limits.is_over():
        notes.append("the time limit was over before all settings were tried, so advice is missing")
    sys.stdout.write(_formatted(results, notes, args.output))
    return 0


def _time_limits(seconds: float | None) -> _TimeLimits:
    """The limits of --time-limit. Raises UsageError."""
    if seconds is None:
        return _TimeLimits(math.inf, math.inf)
    # Written so that it refuses NaN, too, which float() accepts on the command line.
    if not seconds > 0:
        raise UsageError("--time-limit is a number of seconds above 0, such as 60")
    now = time.monotonic()
    return _TimeLimits(now + READING * seconds, now + DECIDING * seconds)


def _comparison(
    args: argparse.Namespace, head: CheckedFleet, base: BaseFleet | None, *, span: Span
) -> RevisionComparison:
    # Before the hub is read, which may answer slowly, or want a login.
    only = [placement_key(head, name) for name in args.placement]
    return RevisionComparison(
        head=head,
        base=None if base is None else base.fleet,
        titles=RevisionTitles("" if base is None else base.title, "the working tree"),
        span=HistorySpan(start=span.start, end=span.end),
        snapshot=read_hub_data(args).snapshot,
        only=only or None,
        advice=args.advise,
        # Only a store can evaluate a changed query. Saved answers are what was asked at their time.
        cluster_label=None if args.prometheus is None else args.cluster_label,
        records=_records(args, start=span.start),
    )


def _records(args: argparse.Namespace, *, start: float) -> tuple[Record, ...]:
    """The records of the journal since the start; none without advice or without a journal."""
    if not args.advise:
        return ()
    try:
        files = journal_files(args)
    except RevisionError:
        # A folder that is not a git repository has no journal.
        return ()
    if files is None:
        return ()
    # Advice needs the moves alone, and explanations are most of a journal.
    return read_journal(since_month(files.contents, start), explained=False).records


def _feed_store(
    args: argparse.Namespace,
    asking: CheckedFleet,
    comparison: RevisionComparison,
    *,
    read_until: float,
) -> list[str]:
    """Reads the history of a store. Returns what the store warned of.

    `asking` is the revision whose credentials the store may see.
    """

    async def read() -> list[str]:
        async with open_store(args, asking) as store:
            return await history.read(store)

    with progress(sys.stderr) as step:
        history = StoreHistory(
            comparison, cluster_label=args.cluster_label, step=step, read_until=read_until
        )
        return asyncio.run(read())


def _formatted(results: Sequence[RevisionResult], notes: Sequence[str], style: str) -> str:
    if style == "json":
        return json_text(document(results, notes=notes))
    if style == "markdown":
        return markdown(results, notes=notes)
    if style == "html":
        # Other formats need no templates.
        from gitops_dsf.show.backtest.page import page

        return page(results, notes=notes)
    return backtest_text(results, notes=notes)
