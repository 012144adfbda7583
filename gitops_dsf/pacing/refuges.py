"""Refuges: the cluster for each paced Placement when its own one is lost. Pure.

The applications of one cluster are planned together, so that they do not all go to the cluster that
looks best: each one sees the load of those that were planned before it.

OCM follows a refuge by itself, because its item is published in advance. So a lost cluster is left
also while no reconciler runs. Not guaranteed: that the refuge is the best cluster at that moment.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

from gitops_dsf.hub.pace import MOVES_SCORE, PacedRanking, PacedTerm
from gitops_dsf.hub.scores import Scores
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.pacing.items import drawn_by, items_in
from gitops_dsf.simulator import HubState, Outcome, Verdict, simulate_placement
from gitops_dsf.simulator.prioritizers import own_decisions
from gitops_dsf.simulator.ranking import RankedClusters, add_up

SPREAD: Final = 10.0
"""Points of the weighted mean of the scores.

Clusters that are nearer to the best one than this are used evenly, and a refuge stays until another
cluster is better by it.
"""
SHARE: Final = 1
"""Points of each score that an application without a demand is assumed to take.

Nobody knows how many it takes, and without any all would go to one cluster.
"""
_NO_LOAD: Final = Counter[tuple[str, str]]()

Refuges = Mapping[str, str]
"""Clusters by namespace/name of the Placement."""
HeldClusters = Mapping[str, Collection[str]]
"""Clusters from which a Placement (namespace/name) came back, see `holds`."""
NOTHING_HELD: Final[HeldClusters] = MappingProxyType({})


def plan_refuges(
    paced: Mapping[str, Paced],
    *,
    state: HubState,
    now: datetime,
    current: Refuges,
    held: HeldClusters = NOTHING_HELD,
    only: Collection[str] | None = None,
) -> dict[str, str]:
    """The refuges of all Placements that ask for them.

    A Placement for which no other cluster is eligible has none. `current` are the refuges so far.
    They stay unless the new plan is clearly better, and where it is not known, because the
    Placement has no decision or OCM reports a mistake in it. A cluster that is held is not a
    refuge: the application did worse there. With `only`, the other Placements keep theirs, and are
    not examined.
    """
    wanted = {key: candidate for key, candidate in paced.items() if candidate.ranking.refuges}
    decided: dict[str, frozenset[str]] = {}
    refuges: dict[str, str] = {}
    members: defaultdict[str, list[str]] = defaultdict(list)
    for key, candidate in wanted.items():
        decided[key] = own_decisions(candidate.placement, state)
        for cluster in decided[key]:
            members[cluster].append(key)
        if key in current:
            refuges[key] = current[key]
    for lost, keys in sorted(members.items()):
        planned: list[str] = []
        for key in keys:
            # A Placement on several clusters has one refuge, which is planned with the first one.
            if lost == min(decided[key]) and (only is None or key in only):
                planned.append(key)
        if not planned:
            continue
        together = _Together({key: wanted[key].ranking for key in keys}, refuges)
        # The largest load first: smaller ones are easier to spread afterwards.
        for key in sorted(planned, key=lambda key: (-wanted[key].ranking.load, key)):
            ranked = _ranked(wanted[key], state=state, now=now, held=held.get(key, ()))
            if ranked is None:
                continue
            refuge = together.place(key, ranked, before=refuges.pop(key, None))
            if refuge is not None:
                refuges[key] = refuge
    return dict(sorted(refuges.items()))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ranked:
    """The clusters that pass the filters of a Placement and are not in its decision."""

    verdict: Verdict
    ranking: RankedClusters
    """The ranking, including clusters of the decision.

    Its sums are those of the scores, without Steady.
    """
    held: Collection[str]

    def sum_of(self, cluster: str) -> int | None:
        """None if the cluster cannot be a refuge."""
        position = self.verdict.state.positions.get(cluster)
        if position is None or not self._may_be_refuge(cluster):
            return None
        clusters = self.ranking.clusters
        index = bisect_left(clusters, position)
        if index < len(clusters) and clusters[index] == position:
            return self.ranking.sums[index]
        return None

    def best(self, without: Collection[str]) -> Iterator[str]:
        """The best cluster that is not among these, if there is one."""
        for index in self.ranking.order:
            name = self.verdict.state.names[self.ranking.clusters[index]]
            if self._may_be_refuge(name) and name not in without:
                yield name
                return

    def _may_be_refuge(self, cluster: str) -> bool:
        return cluster not in self.verdict.current and cluster not in self.held


def _ranked(
    paced: Paced, *, state: HubState, now: datetime, held: Collection[str]
) -> _Ranked | None:
    """None if OCM would report a mistake."""
    verdict = simulate_placement(paced.written, state=state, now=now)
    ranking = verdict.ranking
    if ranking is None or verdict.outcome is not Outcome.SCHEDULED or verdict.status.failed:
        return None
    # Steady counts only for clusters of the decision, so the order of all others is that of the
    # scores.
    plain = [result for result in verdict.prioritizers if result.prioritizer.built_in != "Steady"]
    sums = add_up(plain, len(ranking.clusters))
    return _Ranked(verdict=verdict, ranking=replace(ranking, sums=sums), held=held)


class _Together:
    """The applications of one cluster, and the load that they would bring to others."""

    def __init__(self, rankings: Mapping[str, PacedRanking], refuges: Refuges) -> None:
        self._rankings = rankings
        self._load: dict[str, Counter[tuple[str, str]]] = {}
        """Points assumed in addition to a score: by cluster, then by resource and dimension."""
        self._counts = Counter[str]()
        for key in rankings:
            if key in refuges:
                self._add(key, refuges[key])

    def place(self, key: str, ranked: _Ranked, *, before: str | None) -> str | None:
        """The refuge of an application; None if there is no cluster for it.

        `before` is the one so far.
        """
        if before is not None:
            self._add(key, before, times=-1)
        ranking = self._rankings[key]
        points = dict(self._points(ranking, ranked))
        if not points:
            return None
        refuge = self._chosen(ranking, points, before)
        self._add(key, refuge)
        return refuge

    def _chosen(
        self, ranking: PacedRanking, points: Mapping[str, float], before: str | None
    ) -> str:
        best = max(points.values())
        # Each change of a refuge is a write, and scores change all the time.
        if before is not None and before in points and points[before] > best - SPREAD:
            return before
        points_taken = 0
        for term in ranking.terms:
            points_taken += abs(term.weight) * _taken(term, ranking)
        own = points_taken / ranking.total_weight
        # A cluster counts as near if it is within the spread also with this application on it.
        near: list[str] = []
        for name, value in points.items():
            if value == best or value - own >= best - SPREAD:
                near.append(name)
        return min(near, key=lambda name: (self._counts[name], -points[name], name))

    def _points(self, ranking: PacedRanking, ranked: _Ranked) -> Iterator[tuple[str, float]]:
        """Clusters with their weighted mean and the assumed load.

        Of clusters without such load only the best one is given: no other is chosen before it.
        """
        for name in (*self._load, *ranked.best(self._load)):
            plain = ranked.sum_of(name)
            if plain is not None:
                load = self._load.get(name, _NO_LOAD)
                total = plain
                for term in ranking.terms:
                    total += term.weight * load[_item(term)]
                yield name, total / ranking.total_weight

    def _add(self, key: str, cluster: str, *, times: int = 1) -> None:
        ranking = self._rankings[key]
        self._counts[cluster] += times
        load = self._load.setdefault(cluster, Counter())
        for term in ranking.terms:
            # Where a lower score is better, an arrival raises the score.
            sign = 1 if term.weight > 0 else -1
            load[_item(term)] -= times * _taken(term, ranking) * sign


def _taken(term: PacedTerm, ranking: PacedRanking) -> int:
    """Points of a score that an application is assumed to take."""
    return term.demand if ranking.load else SHARE * bool(term.weight)


def _item(term: PacedTerm) -> tuple[str, str]:
    return term.resource, term.dimension


def published_refuges(scores: Scores) -> Refuges:
    """The refuges that the reconciler has published, and targets of moves not followed yet."""
    return drawn_by(items_in(scores.get(MOVES_SCORE, {})))


def by_lost_cluster(
    refuges: Refuges, decided: Mapping[str, Iterable[str]]
) -> dict[str, dict[str, str]]:
    """The plan as people read it: by lost cluster, and then by Placement, where it goes to."""
    plan: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for key, refuge in sorted(refuges.items()):
        clusters = set(decided.get(key, ()))
        if refuge in clusters:
            # OCM went there just now, and the next plan names another one.
            continue
        for cluster in clusters:
            plan[cluster][key] = refuge
    return dict(sorted(plan.items()))
