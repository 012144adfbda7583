"""What comes of a test: runs of scorers, their writes of AddOnPlacementScores, decisions at each moment."""

import bisect
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Final

from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.placement import prepare
from gitops_dsf.backtest.replay import Replay
from gitops_dsf.backtest.track import ABSENT
from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.model.score_test import (
    OfPlacement,
    ScoreTestSpec,
)
from gitops_dsf.scoretests.queries import Evaluate, no_promtool, questions
from gitops_dsf.scoretests.runs import ScorerOnCluster, run_scorers
from gitops_dsf.scoretests.subjects import end_of, placement_key, placement_keys, scorers_of
from gitops_dsf.simulator import Verdict, simulate_placement
from gitops_dsf.views.preview.hubstate import hub_state
from gitops_dsf.views.preview.placements import typed_placements

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


class ReplayedTest:
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
        grid = TimeGrid(start=START, step=1, count=self.end + 1)
        contests = [
            prepare(item, state=state, start=START)
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
