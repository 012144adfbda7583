"""gitops-dsf backtest: shows what a fleet repository would have decided over a past span of time."""

import argparse
import asyncio
import math
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from ssl import SSLContext
from typing import TYPE_CHECKING, Final

from dsf_wire.headers import is_header_name
from dsf_wire.rawscores import SCORE_NAME_LABEL
from dsf_wire.secrettext import SecretFault, header_secret
from dsf_wire.text import printable
from dsf_wire.weburl import is_web_url
from gitops_dsf.cli.hubdata import placement_key, read_fleet, read_hub_data
from gitops_dsf.cli.journalfiles import journal_files, since_month
from gitops_dsf.cli.timespan import Span, span
from gitops_dsf.errors import GitopsDsfError, UsageError
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.journal.record import Record
from gitops_dsf.journal.record import read as read_journal
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.git import RevisionError
from gitops_dsf.repository.revision.base import find_base
from gitops_dsf.show.jsontext import json_text
from gitops_dsf.show.terminal import Step, progress
from gitops_dsf.urls.parts import origin
from gitops_dsf.urls.store_pages import is_store_page, store_of_page
from gitops_dsf.wording import names_text

try:
    from gitops_dsf.backtest.rawscores import (
        Results,
        evaluated,
        exported,
        query_of,
        results,
        samples_of,
    )
    from gitops_dsf.fleetbacktest.comparison import (
        HistoryQuestion,
        RevisionComparison,
        RevisionResult,
        document,
    )
    from gitops_dsf.metricstore.answer import Matrix, StoreError
    from gitops_dsf.metricstore.files import read_path
    from gitops_dsf.show.backtest.page import page
    from gitops_dsf.show.backtest.sentences import markdown
    from gitops_dsf.show.backtest.text import backtest_text
except ModuleNotFoundError as error:
    raise GitopsDsfError(
        f"{error.name} is not installed; a backtest needs the extra backtest"
        " (docs/start/install.md)"
    ) from error

if TYPE_CHECKING:
    from gitops_dsf.metricstore.client import MetricStore

READING: Final = 0.6
"""Part of --time-limit that reading the history may take."""
DECIDING: Final = 0.9
"""Part of --time-limit after which nothing more is decided."""


def run(args: argparse.Namespace) -> int:
    """Returns 0 when the backtest was shown; 1 when the repository has errors or history cannot be read."""
    read_until, decide_until = _limits(args.time_limit)
    _check_store(args.prometheus)
    if args.journal is not None and not args.advise:
        raise UsageError(
            "--journal has the moves by which --advise proposes demands; write --advise, too"
        )
    head = read_fleet(args.directory)
    if head is None:
        return 1
    answers = () if args.history is None else read_path(args.history)
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
    """Until when, by time.monotonic(), to read and to decide; infinity without a limit.

    Raises UsageError.
    """
    if seconds is None:
        return math.inf, math.inf
    if not seconds > 0:
        raise UsageError("--time-limit is a number of seconds above 0, such as 60")
    now = time.monotonic()
    return now + READING * seconds, now + DECIDING * seconds


def _builder(
    args: argparse.Namespace, head: CheckedFleet, *, start: float, end: float
) -> RevisionComparison:
    base, title = _base(args)
    return RevisionComparison(
        head=head,
        base=base,
        titles=(title, "the working tree"),
        start=start,
        end=end,
        snapshot=read_hub_data(args).snapshot,
        only=[placement_key(head, name) for name in args.placement] or None,
        advice=args.advise,
        can_query=args.prometheus is not None,
        records=_records(args, start=start),
    )


def _records(args: argparse.Namespace, *, start: float) -> tuple[Record, ...]:
    """The records of the journal since the start; none without advice, or where there is no journal."""
    if not args.advise:
        return ()
    try:
        found = journal_files(args)
    except RevisionError:
        # A folder that is no git repository has no journal.
        return ()
    if found is None:
        return ()
    return read_journal(since_month(found.contents, start), explained=False).records


def _base(args: argparse.Namespace) -> tuple[CheckedFleet | None, str]:
    if args.base is None:
        return None, ""
    from gitops_dsf.cli.diff import fleet_at

    base = find_base(args.directory, args.base)
    fleet = fleet_at(base)
    if fleet is None:
        raise GitopsDsfError(
            f"{base.title} has no valid fleet repository in this folder, so there is nothing to"
            " compare with"
        )
    return fleet, base.title


def _feed(
    args: argparse.Namespace,
    head: CheckedFleet,
    builder: RevisionComparison,
    step: Step,
    read_until: float,
) -> list[str]:
    """Reads the history of a store into the builder. Returns what the store warned of."""
    try:
        from gitops_dsf.metricstore.client import MetricStore
    except ModuleNotFoundError as error:
        raise GitopsDsfError(
            f"{error.name} is not installed; a store needs the extra backtest"
            " (docs/start/install.md)"
        ) from error

    async def read() -> list[str]:
        async with (
            _shown(args, head) as (token, trust),
            MetricStore(
                args.prometheus, token=token, headers=_headers(args.header), trust=trust
            ) as store,
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
                        asked,
                        f"the time limit was over before the history of {asked.score_name} was"
                        " read",
                    )
        return list(dict.fromkeys(notes))

    return asyncio.run(read())


async def _feed_score(
    args: argparse.Namespace,
    builder: RevisionComparison,
    store: "MetricStore",
    asked: HistoryQuestion,
    step: Step,
) -> list[str]:
    grid = builder.grid(asked.step)
    notes = []
    read = evaluated(asked.label, asked.clusters) if asked.query else exported(args.cluster_label)
    async for part in store.pages(
        asked.query or query_of(asked.score_name, cluster_label=args.cluster_label),
        start=grid.start,
        step=grid.step,
        count=grid.count,
        parameters=dict(asked.parameters),
    ):
        if asked.fails_on_partial and part.answer.lost:
            builder.leave_out(
                asked,
                "the store says that data is missing, and source.onPartial is Fail:"
                f" {part.answer.lost}",
            )
            break
        found = results(
            part.answer.series, read=read, grid=grid, first=part.first, count=part.count
        )
        if not asked.query:
            notes += _without_label(args, asked, found)
        builder.add(asked, part.first, part.count, found)
        notes += [f"the store warns: {text}" for text in part.answer.warnings]
        step(f"reading {asked.score_name}", part.first + part.count, grid.count)
    return notes


def _without_label(args: argparse.Namespace, asked: HistoryQuestion, found: Results) -> list[str]:
    if not found or any(found):
        return []
    name = args.cluster_label
    return [
        f"no series of {asked.score_name} has the label {name}; --cluster-label names another one"
    ]


def _span_of(answers: tuple[Matrix, ...]) -> Span | None:
    """From the first sample to the last one; None if there are none, or only samples of one time."""
    spans = [answer.span for answer in answers if answer.span is not None]
    start = min((first for first, _ in spans), default=0.0)
    end = max((last for _, last in spans), default=0.0)
    return Span(start, end) if start < end else None


def _feed_files(
    args: argparse.Namespace, builder: RevisionComparison, answers: tuple[Matrix, ...]
) -> list[str]:
    """Reads saved answers, and returns what to tell of them.

    Raises GitopsDsfError if none is of use.
    """
    notes = [f"{args.history} warns: {text}" for answer in answers for text in answer.warnings]
    read, unused, used = exported(args.cluster_label), [], 0
    for asked in builder.asked():
        grid = builder.grid(asked.step)
        every = (item for answer in answers for item in answer.series)
        series = [item for item in every if item.labels.get(SCORE_NAME_LABEL) == asked.score_name]
        found = results(series, read=read, grid=grid, first=0, count=grid.count)
        builder.add(asked, 0, grid.count, found)
        notes += _without_label(args, asked, found)
        clusters = builder.clusters_of(asked)
        named = {read(item.labels)[0] for item in series}
        samples = sum(
            len(item.times)
            for item in series
            if read(item.labels)[0] in clusters or not named & clusters
        )
        taken = samples_of(found, clusters)
        used += taken
        if taken < samples or not samples:
            text = f"{taken:,} of {samples:,} samples of {asked.score_name}"
            others = names_text(sorted(map(printable, named))) if not named & clusters else ""
            unused.append(f"{text} (clusters {others})" if others else text)
    if unused:
        known = _span_of(answers)
        when = "no samples of more than one moment"
        if known is not None:
            when = f"samples from {timestamp_of(known[0])} to {timestamp_of(known[1])}"
        told = (
            f"{args.history} has {when}. Used: {', '.join(unused)}. The others are outside of the"
            " span, of clusters that are not asked for, or not the last ones before a point"
        )
        if not used:
            raise GitopsDsfError(told)
        notes.append(told)
    return notes


def _token(path: Path) -> str:
    try:
        return header_secret(path.read_bytes())
    except OSError as error:
        raise UsageError(f"--token-file {path} cannot be read: {error.strerror}") from error
    except SecretFault as fault:
        raise UsageError(
            f"--token-file {path} {fault}; it must hold the token alone, on one line"
        ) from None


@asynccontextmanager
async def _shown(
    args: argparse.Namespace, head: CheckedFleet
) -> AsyncIterator[tuple[Callable[[], Awaitable[str]], SSLContext | None]]:
    """What gives the token of each request, that of --token-file without --credentials; and the trust."""
    said = "" if args.token_file is None else _token(args.token_file)
    if args.credentials is None:

        async def written() -> str:
            return said

        yield written, None
        return
    if not args.credentials.is_dir():
        raise UsageError(f"--credentials {args.credentials}: there is no such folder")
    from dsf_runtime.calls import display
    from gitops_dsf.sync.fetch import Fetcher
    from gitops_dsf.sync.requests import on_hub, page_request

    url = args.prometheus
    sources = (each for item in head.scorers for each in head.by_variant[item.name])
    found = (
        on_hub(each.spec.source.auth)
        for each in sources
        if origin(each.source_origin) == origin(url)
    )
    auth = next((each for each in found if each and (each.secrets or each.ca_config_map_ref)), None)
    if auth is None:
        raise UsageError(
            f"--credentials: no source at {display(url)} names a Secret or a CA in the repository"
        )
    allowed = head.repository.spec.allowed_token_hosts
    request = page_request(
        url,
        auth=auth,
        scoring_url=url,
        allowed=allowed,
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
    """The headers to send. A value may be a secret, so messages have only the name."""
    headers = {}
    for text in written:
        name, colon, value = text.partition(":")
        name = name.strip()
        if not colon:
            raise UsageError("one --header is not NAME:VALUE; write it as X-Scope-OrgID:team")
        if not is_header_name(name):
            raise UsageError(
                f"--header {name!r} is not the name of a header; write it as X-Scope-OrgID:team"
            )
        try:
            headers[name] = header_secret(value)
        except SecretFault as fault:
            raise UsageError(f"--header {name}: the value {fault}") from None
    return headers


def _check_store(url: str | None) -> None:
    """Raises UsageError if this is not the URL of a store. The URL may hold a password."""
    if url is not None and not is_web_url(url):
        raise UsageError(
            "--prometheus is no http or https URL with a valid port; write a URL such as"
            " https://prometheus.example.com"
        )
    if url is not None and is_store_page(url):
        from dsf_runtime.calls import display

        base = (
            display(store_of_page(url))
            or "the URL of the metric store, such as https://prometheus.example.com"
        )
        raise UsageError(
            f"--prometheus {display(url)} is a page for people, and no API; write {base}"
        )


def _formatted(results: tuple[RevisionResult, ...], notes: list[str], style: str) -> str:
    if style == "json":
        return json_text(document(results, notes=notes))
    return {"markdown": markdown, "html": page, "text": backtest_text}[style](results, notes=notes)
