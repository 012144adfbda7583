"""TODO."""

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dsf_wire.dimension import LABELS, fixed_name
from dsf_wire.publishrule import PublishedItems, PublishSettings
from dsf_wire.scorevalue import default_items
from dsf_wire.summary import ScorerSummary
from gitops_dsf.backtest.publisher import Labels, ReplayedPublisher
from gitops_dsf.backtest.track import Track
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.summaries import summarise
from gitops_dsf.repository.model.score_test import (
    Given,
)
from gitops_dsf.repository.model.series_values import expand
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.scoretests.queries import Answers, QueryResults

ADD_ON_PLACEMENT_SCORE: Final = "AddOnPlacementScore"


@dataclass(frozen=True, kw_only=True)
class ScorerRun:
    at: float
    items: Mapping[str, int] | None
    """What it would publish; None if it failed."""
    raw: Mapping[str, tuple[float, ...]]
    """The raw scores of each item, those that are dropped too."""


@dataclass(kw_only=True)
class ScorerOnCluster:
    """What a scorer did on one cluster."""

    cluster: str
    rule: PublishSettings | None = None
    """None for a score that no scorer of the repository publishes."""
    runs: list[ScorerRun] = field(default_factory=list)
    """Runs that have other raw scores or items than the one before."""
    track: Track


Runs = Mapping[str, Mapping[str, ScorerOnCluster]]
"""By name of the AddOnPlacementScore, then by cluster."""


def run_scorers(
    given: Given, *, fleet: CheckedFleet, answers: Answers, start: float, end: float
) -> Runs:
    """Runs all scorers of a test. Times are Unix seconds. `answers`: of queries over given metrics."""
    found: dict[str, dict[str, ScorerOnCluster]] = {}
    for (name, cluster), (answer, before) in _inputs(given, fleet, answers).items():
        scorer, runs_on = fleet.scorer_by_name[name], fleet.runs_on[name]
        if cluster in runs_on and scorer.spec.score_destination == ADD_ON_PLACEMENT_SCORE:
            summary = summarise(fleet.on_cluster(scorer, cluster))
            done = _run(summary, cluster, answer, before, start=start, end=end)
            found.setdefault(scorer.resource_name, {})[cluster] = done
    # Scores that no scorer publishes. They never expire.
    for score in given.scores:
        if score.resource is not None and score.dimension is not None:
            by_cluster = found.setdefault(score.resource, {})
            known = by_cluster.get(score.cluster)
            columns = known.track.values if known else {}
            values = {name: array("b", column) for name, column in columns.items()}
            values[score.dimension] = array("b", [score.value])
            track = Track(ttl=2 * (end - start) + 1, at=array("d", [start]), values=values)
            by_cluster[score.cluster] = ScorerOnCluster(cluster=score.cluster, track=track)
    return found


def _run(
    summary: ScorerSummary,
    cluster: str,
    answer: QueryResults,
    before: Mapping[str, int],
    *,
    start: float,
    end: float,
) -> ScorerOnCluster:
    rule = PublishSettings.of(summary, jitter=0.0)
    published = None
    if before:
        # They were written so long ago that a change is written at once.
        written = start - min(rule.min_interval, rule.refresh)
        published = PublishedItems(values=before, written=written, valid_until=written + rule.ttl)
    publisher = ReplayedPublisher(scorer=summary, cluster=cluster, published=published)
    if not answer.runs:
        # Nothing changes the given scores: the agent renews them.
        publisher.step(start, before)
    runs: list[ScorerRun] = []
    # After the last value the source does not answer any more.
    for number in range(answer.runs + 1 if answer.runs else 0):
        at = start + number * summary.scoring_interval
        if at > end:
            break
        found = [
            (labels, value)
            for labels, values in answer.series
            if number < len(values) and (value := values[number]) is not None
        ]
        raw: dict[str, tuple[float, ...]] = {}
        for labels, value in found:
            name = publisher.name(labels)
            raw[name] = (*raw.get(name, ()), value)
        items: Mapping[str, int] | None = None
        if number < answer.runs:
            items = publisher.items(found) if found else default_items(summary, cluster=cluster)
        publisher.step(at, items)
        if not runs or (runs[-1].items, runs[-1].raw) != (items, raw):
            runs.append(ScorerRun(at=at, items=items, raw=raw))
    publisher.write_due(math.nextafter(end, math.inf))
    return ScorerOnCluster(cluster=cluster, rule=rule, runs=runs, track=publisher.track)


def _inputs(
    given: Given, fleet: CheckedFleet, answers: Answers
) -> Mapping[tuple[str, str], tuple[QueryResults, Mapping[str, int]]]:
    """The runs and the scores that a test gives, by scorer and cluster, in the order of the test."""
    series: dict[tuple[str, str], list[tuple[Labels, tuple[float | None, ...]]]] = {}
    scores: dict[tuple[str, str], dict[str, int]] = {}
    for each in given.series:
        labels = tuple(getattr(each.labels, name) for name in LABELS)
        series.setdefault((each.scorer, each.cluster), []).append((labels, expand(each.values)))
    runs = {key: max(len(values) for _, values in found) for key, found in series.items()}
    for key, answer in answers.items():
        series[key], runs[key] = list(answer.series), answer.runs
    for score in given.scores:
        if score.scorer is not None:
            item = score.dimension or only_item(fleet.scorer_by_name[score.scorer])
            scores.setdefault((score.scorer, score.cluster), {})[item] = score.value
    return {
        key: (QueryResults(series=series.get(key, []), runs=runs.get(key, 0)), scores.get(key, {}))
        for key in {**series, **scores}
    }


def only_item(scorer: EffectiveScorer) -> str:
    """The item of a scorer that has only one. A rule reports tests that need its name."""
    return fixed_name(scorer.dimension_format, score_name=scorer.score_name) or ""
