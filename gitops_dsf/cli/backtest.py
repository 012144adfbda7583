"""gitops-dsf backtest: shows what a fleet repository would have decided over a past span of time."""

import argparse
import asyncio
import math
import os
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dsf_wire.rawscores import CLUSTER_LABEL, METRIC, SCORE_NAME_LABEL
from dsf_wire.text import printable
from gitops_dsf.cli.arguments import add_fleet_directory, add_output, add_span_arguments, json_text, span
from gitops_dsf.cli.hubdata import (
    add_journal_arguments,
    add_source_arguments,
    branch_files,
    journal_files,
    placement_key,
    read_fleet,
    read_hub_data,
    since_month,
)
from gitops_dsf.errors import GitopsDsfError, UsageError
from gitops_dsf.hub.flapping import WINDOW_SECONDS
from gitops_dsf.wording import names_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from ssl import SSLContext

    from gitops_dsf.backtest.rawscores import Results
    from gitops_dsf.cli.terminal import Step
    from gitops_dsf.journal.record import Record
    from gitops_dsf.metricstore.answer import Answer
    from gitops_dsf.metricstore.client import MetricStore
    from gitops_dsf.views.backtest.build import Asked, BacktestBuilder, Result
    from gitops_dsf.views.preview.fleet import FleetVersion

DESCRIPTION = """\
Takes the raw scores of the past (the metric dynamic_score, from any store that has Prometheus' HTTP API, or
from saved answers of one), applies what agents and OCM do with them, and shows what this repository would
have decided: moves, time on each cluster, moves back and forth and the score that caused them, and regret,
the points by which the decision was behind the best one. With --base it compares two revisions."""

EXAMPLES = """\
examples:
  gitops-dsf backtest --prometheus https://thanos.example.com              the last 14 days of this repository
  gitops-dsf backtest --prometheus URL --base origin/main -o markdown           for the pull request
  gitops-dsf backtest --prometheus URL --days 30 --placement portal --advise    which stickiness would be better
  gitops-dsf backtest --history scores.json -o html > backtest.html  from an answer of /api/v1/query_range

exit codes: 0 fine; 1 when the repository has errors or the history cannot be read
"""  # noqa: E501

READING = 0.6
"""Part of --time-limit that reading the history may take."""
DECIDING = 0.9
"""Part of --time-limit after which nothing more is decided."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_fleet_directory(parser)
    history = parser.add_argument_group("where the history comes from").add_mutually_exclusive_group(
        required=True
    )
    history.add_argument("--prometheus", metavar="URL", help="a store with Prometheus' HTTP API")
    history.add_argument(
        "--history",
        metavar="PATH",
        type=Path,
        help="file or folder with saved answers of /api/v1/query_range",
    )
    parser.add_argument(
        "--token-file", metavar="FILE", type=Path, help="with --prometheus: a bearer token, without quotes"
    )
    parser.add_argument(
        "--credentials",
        metavar="DIR",
        type=Path,
        help="with --prometheus: folder with the Secrets and ConfigMaps, as files NAME/KEY, that the"
        " repository names for the source at this URL",
    )
    parser.add_argument(
        "--header",
        metavar="NAME:VALUE",
        action="append",
        default=[],
        help="with --prometheus: a header of every request, such as X-Scope-OrgID:team",
    )
    parser.add_argument(
        "--cluster-label",
        metavar="LABEL",
        default=CLUSTER_LABEL,
        help=f"label of {METRIC} that names the cluster ({CLUSTER_LABEL})",
    )
    add_span_arguments(parser)
    parser.add_argument("--base", metavar="REV", help="compare with this revision, as diff does")
    parser.add_argument(
        "--placement",
        metavar="[NS/]NAME",
        action="append",
        default=[],
        help="only this Placement; can be repeated",
    )
    parser.add_argument(
        "--window",
        metavar="SECONDS",
        type=float,
        default=WINDOW_SECONDS,
        help="a cluster chosen again within this time counts as back and forth (%(default)g)",
    )
    parser.add_argument(
        "--advise",
        action="store_true",
        help="try every stickiness, and several deadbands; demands, too, if there is a journal",
    )
    add_journal_arguments(parser)
    add_output(parser, "text", "json", "markdown", "html")
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        help="leave out what is not read or decided by then, and say so; for pipelines",
    )
    add_source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Returns 0 when the backtest was shown; 1 when the repository has errors or history cannot be read."""
    read_until, decide_until = _limits(args.time_limit)
    head = read_fleet(args.directory)
    if head is None:
        return 1
    _require_numpy()
    from gitops_dsf.cli.terminal import progress

    answers: tuple[Answer, ...] = ()
    if args.history is not None:
        from gitops_dsf.metricstore.answer import read_path

        answers = read_path(args.history)
    start, end = span(args, known=_span_of(answers))
    with progress(sys.stderr) as step:
        builder = _builder(args, head, start=start, end=end)
        notes = (
            _feed_files(args, builder, answers)
            if args.history is not None
            else _feed(args, head, builder, step, read_until)
        )
        results = builder.results(window=args.window, stop=lambda: time.monotonic() >= decide_until)
    if args.advise and time.monotonic() >= decide_until:
        notes.append("the time limit was over before all settings were tried, so advice is missing")
    sys.stdout.write(_formatted(results, notes, args.output))
    return 0


def _limits(seconds: float | None) -> tuple[float, float]:
    """Until when, by time.monotonic(), history is read and Placements are decided, so that there is time left
    to write the result; infinity without a limit. Raises UsageError.
    """
    if seconds is None:
        return math.inf, math.inf
    if not seconds > 0:
        raise UsageError("--time-limit is a number of seconds above 0, such as 60")
    now = time.monotonic()
    return now + READING * seconds, now + DECIDING * seconds


def _require_numpy() -> None:
    # numpy starts a thread for each processor, which waits busily for products of matrices. There are none.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        import numpy as np  # noqa: F401 - only whether it is there
    except ModuleNotFoundError as error:
        raise GitopsDsfError(
            "numpy is not installed; a backtest needs: pip install 'gitops-dsf[backtest]'"
        ) from error


def _builder(
    args: argparse.Namespace, head: "FleetVersion", *, start: float, end: float
) -> "BacktestBuilder":
    from gitops_dsf.views.backtest.build import BacktestBuilder

    base, title = _base(args)
    titles = title, "the working tree"
    return BacktestBuilder(
        head=head,
        base=base,
        titles=titles,
        start=start,
        end=end,
        snapshot=read_hub_data(args).snapshot,
        only=[placement_key(head, name) for name in args.placement] or None,
        advice=args.advise,
        can_query=args.prometheus is not None,
        records=_records(args, start=start),
    )


def _records(args: argparse.Namespace, *, start: float) -> "tuple[Record, ...]":
    """The records of the journal since the start; none without advice, or where there is no journal."""
    if not args.advise:
        return ()
    from gitops_dsf.journal.record import read
    from gitops_dsf.repository.revision import RevisionError

    try:
        found = branch_files(args) if args.journal is None else journal_files(args)
    except RevisionError:
        # A folder that is no git repository has no journal.
        return ()
    return read(since_month(found[0], start), explained=False).records if found is not None else ()


def _base(args: argparse.Namespace) -> "tuple[FleetVersion | None, str]":
    if args.base is None:
        return None, ""
    from gitops_dsf.cli.diff import fleet_at
    from gitops_dsf.repository.revision import find_base

    base = find_base(args.directory, args.base)
    fleet = fleet_at(base)
    if fleet is None:
        raise GitopsDsfError(
            f"{base.title} has no valid fleet repository in this folder, so there is nothing to compare with"
        )
    return fleet, base.title


def _feed(
    args: argparse.Namespace,
    head: "FleetVersion",
    builder: "BacktestBuilder",
    step: "Step",
    read_until: float,
) -> list[str]:
    """Reads the history of a store into the builder. Returns what the store warned of."""
    try:
        from gitops_dsf.metricstore.client import MetricStore
    except ModuleNotFoundError as error:
        raise GitopsDsfError(
            f"{error.name} is not installed; asking a store needs: pip install 'gitops-dsf[backtest]'"
        ) from error

    async def read() -> list[str]:
        async with (
            _shown(args, head) as (token, trust),
            MetricStore(args.prometheus, token=token, headers=_headers(args.header), trust=trust) as store,
        ):
            store.refuse_beyond(builder.expected_samples())
            notes: list[str] = []
            for asked in builder.asked():
                left = read_until - time.monotonic()
                try:
                    async with asyncio.timeout(None if left == math.inf else left):
                        notes += await _feed_score(args, builder, store, asked, step)
                except TimeoutError:
                    builder.leave_out(
                        asked, f"the time limit was over before the history of {asked.score_name} was read"
                    )
        return list(dict.fromkeys(notes))

    return asyncio.run(read())


async def _feed_score(
    args: argparse.Namespace, builder: "BacktestBuilder", store: "MetricStore", asked: "Asked", step: "Step"
) -> list[str]:
    from gitops_dsf.backtest.rawscores import evaluated, exported, query_of, results

    grid = builder.grid(asked.step)
    notes = []
    read = evaluated(asked.label, asked.clusters) if asked.query else exported(args.cluster_label)
    async for page in store.pages(
        asked.query or query_of(asked.score_name, cluster_label=args.cluster_label),
        start=grid.start,
        step=grid.step,
        count=grid.count,
    ):
        found = results(page.answer.series, read=read, grid=grid, first=page.first, count=page.count)
        if not asked.query:
            notes += _without_label(args, asked, found)
        builder.add(asked, page.first, page.count, found)
        notes += [f"the store warns: {text}" for text in page.answer.warnings]
        step(f"reading {asked.score_name}", page.first + page.count, grid.count)
    return notes


def _without_label(args: argparse.Namespace, asked: "Asked", found: "Results") -> list[str]:
    if not found or any(found):
        return []
    name = args.cluster_label
    return [f"no series of {asked.score_name} has the label {name}; --cluster-label names another one"]


def _span_of(answers: "tuple[Answer, ...]") -> tuple[float, float] | None:
    """From the first sample to the last one of all answers; None if they have none, or of one time only."""
    spans = [each.span for each in answers if each.span is not None]
    start, end = min((each[0] for each in spans), default=0), max((each[1] for each in spans), default=0)
    return (start, end) if start < end else None


def _feed_files(
    args: argparse.Namespace, builder: "BacktestBuilder", answers: "tuple[Answer, ...]"
) -> list[str]:
    """Reads saved answers, and returns what to tell of them. Raises GitopsDsfError if none is of use."""
    from gitops_dsf.backtest.rawscores import exported, results, samples_of
    from gitops_dsf.hub.metadata import timestamp_of

    notes = [f"{args.history} warns: {text}" for answer in answers for text in answer.warnings]
    read, unused, used = exported(args.cluster_label), [], 0
    for asked in builder.asked():
        grid = builder.grid(asked.step)
        series = [
            item
            for answer in answers
            for item in answer.series
            if item.labels.get(SCORE_NAME_LABEL) == asked.score_name
        ]
        found = results(series, read=read, grid=grid, first=0, count=grid.count)
        builder.add(asked, 0, grid.count, found)
        notes += _without_label(args, asked, found)
        clusters = builder.clusters_of(asked)
        named = {read(item.labels)[0] for item in series}
        samples = sum(
            len(item.times) for item in series if read(item.labels)[0] in clusters or not named & clusters
        )
        taken = samples_of(found, clusters)
        used += taken
        if taken < samples or not samples:
            text = f"{taken:,} of {samples:,} samples of {asked.score_name}"
            others = names_text(sorted(map(printable, named))) if not named & clusters else ""
            unused.append(f"{text} (clusters {others})" if others else text)
    if unused:
        known = _span_of(answers)
        when = (
            "no samples of more than one moment"
            if known is None
            else f"samples from {timestamp_of(known[0])} to {timestamp_of(known[1])}"
        )
        told = (
            f"{args.history} has {when}. Used: {', '.join(unused)}. The others are outside of the span,"
            " of clusters that are not asked for, or not the last ones before a point"
        )
        if not used:
            raise GitopsDsfError(told)
        notes.append(told)
    return notes


def _token(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the token from {path}: {error}") from error


@asynccontextmanager
async def _shown(
    args: argparse.Namespace, head: "FleetVersion"
) -> "AsyncIterator[tuple[Callable[[], Awaitable[str]], SSLContext | None]]":
    """What gives the bearer token of each request, and the trust with a client certificate and a private CA.
    Without --credentials, the token of --token-file.
    """
    said = _token(args.token_file)
    if args.credentials is None:

        async def written() -> str:
            return said or ""

        yield written, None
        return
    if not args.credentials.is_dir():
        raise UsageError(f"--credentials {args.credentials}: there is no such folder")
    from dsf_runtime.calls import display
    from gitops_dsf.hub.urls import origin
    from gitops_dsf.metricstore.answer import StoreError
    from gitops_dsf.sync.credentials import on_hub, page_request
    from gitops_dsf.sync.fetch import Fetcher

    url = args.prometheus
    sources = (each for item in head.resolved.scorers for each in item.variants or (item,))
    found = (on_hub(each.spec.source.auth) for each in sources if origin(each.source_origin) == origin(url))
    auth = next((each for each in found if each and (each.secrets or each.ca_config_map_ref)), None)
    if auth is None:
        raise UsageError(
            f"--credentials: no source at {display(url)} names a Secret or a CA in the repository"
        )
    request = page_request(
        url,
        auth=auth,
        scoring_url=url,
        allowed=head.resolved.repository.spec.allowed_token_hosts,
        title="--prometheus",
        section="source.auth",
    )
    async with Fetcher(secrets=args.credentials) as fetcher:

        async def renewed() -> str:
            shown = await fetcher.credentials.shown(request)
            if (auth.secrets and shown.problem) or shown.lacks_tls:
                raise StoreError(f"{display(url)} is not asked: {shown.problem}")
            return said or shown.token

        yield renewed, (await fetcher.credentials.shown(request)).trust


def _headers(written: list[str]) -> dict[str, str]:
    found = {}
    for text in written:
        name, colon, value = text.partition(":")
        if not colon or not name.strip() or not text.isprintable():
            raise UsageError(f"--header {text!r} is not NAME:VALUE, such as X-Scope-OrgID:team")
        found[name.strip()] = value.strip()
    return found


def _formatted(results: "tuple[Result, ...]", notes: list[str], style: str) -> str:
    if style == "json":
        from gitops_dsf.views.backtest.build import document

        return json_text(document(results, notes=notes))
    if style == "markdown":
        from gitops_dsf.views.backtest.sentences import markdown

        return markdown(results, notes=notes)
    if style == "html":
        from gitops_dsf.views.backtest.page import page

        return page(results, notes=notes)
    from gitops_dsf.cli.backtest_text import backtest_text

    return backtest_text(results, notes=notes)
