"""Published scores and decisions of a test at each moment, replayed."""

import bisect
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Final, NamedTuple

from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.placement import prepare_all
from gitops_dsf.backtest.replay import Pass, Replay
from gitops_dsf.backtest.track import ABSENT, Track, Tracks
from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.model.score_test import OfPlacement, ScoreTestSpec
from gitops_dsf.scoretests.queries import (
    Evaluate,
    QueryResults,
    ScorerOnCluster,
    no_promtool,
    questions,
)
from gitops_dsf.scoretests.runs import ReplayedScorer, run_scorers
from gitops_dsf.scoretests.subjects import end_of, placement_key, placement_keys, scorers_of
from gitops_dsf.simulator import Verdict, simulate_placement
from gitops_dsf.views.preview.hubstate import hub_state
from gitops_dsf.views.preview.placements import typed_placements

START: Final = 946_684_800.0
"""2000-01-01T00:00:00Z, the time 0 of every test.

Nothing depends on it but the times in explanations.
"""


@dataclass(frozen=True, kw_only=True)
class ScoreAtTime:
    """The state of one item of an AddOnPlacementScore at a time."""

    value: int | None
    """None if there is no such item."""
    written: float | None
    """Seconds from the start of its last write; None if nothing was ever written."""
    expired: bool = False


class DecisionAtTime(NamedTuple):
    """A decision, and when it began."""

    at: int
    """Seconds from the start."""
    clusters: tuple[str, ...]
    """The clusters, in order of name."""


class ReplayedTest:
    """Runs a test once, up to its last expectation. Times are seconds from the start."""

    def __init__(
        self, spec: ScoreTestSpec, *, fleet: CheckedFleet, evaluate: Evaluate = no_promtool
    ) -> None:
        """`evaluate` evaluates queries over given metrics. Raises QueryError if it does."""
        self.fleet = fleet
        self.end = end_of(spec, fleet)
        self.gives_metrics = bool(spec.given.metrics)
        self.without_metric: dict[ScorerOnCluster, str] = {}
        """The reason why no run of a scorer has a result, if the names of the given metrics show
        it.
        """
        self._spec = spec
        self._scorers = run_scorers(
            spec.given,
            fleet=fleet,
            answers=self._evaluated(evaluate),
            start=START,
            end=START + self.end,
        )
        self._passes = self._decide()

    def key(self, named: OfPlacement) -> str:
        """namespace/name of the Placement that a part of the test names."""
        return placement_key(named, self.fleet)

    def scorer_on(self, resource: str, cluster: str) -> ReplayedScorer | None:
        """The runs of an AddOnPlacementScore's scorer on a cluster; None if nothing is given."""
        return self._scorers.get(resource, {}).get(cluster)

    def score(self, resource: str, item: str, cluster: str, *, at: float) -> ScoreAtTime:
        """The published score at a time."""
        scorer = self.scorer_on(resource, cluster)
        if scorer is None:
            return ScoreAtTime(value=None, written=None)
        track = scorer.track
        # A write at this very time counts: tests name the time of a run and expect its score.
        last = bisect.bisect_right(track.at, START + at) - 1
        if last < 0:
            return ScoreAtTime(value=None, written=None)
        column = track.values.get(item)
        value = None if column is None or column[last] == ABSENT else column[last]
        written_at = track.at[last] - START
        return ScoreAtTime(value=value, written=written_at, expired=written_at + track.ttl < at)

    def items(self, resource: str, cluster: str, *, at: float) -> Mapping[str, int]:
        """All published items of an AddOnPlacementScore at a time."""
        scorer = self.scorer_on(resource, cluster)
        items: dict[str, int] = {}
        for name in () if scorer is None else scorer.track.values:
            value = self.score(resource, name, cluster, at=at).value
            if value is not None:
                items[name] = value
        return items

    def given_decision(self, key: str) -> tuple[str, ...] | None:
        """The decision before time 0, in order of name; None if the test gives none."""
        for decision in self._spec.given.decisions:
            if self.key(decision) == key:
                return tuple(sorted(set(decision.clusters)))
        return None

    def verdict(self, key: str, *, at: float) -> Verdict:
        """OCM's last pass up to a time."""
        # OCM's resync makes a pass at time 0 even where no score was written, so there is one.
        passes = self._passes[key]
        last = bisect.bisect_right(passes, at, key=itemgetter(0)) - 1
        return passes[max(0, last)].verdict

    def decisions(self, key: str, *, until: float) -> list[DecisionAtTime]:
        """The decisions up to a time. The first one is that of time 0."""
        decisions: list[DecisionAtTime] = []
        for at_second, verdict in self._passes[key]:
            clusters = tuple(sorted(verdict.chosen))
            if at_second <= until and (not decisions or decisions[-1].clusters != clusters):
                decisions.append(DecisionAtTime(at_second, clusters))
        return decisions

    def _evaluated(self, evaluate: Evaluate) -> Mapping[ScorerOnCluster, QueryResults]:
        """The results of queries over given metrics."""
        results: dict[ScorerOnCluster, QueryResults] = {}
        scorers = scorers_of(self._spec, self.fleet)
        # All questions are made before the first is evaluated, so that too many of them are refused
        # at once. Each evaluation starts a promtool, which takes tens of milliseconds.
        asked_for = tuple(questions(self._spec, fleet=self.fleet, scorers=scorers, end=self.end))
        for question in asked_for:
            key = ScorerOnCluster(question.scorer, question.cluster)
            results[key] = evaluate(question)
            if not results[key].series:
                self.without_metric[key] = question.other_metrics()
        return results

    def _decide(self) -> Mapping[str, list[Pass]]:
        """The passes of each Placement of the test. Their numbers are seconds from the start."""
        keys = placement_keys(self._spec, self.fleet)
        passes: dict[str, list[Pass]] = {key: [] for key in keys}
        if not keys:
            return passes
        decisions = []
        for decision in self._spec.given.decisions:
            namespace, _, name = self.key(decision).partition("/")
            decisions.append(
                decision_of(
                    namespace=namespace,
                    name=f"{name}-decision-0",
                    placement=name,
                    clusters=decision.clusters,
                )
            )
        state = hub_state(self.fleet, None, scores={}, decisions=decisions, only=keys)
        placements = typed_placements(self.fleet, keys).values()
        prepared_placements = prepare_all(placements, state=state, start=START).values()
        decided = []
        for prepared in prepared_placements:
            if not prepared.undecided:
                decided.append(prepared)
                continue
            verdict = simulate_placement(
                prepared.placement, state=state, now=datetime.fromtimestamp(START, UTC)
            )
            passes[prepared.key].append(Pass(0, verdict))
        # The grid has steps of a second, so that a test may expect a decision at the time of each
        # write.
        grid = TimeGrid(start=START, step=1, count=self.end + 1)
        replay = Replay(decided, state=state, tracks=self._tracks(), grid=grid)
        for of_placement in replay.passes():
            passes[of_placement.verdict.placement].append(of_placement)
        return passes

    def _tracks(self) -> Tracks:
        tracks: dict[str, dict[str, Track]] = {}
        for resource, by_cluster in self._scorers.items():
            tracks[resource] = {cluster: scorer.track for cluster, scorer in by_cluster.items()}
        return tracks
