"""Reads the history of a backtest: from a metric store, or from saved answers of one."""

import asyncio
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dsf_wire.rawscores import SCORE_NAME_LABEL
from dsf_wire.text import printable
from gitops_dsf.backtest.rawscores import Results, StoredSeries, query_of, results, samples_of
from gitops_dsf.cli.timespan import Span
from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.fleetbacktest.comparison import RevisionComparison
from gitops_dsf.fleetbacktest.questions import HistoryQuestion
from gitops_dsf.hub.raw_series import SeriesReader, evaluated, exported
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.metricstore.answer import Matrix
from gitops_dsf.show.terminal import Step
from gitops_dsf.wording import names_text

if TYPE_CHECKING:
    from gitops_dsf.metricstore.client import OpenStore

SavedMatrices = Sequence[Matrix]
"""Saved answers of a store."""


def span_of(answers: SavedMatrices) -> Span | None:
    """The span from the first sample to the last one; None if these are not two times."""
    start = math.inf
    end = -math.inf
    for answer in answers:
        if answer.span is not None:
            start = min(start, answer.span.first)
            end = max(end, answer.span.last)
    return Span(start, end) if start < end else None


class StoreHistory:
    """Reads the history of a store into a comparison."""

    def __init__(
        self, comparison: RevisionComparison, *, cluster_label: str, step: Step, read_until: float
    ) -> None:
        """`read_until` is a time by time.monotonic(); infinity without a limit."""
        self._comparison = comparison
        self._cluster_label = cluster_label
        self._step = step
        self._read_until = read_until

    async def read(self, store: "OpenStore") -> list[str]:
        """Reads all histories. Returns what the store warned of. Raises StoreError."""
        # Before the first request, so that a question that is too large costs the store nothing.
        store.refuse_beyond(self._comparison.expected_samples())
        notes: list[str] = []
        for question in self._comparison.questions():
            seconds_left = self._read_until - time.monotonic()
            # Without --time-limit there is no deadline, which asyncio spells None.
            delay = None if seconds_left == math.inf else seconds_left
            try:
                async with asyncio.timeout(delay):
                    notes += await self._read_score(store, question)
            except TimeoutError:
                # Not the end of the backtest: other Placements may rank by other scores.
                self._comparison.leave_out(
                    question,
                    f"the time limit was over before the history of {question.score_name} was read",
                )
        # Each page of each score may bring the same warning.
        return list(dict.fromkeys(notes))

    async def _read_score(self, store: "OpenStore", question: HistoryQuestion) -> list[str]:
        grid = self._comparison.grid(question)
        notes: list[str] = []
        # As a rule what the agents exported is read. A changed query was never run by an agent, so
        # the store evaluates it over the past.
        read = exported(self._cluster_label)
        query = query_of(question.score_name, cluster_label=self._cluster_label)
        reevaluated = question.reevaluated
        if reevaluated is not None:
            read = evaluated(reevaluated.label, reevaluated.clusters)
            query = reevaluated.text
        pages = store.pages(
            query,
            start=grid.start,
            step=grid.step,
            count=grid.count,
            parameters={} if reevaluated is None else dict(reevaluated.parameters),
        )
        async for page in pages:
            # The agent's cycle fails for such an answer, so no score would have been published.
            if reevaluated is not None and reevaluated.fails_on_partial and page.answer.lost:
                self._comparison.leave_out(
                    question,
                    "the store says that data is missing, and source.onPartial is Fail:"
                    f" {page.answer.lost}",
                )
                break
            raw_scores = results(
                page.answer.series, read=read, grid=grid, first=page.first, count=page.count
            )
            # The cluster label of a query that the store evaluates again was checked before.
            if reevaluated is None:
                notes += _without_label(question, raw_scores, cluster_label=self._cluster_label)
            self._comparison.add(question, page.first, page.count, raw_scores)
            notes += [f"the store warns: {text}" for text in page.answer.warnings]
            self._step(f"reading {question.score_name}", page.first + page.count, grid.count)
        return notes


def feed_files(
    comparison: RevisionComparison, path: Path, answers: SavedMatrices, *, cluster_label: str
) -> list[str]:
    """Reads saved answers into a comparison, and returns notes on them.

    Raises GitopsDsfError if none is of use.
    """
    notes: list[str] = []
    for answer in answers:
        notes += [f"{path} warns: {text}" for text in answer.warnings]
    read = exported(cluster_label)
    uses: list[_Use] = []
    for question in comparison.questions():
        grid = comparison.grid(question)
        series = _series_of(question, answers)
        raw_scores = results(series, read=read, grid=grid, first=0, count=grid.count)
        comparison.add(question, 0, grid.count, raw_scores)
        notes += _without_label(question, raw_scores, cluster_label=cluster_label)
        uses.append(_use_of(question, comparison, series, raw_scores, read=read))
    # With a wrong span or cluster label, a backtest would show a fleet that never moves.
    unused = [use.text for use in uses if use.is_partial]
    if unused:
        text = _unused(path, span_of(answers), unused)
        # A part may be left out on purpose, for example with --days. Nothing at all is a mistake.
        if not any(use.used for use in uses):
            raise GitopsDsfError(text)
        notes.append(text)
    return notes


class _Use(NamedTuple):
    """The part of one score's saved history that is used."""

    score_name: str
    used: int
    samples: int
    """The samples of the requested clusters; all of them if there is no such cluster."""
    others: tuple[str, ...]
    """The clusters of the history, if none of them is asked for."""

    @property
    def is_partial(self) -> bool:
        """Whether something is left over, or there is nothing."""
        return self.used < self.samples or not self.samples

    @property
    def text(self) -> str:
        if not self.others:
            return f"{self.used:,} of {self.samples:,} samples of {self.score_name}"
        return (
            f"{self.used:,} of {self.samples:,} samples of {self.score_name} (clusters"
            f" {names_text(self.others)})"
        )


def _series_of(question: HistoryQuestion, answers: SavedMatrices) -> list[StoredSeries]:
    """The series of one score. Spans of more than 11,000 points are saved in several answers."""
    series: list[StoredSeries] = []
    for answer in answers:
        for stored in answer.series:
            if stored.labels.get(SCORE_NAME_LABEL) == question.score_name:
                series.append(stored)
    return series


def _use_of(
    question: HistoryQuestion,
    comparison: RevisionComparison,
    series: Sequence[StoredSeries],
    raw_scores: Results,
    *,
    read: SeriesReader,
) -> _Use:
    clusters = comparison.clusters_of(question)
    named = {read(stored.labels).cluster for stored in series}
    # Samples of clusters that left the fleet are not a mistake, unless there are no others. Then
    # the history is that of another fleet, or --cluster-label is wrong.
    is_other = named.isdisjoint(clusters)
    samples = 0
    for stored in series:
        if is_other or read(stored.labels).cluster in clusters:
            samples += len(stored.times)
    others = tuple(sorted(map(printable, named))) if is_other else ()
    return _Use(question.score_name, samples_of(raw_scores, clusters), samples, others)


def _unused(path: Path, span: Span | None, unused: Sequence[str]) -> str:
    if span is None:
        return (
            f"{path} has no samples of more than one moment. Used: {', '.join(unused)}. The others"
            " are outside the span, of clusters that are not asked for, or not the last ones"
            " before a point"
        )
    return (
        f"{path} has samples from {timestamp_of(span.start)} to {timestamp_of(span.end)}. Used:"
        f" {', '.join(unused)}. The others are outside the span, of clusters that are not asked"
        " for, or not the last ones before a point"
    )


def _without_label(
    question: HistoryQuestion, raw_scores: Results, *, cluster_label: str
) -> list[str]:
    """A note if no series names a cluster."""
    # Results are listed by cluster, and series without the label are those of the cluster "".
    if not raw_scores or any(raw_scores):
        return []
    note = (
        f"no series of {question.score_name} has the label {cluster_label}; --cluster-label names"
        " another one"
    )
    return [note]
