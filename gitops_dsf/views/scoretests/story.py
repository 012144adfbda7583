"""What a test is about, and what comes of it: the published scores and the decisions at each moment."""

import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Final

from gitops_dsf.backtest.contest import contest
from gitops_dsf.backtest.replay import Replay
from gitops_dsf.backtest.track import ABSENT, Grid
from gitops_dsf.hub.placements import decision_of, ranked_by
from gitops_dsf.repository.model.score_test import MOST_SECONDS, OfPlacement, ScoreTestSpec, seconds
from gitops_dsf.repository.model.series_values import expand
from gitops_dsf.simulator import Verdict, simulate_placement
from gitops_dsf.views.preview.hub import hub_state, typed_placements
from gitops_dsf.views.preview.version import FleetVersion
from gitops_dsf.views.scoretests.queries import Evaluate, no_promtool, questions
from gitops_dsf.views.scoretests.runs import ScorerOnCluster, run_scorers

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
    """Runs a test once, up to its last expectation."""

    def __init__(self, spec: ScoreTestSpec, *, fleet: FleetVersion, evaluate: Evaluate = no_promtool) -> None:
        """`evaluate` evaluates queries over given metrics. Raises QueryError if it does."""
        self.fleet = fleet
        self.end = end_of(spec, fleet)
        self.gives_metrics = bool(spec.given.metrics)
        self._spec = spec
        found = questions(spec, fleet=fleet, scorers=scorers_of(spec, fleet), end=self.end)
        asked = {(each.scorer, each.cluster): each for each in found}
        answers = {key: evaluate(each) for key, each in asked.items()}
        # By scorer and cluster: why no run has a result, if the names of the given metrics tell.
        self.without = {key: asked[key].other_metrics() for key, each in answers.items() if not each.series}
        self._runs = run_scorers(spec.given, fleet=fleet, answers=answers, start=START, end=START + self.end)
        self._passes = self._decide()

    def key(self, named: OfPlacement) -> str:
        return placement_key(named, self.fleet)

    def runs_of(self, resource: str, cluster: str) -> ScorerOnCluster | None:
        """What the scorer of an AddOnPlacementScore did on a cluster; None if nothing is given for it."""
        return self._runs.get(resource, {}).get(cluster)

    def score(self, resource: str, item: str, cluster: str, *, at: float) -> PublishedScore:
        found = self.runs_of(resource, cluster)
        if found is None:
            return PublishedScore(value=None, written=None)
        track = found.track
        last = bisect.bisect_right(track.at, START + at) - 1
        if last < 0:
            return PublishedScore(value=None, written=None)
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
        for each in self._spec.given.decisions:
            if self.key(each) == key:
                return tuple(sorted(set(each.clusters)))
        return None

    def verdict(self, key: str, *, at: float) -> Verdict:
        """OCM's last pass up to a time."""
        found = self._passes[key]
        return found[max(0, bisect.bisect_right(found, at, key=itemgetter(0)) - 1)][1]

    def decision(self, key: str, *, at: float) -> tuple[str, ...]:
        return tuple(sorted(self.verdict(key, at=at).chosen))

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
            page = f"{name}-decision-0"
            decisions.append(
                decision_of(namespace=namespace, name=page, placement=name, clusters=each.clusters)
            )
        state = hub_state(self.fleet, None, scores={}, decisions=decisions, only=keys)
        grid = Grid(start=START, step=1, count=self.end + 1)
        contests = [
            contest(item, state=state, start=START) for item in typed_placements(self.fleet, keys).values()
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
                found[item.key].append((0, simulate_placement(item.placement, state=state, now=_MOMENT)))
        return found


def placement_key(named: OfPlacement, fleet: FleetVersion) -> str:
    """namespace/name of the Placement that an item of a test names. A rule reports what does not exist."""
    if named.application is not None:
        argocd = fleet.resolved.repository.spec.argocd.namespace
        applications = fleet.resolved.applications
        application = next(item for item in applications if item.metadata.name == named.application)
        return f"{argocd}/{application.follows}"
    wanted = named.placement or ""
    return next(key for key in fleet.placements if wanted in {key, key.partition("/")[2]})


def placement_keys(spec: ScoreTestSpec, fleet: FleetVersion) -> Sequence[str]:
    """namespace/name of the Placements that a test names, in the order of the test."""
    given, expect = spec.given, spec.expect
    named: Iterable[OfPlacement] = (*given.decisions, *expect.decisions, *expect.moves)
    return list(dict.fromkeys(placement_key(each, fleet) for each in named))


def scorers_of(spec: ScoreTestSpec, fleet: FleetVersion) -> Sequence[str]:
    """Scorers of which a score is expected, or that a Placement of the test ranks by, in order of name."""
    found = {each.scorer for each in spec.expect.scores if each.scorer is not None}
    for placement in typed_placements(fleet, placement_keys(spec, fleet)).values():
        resources = {each.resource for each in ranked_by(placement)}
        found |= {fleet.by_resource[name].name for name in resources & fleet.by_resource.keys()}
    return sorted(found)


def end_of(spec: ScoreTestSpec, fleet: FleetVersion) -> int:
    """Seconds up to the last expectation; moves without a time count up to the last value of a series."""
    expect = spec.expect
    times = [*(each.at for each in expect.scores), *(each.at for each in expect.decisions)]
    times += [each.until for each in expect.moves if each.until is not None]
    end = max(map(seconds, times), default=0)
    if any(each.until is None for each in expect.moves):
        runs = (
            (len(expand(each.values)) - 1) * fleet.scorers[each.scorer].spec.scoring.params.interval
            for each in spec.given.series
        )
        end = max([end, *runs])
    return min(end, MOST_SECONDS)
