"""What comes of a test: runs of scorers, their writes of AddOnPlacementScores, decisions at each moment."""

import bisect
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import itemgetter
from typing import Final

from dsf_wire.dimension import LABELS, fixed_name
from dsf_wire.publishrule import Published, Rule
from dsf_wire.scorevalue import default_items
from dsf_wire.summary import Summary
from gitops_dsf.backtest.contest import contest
from gitops_dsf.backtest.replay import Replay
from gitops_dsf.backtest.track import ABSENT, Grid, Labels, Publisher, Track
from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.placements import ranked_by
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.summaries import summarise
from gitops_dsf.repository.model.score_test import (
    MAX_SECONDS,
    Given,
    OfPlacement,
    ScoreTestSpec,
    seconds,
)
from gitops_dsf.repository.model.series_values import expand
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.simulator import Verdict, simulate_placement
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.fleet import hub_state, typed_placements
from gitops_dsf.views.scoretests.queries import Answer, Answers, Evaluate, no_promtool, questions

ADD_ON_PLACEMENT_SCORE: Final = "AddOnPlacementScore"


@dataclass(frozen=True, kw_only=True)
class Run:
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
    summary: Summary,
    cluster: str,
    answer: Answer,
    before: Mapping[str, int],
    *,
    start: float,
    end: float,
) -> ScorerOnCluster:
    rule = Rule.of(summary, jitter=0.0)
    published = None
    if before:
        # They were written so long ago that a change is written at once.
        written = start - min(rule.min_interval, rule.refresh)
        published = Published(values=before, written=written, valid_until=written + rule.ttl)
    publisher = Publisher(scorer=summary, cluster=cluster, published=published)
    if not answer.runs:
        # Nothing changes the given scores: the agent renews them.
        publisher.step(start, before)
    runs: list[Run] = []
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
            runs.append(Run(at=at, items=items, raw=raw))
    publisher.write_due(math.nextafter(end, math.inf))
    return ScorerOnCluster(cluster=cluster, rule=rule, runs=runs, track=publisher.track)


def _inputs(
    given: Given, fleet: CheckedFleet, answers: Answers
) -> Mapping[tuple[str, str], tuple[Answer, Mapping[str, int]]]:
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
        key: (Answer(series=series.get(key, []), runs=runs.get(key, 0)), scores.get(key, {}))
        for key in {**series, **scores}
    }


def only_item(scorer: EffectiveScorer) -> str:
    """The item of a scorer that has only one. A rule reports tests that need its name."""
    return fixed_name(scorer.dimension_format, score_name=scorer.score_name) or ""


START: Final = 946_684_800.0
"""2000-01-01T00:00:00Z, the time 0 of every test. Nothing depends on it but the times in explanations."""
_MOMENT: Final = datetime.fromtimestamp(START, UTC)

_Passes = list[tuple[int, Verdict]]
"""The passes of one Placement: seconds from the start, and what was decided."""


@dataclass(frozen=True, kw_only=True)
class PublishedScore:
    value: int | None
    """None if there is no such item."""
    written: float | None
    """Seconds from the start of its last write; None if nothing was ever written."""
    expired: bool = False


class Story:
    def __init__(
        self, spec: ScoreTestSpec, *, fleet: CheckedFleet, evaluate: Evaluate = no_promtool
    ) -> None:
        """`evaluate` evaluates queries over given metrics. Raises QueryError if it does."""
        self.fleet = fleet
        self.end = end_of(spec, fleet)
        self.gives_metrics = bool(spec.given.metrics)
        self._spec = spec
        found = questions(spec, fleet=fleet, scorers=scorers_of(spec, fleet), end=self.end)
        asked = {(each.scorer, each.cluster): each for each in found}
        answers = {key: evaluate(each) for key, each in asked.items()}
        # By scorer and cluster: why no run has a result, if the names of the given metrics tell.
        self.without = {
            key: asked[key].other_metrics() for key, each in answers.items() if not each.series
        }
        self._runs = run_scorers(
            spec.given, fleet=fleet, answers=answers, start=START, end=START + self.end
        )
        self._passes = self._decide()

    def key(self, named: OfPlacement) -> str:
        return placement_key(named, self.fleet)

    def runs_of(self, resource: str, cluster: str) -> ScorerOnCluster | None:
        """What the scorer of an AddOnPlacementScore did on a cluster; None if nothing is given for it."""
        return self._runs.get(resource, {}).get(cluster)

    def score(self, resource: str, item: str, cluster: str, *, at: float) -> PublishedScore:
        found = self.runs_of(resource, cluster)
        last = -1 if found is None else bisect.bisect_right(found.track.at, START + at) - 1
        if found is None or last < 0:
            return PublishedScore(value=None, written=None)
        track = found.track
        column = track.values.get(item)
        value = None if column is None or column[last] == ABSENT else column[last]
        written = track.at[last] - START
        return PublishedScore(value=value, written=written, expired=written + track.ttl < at)

    def items(self, resource: str, cluster: str, *, at: float) -> Mapping[str, int]:
        found = self.runs_of(resource, cluster)
        names = found.track.values if found is not None else {}
        scores = {name: self.score(resource, name, cluster, at=at).value for name in names}
        return {name: value for name, value in scores.items() if value is not None}

    def given_decision(self, key: str) -> tuple[str, ...] | None:
        """The decision before time 0, in order of name; None if the test gives none."""
        given = (each.clusters for each in self._spec.given.decisions if self.key(each) == key)
        clusters = next(given, None)
        return None if clusters is None else tuple(sorted(set(clusters)))

    def verdict(self, key: str, *, at: float) -> Verdict:
        """OCM's last pass up to a time."""
        found = self._passes[key]
        return found[max(0, bisect.bisect_right(found, at, key=itemgetter(0)) - 1)][1]

    def changes(self, key: str, *, until: float) -> list[tuple[int, tuple[str, ...]]]:
        """The decisions up to a time: when each began, and its clusters. The first one is that of time 0."""
        found: list[tuple[int, tuple[str, ...]]] = []
        for at, verdict in self._passes[key]:
            clusters = tuple(sorted(verdict.chosen))
            if at <= until and (not found or found[-1][1] != clusters):
                found.append((at, clusters))
        return found

    def _decide(self) -> Mapping[str, _Passes]:
        keys = placement_keys(self._spec, self.fleet)
        found: dict[str, _Passes] = {key: [] for key in keys}
        if not keys:
            return found
        decisions = []
        for each in self._spec.given.decisions:
            namespace, _, name = self.key(each).partition("/")
            page = {"namespace": namespace, "name": f"{name}-decision-0", "placement": name}
            decisions.append(decision_of(**page, clusters=each.clusters))
        state = hub_state(self.fleet, None, scores={}, decisions=decisions, only=keys)
        grid = Grid(start=START, step=1, count=self.end + 1)
        contests = [
            contest(item, state=state, start=START)
            for item in typed_placements(self.fleet, keys).values()
        ]
        replay = Replay(
            [item for item in contests if not item.undecided],
            state=state,
            tracks={
                resource: {cluster: item.track for cluster, item in by_cluster.items()}
                for resource, by_cluster in self._runs.items()
            },
            grid=grid,
        )
        for number, verdict in replay.passes():
            found[verdict.placement].append((number, verdict))
        for item in contests:
            if item.undecided:
                found[item.key].append(
                    (0, simulate_placement(item.placement, state=state, now=_MOMENT))
                )
        return found


def placement_key(named: OfPlacement, fleet: CheckedFleet) -> str:
    """namespace/name of the Placement that an item of a test names. A rule reports what does not exist."""
    if named.application is not None:
        argocd = fleet.repository.spec.argocd.namespace
        applications = fleet.applications
        application = next(item for item in applications if item.metadata.name == named.application)
        return f"{argocd}/{application.follows}"
    wanted = named.placement or ""
    return next(key for key in applied(fleet).placements if wanted in {key, key.partition("/")[2]})


def placement_keys(spec: ScoreTestSpec, fleet: CheckedFleet) -> Sequence[str]:
    """namespace/name of the Placements that a test names, in the order of the test."""
    given, expect = spec.given, spec.expect
    named: Iterable[OfPlacement] = (*given.decisions, *expect.decisions, *expect.moves)
    return list(dict.fromkeys(placement_key(each, fleet) for each in named))


def scorers_of(spec: ScoreTestSpec, fleet: CheckedFleet) -> Sequence[str]:
    """Scorers of which a score is expected, or that a Placement of the test ranks by, in order of name."""
    found = {each.scorer for each in spec.expect.scores if each.scorer is not None}
    for placement in typed_placements(fleet, placement_keys(spec, fleet)).values():
        resources = {each.resource for each in ranked_by(placement)}
        found |= {
            fleet.scorer_by_resource[name].name
            for name in resources & fleet.scorer_by_resource.keys()
        }
    return sorted(found)


def end_of(spec: ScoreTestSpec, fleet: CheckedFleet) -> int:
    """Seconds up to the last expectation; moves without a time count up to the last value of a series."""
    expect = spec.expect
    times = [*(each.at for each in expect.scores), *(each.at for each in expect.decisions)]
    times += [each.until for each in expect.moves if each.until is not None]
    end = max(map(seconds, times), default=0)
    if any(each.until is None for each in expect.moves):
        runs = (
            (len(expand(each.values)) - 1)
            * fleet.scorer_by_name[each.scorer].spec.scoring.params.interval
            for each in spec.given.series
        )
        end = max([end, *runs])
    return min(end, MAX_SECONDS)
