"""The runs of scorers in a test: given series and scores to the writes of AddOnPlacementScores."""

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dsf_wire.defaultscore import default_items
from dsf_wire.dimension import LABELS, fixed_name
from dsf_wire.publishrule import Published, Rule
from dsf_wire.summary import Summary
from gitops_dsf.backtest.publisher import Labels, Publisher
from gitops_dsf.backtest.track import Track
from gitops_dsf.plan.summaries import summarise
from gitops_dsf.repository.model.score_test import Given, ResultLabels
from gitops_dsf.repository.model.series_values import expand
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.views.preview.version import FleetVersion
from gitops_dsf.views.scoretests.queries import Answers

ADD_ON_PLACEMENT_SCORE: Final = "AddOnPlacementScore"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a scorer on a cluster."""

    at: float
    items: Mapping[str, int] | None
    """What it would publish; None if it failed."""
    raw: Mapping[str, tuple[float, ...]]
    """The raw scores of each item, those that are dropped too."""


@dataclass(kw_only=True)
class ScorerOnCluster:
    """What a scorer did on one cluster."""

    cluster: str
    rule: Rule | None = None
    """None for a score that no scorer of the repository publishes."""
    runs: list[Run] = field(default_factory=list)
    """Runs that have other raw scores or items than the one before."""
    track: Track


@dataclass(frozen=True, kw_only=True)
class _Inputs:
    """What a test gives for one scorer on one cluster."""

    series: Sequence[tuple[Labels, tuple[float | None, ...]]]
    scores: Mapping[str, int]
    runs: int
    """How many runs have an answer."""


class ScorerRuns:
    """Runs all scorers of a test. Times are Unix seconds, from `start` to `end`."""

    def __init__(
        self, given: Given, *, fleet: FleetVersion, answers: Answers, start: float, end: float
    ) -> None:
        """`answers` are those of queries that were evaluated over given metrics."""
        self._fleet = fleet
        self._start, self._end = start, end
        self._found: dict[str, dict[str, ScorerOnCluster]] = {}
        for (name, cluster), inputs in _inputs(given, fleet, answers).items():
            scorer = fleet.scorers[name]
            if cluster in fleet.runs_on[name] and scorer.spec.score_destination == ADD_ON_PLACEMENT_SCORE:
                done = self._run(scorer, cluster, inputs)
                self._found.setdefault(scorer.resource_name, {})[cluster] = done
        self._add_foreign(given)

    @property
    def tracks(self) -> Mapping[str, Mapping[str, Track]]:
        """The writes, by name of the AddOnPlacementScore, then by cluster."""
        return {
            resource: {cluster: item.track for cluster, item in by_cluster.items()}
            for resource, by_cluster in self._found.items()
        }

    def of(self, resource: str, cluster: str) -> ScorerOnCluster | None:
        """What was done for an AddOnPlacementScore; None if the test gives nothing to publish."""
        return self._found.get(resource, {}).get(cluster)

    def _run(self, scorer: EffectiveScorer, cluster: str, inputs: _Inputs) -> ScorerOnCluster:
        summary = summarise(self._fleet.resolved.on_cluster(scorer, cluster))
        publisher = Publisher(scorer=summary, cluster=cluster, published=self._published(summary, inputs))
        runs: list[Run] = []
        if not inputs.runs:
            # Nothing changes the given scores: the agent renews them.
            publisher.step(self._start, inputs.scores)
        for at, items, raw in self._cycles(summary, cluster, inputs, publisher):
            publisher.step(at, items)
            if not runs or (runs[-1].items, runs[-1].raw) != (items, raw):
                runs.append(Run(at=at, items=items, raw=raw))
        publisher.write_due(math.nextafter(self._end, math.inf))
        rule = Rule.of(summary, jitter=0.0)
        return ScorerOnCluster(cluster=cluster, rule=rule, runs=runs, track=publisher.track)

    def _published(self, summary: Summary, inputs: _Inputs) -> Published | None:
        """The given scores. They were written so long ago that a change is written at once."""
        if not inputs.scores:
            return None
        rule = Rule.of(summary, jitter=0.0)
        written = self._start - min(rule.min_interval, rule.refresh)
        return Published(values=inputs.scores, written=written, valid_until=written + rule.ttl)

    def _cycles(
        self, summary: Summary, cluster: str, inputs: _Inputs, publisher: Publisher
    ) -> Iterator[tuple[float, Mapping[str, int] | None, Mapping[str, tuple[float, ...]]]]:
        """The time, the items and the raw scores of each run. After the last value the source does not answer
        any more.
        """
        count = inputs.runs
        for number in range(count + 1 if count else 0):
            at = self._start + number * summary.scoring_interval
            if at > self._end:
                return
            found = [
                (labels, value)
                for labels, values in inputs.series
                if number < len(values) and (value := values[number]) is not None
            ]
            raw: dict[str, tuple[float, ...]] = {}
            for labels, value in found:
                name = publisher.name(labels)
                raw[name] = (*raw.get(name, ()), value)
            if number == count:
                yield at, None, raw
            elif not found:
                yield at, default_items(summary, cluster=cluster), raw
            else:
                yield at, publisher.items(found), raw

    def _add_foreign(self, given: Given) -> None:
        """Adds scores that no scorer publishes. They never expire."""
        for score in given.scores:
            if score.resource is None or score.dimension is None:
                continue
            by_cluster = self._found.setdefault(score.resource, {})
            known = by_cluster.get(score.cluster)
            values = (
                {name: array("b", column) for name, column in known.track.values.items()} if known else {}
            )
            values[score.dimension] = array("b", [score.value])
            track = Track(ttl=2 * (self._end - self._start) + 1, at=array("d", [self._start]), values=values)
            by_cluster[score.cluster] = ScorerOnCluster(cluster=score.cluster, track=track)


def _inputs(given: Given, fleet: FleetVersion, answers: Answers) -> Mapping[tuple[str, str], _Inputs]:
    """What a test gives, by scorer and cluster, in the order of the test."""
    series: dict[tuple[str, str], list[tuple[Labels, tuple[float | None, ...]]]] = {}
    scores: dict[tuple[str, str], dict[str, int]] = {}
    for each in given.series:
        series.setdefault((each.scorer, each.cluster), []).append((_labels(each.labels), expand(each.values)))
    runs = {key: max(len(values) for _, values in found) for key, found in series.items()}
    for key, answer in answers.items():
        series[key], runs[key] = list(answer.series), answer.runs
    for score in given.scores:
        if score.scorer is not None:
            item = score.dimension or only_item(fleet.scorers[score.scorer])
            scores.setdefault((score.scorer, score.cluster), {})[item] = score.value
    return {
        key: _Inputs(series=series.get(key, []), scores=scores.get(key, {}), runs=runs.get(key, 0))
        for key in {**series, **scores}
    }


def only_item(scorer: EffectiveScorer) -> str:
    """The item of a scorer that has only one. A rule reports tests that need its name."""
    return fixed_name(scorer.dimension_format, score_name=scorer.score_name) or ""


def _labels(labels: ResultLabels) -> Labels:
    return tuple(getattr(labels, name) for name in LABELS)
