"""The runs of the scorers of a test, and the scores that they publish. Times are Unix seconds."""

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dsf_wire.dimension import LABELS, fixed_name
from dsf_wire.publishrule import PublishedItems, PublishSettings
from dsf_wire.scorevalue import default_items
from dsf_wire.summary import ScorerSummary
from gitops_dsf.backtest.publisher import ReplayedPublisher
from gitops_dsf.backtest.track import Track
from gitops_dsf.hub.raw_results import LabelValues
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.summaries import summarise
from gitops_dsf.repository.model.score_test import Given
from gitops_dsf.repository.model.series_values import expand
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.scoretests.queries import QueryResults, ResultSeries, ScorerOnCluster

ADD_ON_PLACEMENT_SCORE: Final = "AddOnPlacementScore"


@dataclass(frozen=True, kw_only=True)
class ScorerRun:
    """One run of a scorer on a cluster."""

    at: float
    items: Mapping[str, int] | None
    """The items that it would publish; None if it failed."""
    raw: Mapping[str, tuple[float, ...]]
    """The raw scores of each item, those that are dropped too."""


@dataclass(kw_only=True)
class ReplayedScorer:
    """The runs of a scorer on one cluster."""

    cluster: str
    rule: PublishSettings | None = None
    """None for a score that no scorer of the repository publishes."""
    runs: list[ScorerRun] = field(default_factory=list)
    """Runs that have other raw scores or items than the one before."""
    track: Track


ReplayedScorers = Mapping[str, Mapping[str, ReplayedScorer]]
"""Scorers by name of the AddOnPlacementScore, then by cluster."""


def run_scorers(
    given: Given,
    *,
    fleet: CheckedFleet,
    answers: Mapping[ScorerOnCluster, QueryResults],
    start: float,
    end: float,
) -> ReplayedScorers:
    """Runs all scorers of a test. `answers` are those of queries over given metrics."""
    results = {**_given_results(given), **answers}
    published = _given_items(given, fleet)
    replayed: dict[str, dict[str, ReplayedScorer]] = {}
    for key in {**results, **published}:
        scorer = fleet.scorer_by_name[key.scorer]
        if scorer.spec.score_destination != ADD_ON_PLACEMENT_SCORE:
            continue
        # Inputs that a test gives elsewhere have no effect. `reasons` says so.
        if key.cluster in fleet.runs_on[key.scorer]:
            replayed.setdefault(scorer.resource_name, {})[key.cluster] = _run(
                summarise(fleet.on_cluster(scorer, key.cluster)),
                key.cluster,
                results.get(key, QueryResults(series=(), runs=0)),
                published.get(key, {}),
                start=start,
                end=end,
            )
    _add_foreign_scores(replayed, given, start=start, end=end)
    return replayed


def _given_results(given: Given) -> Mapping[ScorerOnCluster, QueryResults]:
    """The series of a test."""
    series: dict[ScorerOnCluster, list[ResultSeries]] = {}
    for authored in given.series:
        labels: LabelValues = tuple(getattr(authored.labels, name) for name in LABELS)
        key = ScorerOnCluster(authored.scorer, authored.cluster)
        series.setdefault(key, []).append(ResultSeries(labels, expand(authored.values)))
    results: dict[ScorerOnCluster, QueryResults] = {}
    for key, of_key in series.items():
        # A shorter series of the same scorer is absent from the later runs, which do not fail.
        runs = max(len(result.values) for result in of_key)
        results[key] = QueryResults(series=of_key, runs=runs)
    return results


def _given_items(given: Given, fleet: CheckedFleet) -> Mapping[ScorerOnCluster, Mapping[str, int]]:
    """The items that scorers of the repository published before the test begins."""
    items: dict[ScorerOnCluster, dict[str, int]] = {}
    for score in given.scores:
        if score.scorer is not None:
            name = score.dimension or only_item(fleet.scorer_by_name[score.scorer])
            key = ScorerOnCluster(score.scorer, score.cluster)
            items.setdefault(key, {})[name] = score.value
    return items


def _add_foreign_scores(
    replayed: dict[str, dict[str, ReplayedScorer]], given: Given, *, start: float, end: float
) -> None:
    """Adds the scores that no scorer of the repository publishes."""
    # Their publisher and its rate are unknown, so they never expire.
    ttl = 2 * (end - start) + 1
    for score in given.scores:
        if score.resource is None or score.dimension is None:
            continue
        by_cluster = replayed.setdefault(score.resource, {})
        values: dict[str, array[int]] = {}
        if score.cluster in by_cluster:
            for name, column in by_cluster[score.cluster].track.values.items():
                values[name] = array("b", column)
        values[score.dimension] = array("b", [score.value])
        track = Track(ttl=ttl, at=array("d", [start]), values=values)
        by_cluster[score.cluster] = ReplayedScorer(cluster=score.cluster, track=track)


def _run(
    summary: ScorerSummary,
    cluster: str,
    results: QueryResults,
    before: Mapping[str, int],
    *,
    start: float,
    end: float,
) -> ReplayedScorer:
    """Runs one scorer on one cluster. `before` are the items that are published at the start."""
    # With the latest refresh of any agent. Only the time of given scores and reasons depend on it.
    rule = PublishSettings.of(summary, jitter=0.0)
    published = None
    if before:
        # They were written long enough ago that a change is written at once.
        written_at = start - min(rule.min_interval, rule.refresh)
        published = PublishedItems(
            values=before, written=written_at, valid_until=written_at + rule.ttl
        )
    publisher = ReplayedPublisher(scorer=summary, cluster=cluster, published=published)
    if not results.runs:
        # Nothing changes the given scores: the agent renews them.
        publisher.step(start, before)
    runs: list[ScorerRun] = []
    # After the last value the source does not answer any more: one run fails.
    for number in range(results.runs + 1 if results.runs else 0):
        now = start + number * summary.scoring_interval
        if now > end:
            break
        raw_scores = _raw_scores(results, number)
        items: Mapping[str, int] | None = None
        if number < results.runs:
            if raw_scores:
                items = publisher.items(raw_scores)
            else:
                items = default_items(summary, cluster=cluster)
        publisher.step(now, items)
        raw: dict[str, tuple[float, ...]] = {}
        for labels, value in raw_scores:
            name = publisher.name(labels)
            raw[name] = (*raw.get(name, ()), value)
        if not runs or (runs[-1].items, runs[-1].raw) != (items, raw):
            runs.append(ScorerRun(at=now, items=items, raw=raw))
    # A refresh that is due at the end is part of the test, too.
    publisher.write_due(math.nextafter(end, math.inf))
    return ReplayedScorer(cluster=cluster, rule=rule, runs=runs, track=publisher.track)


def _raw_scores(results: QueryResults, number: int) -> list[tuple[LabelValues, float]]:
    """The raw scores of one run."""
    raw_scores: list[tuple[LabelValues, float]] = []
    for labels, values in results.series:
        if number < len(values):
            value = values[number]
            if value is not None:
                raw_scores.append((labels, value))
    return raw_scores


def only_item(scorer: EffectiveScorer) -> str:
    """The item of a scorer that has only one. A rule reports tests that need its name."""
    return fixed_name(scorer.dimension_format, score_name=scorer.score_name) or ""
