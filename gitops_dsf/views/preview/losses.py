"""The loss of clusters: targets of their applications, and applications without a target.

OCM taints a cluster that it cannot reach, and each Placement leaves it. A paced one goes to its
refuge, any other to the best cluster by its scores. So the simulator decides on the hub with that
taint, after the moves that OCM would make anyway, as if every `tolerationSeconds` had run out.

A drain is a loss with notice: the same class finds missing targets and overloads, while the pace
decides when each application leaves, and so its target (`windoweffects`).

Guaranteed: the decisions are those of OCM, with the reconciler running or not. Not guaranteed: that
the scores are still these when a cluster is lost. The load of arrivals is the demand that people
wrote: OCM does not see it, so several applications may go to one cluster and ask for more than it
has left.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.names import OCM_GROUP
from gitops_dsf.hub.objects import Taint
from gitops_dsf.hub.pace import DRAW, MOVES_SCORE
from gitops_dsf.hub.score_states import expired
from gitops_dsf.pacing.items import MoveItems, drawing, items_in
from gitops_dsf.pacing.refuges import Refuges
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.simulator import HubState, Outcome, Verdict, simulate
from gitops_dsf.simulator.taints import blocking_taint
from gitops_dsf.views.preview.applied import applied

LOST: Final = Taint(key=f"{OCM_GROUP}/unreachable", effect="NoSelect")
"""The taint of OCM 1.2.1 on a cluster whose lease it has not seen for long enough.

Without `timeAdded` every `tolerationSeconds` has run out.
"""
MAX_SIMULATED: Final = 5_000
"""Placements that are simulated for the loss of each cluster, on the clusters with most first.

One takes about a millisecond on a hub of 2,000 clusters.
"""

Way = Literal["refuge", "scores"]


class Departure(Struct, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    """The departure of one Placement from a lost cluster."""

    placement: str
    """`namespace/name`."""
    source: tuple[str, ...]
    """The lost clusters that it leaves, sorted."""
    target: tuple[str, ...]
    """The clusters that it goes to, sorted."""
    stays: tuple[str, ...]
    """Lost clusters on which its decision stays: it tolerates the loss, or OCM decides nothing."""
    missing: int
    """The number of clusters that it leaves without another one."""
    by: Way | None
    """The way in which the target was chosen; None without one."""

    @property
    def is_homeless(self) -> bool:
        """Whether there is no target for one of its clusters."""
        return self.missing > 0


class OverloadedScore(Struct, frozen=True, kw_only=True):
    """A score by which arrivals ask a cluster for more points than it has left."""

    cluster: str
    resource: str
    """The AddOnPlacementScore."""
    dimension: str
    left: int
    """Points between the published score and the worst one that the scorer publishes."""
    demand: int
    """The sum of what the arriving applications demand."""
    placements: tuple[str, ...]
    """The Placements that arrive and demand something, sorted."""


class Loss(Struct, frozen=True, kw_only=True):
    """The consequences if these clusters are lost together."""

    clusters: tuple[str, ...]
    departures: tuple[Departure, ...]
    """One for each Placement with a decision on them, sorted."""
    overloads: tuple[OverloadedScore, ...]

    @property
    def homeless(self) -> tuple[str, ...]:
        """Placements that have nowhere to go."""
        return tuple(departure.placement for departure in self.departures if departure.is_homeless)


class Losses(NamedTuple):
    """The loss of each single cluster."""

    losses: tuple[Loss, ...]
    """Losses by name of the cluster."""
    left_out: int
    """The number of other clusters with applications, whose loss was not computed."""


class _RankedScore(NamedTuple):
    """A score of an application, by which clusters are ranked."""

    resource: str
    dimension: str
    lower_is_better: bool


class _Target(NamedTuple):
    """One score of a cluster where applications arrive."""

    cluster: str
    score: _RankedScore


class _Demand(NamedTuple):
    """The points of one score that an application takes where it runs."""

    score: _RankedScore
    points: int


def with_refuges(state: HubState, refuges: Refuges, *, keep: bool) -> HubState:
    """The hub with the items of these refuges. `keep` keeps what is published now beside them."""
    if not refuges and keep:
        return state
    published = state.scores.get(MOVES_SCORE, {}) if keep else {}
    scores = {**state.scores, MOVES_SCORE: drawing(published, refuges)}
    return state.scoring(scores, changed={MOVES_SCORE})


def losses_of_each(fleet: CheckedFleet, state: HubState, *, now: datetime) -> Losses:
    """The loss of each single cluster with an application."""
    hub = ClusterLosses(fleet, state, now=now, known=None)
    chosen = hub.most_occupied()
    losses: list[Loss] = []
    for cluster in sorted(chosen):
        losses.append(hub.loss_of(frozenset({cluster})))
    return Losses(losses=tuple(losses), left_out=len(hub.occupied) - len(chosen))


def loss_of(
    fleet: CheckedFleet, state: HubState, clusters: Iterable[str], *, now: datetime
) -> Loss:
    """The consequences if these clusters are lost together."""
    return ClusterLosses(fleet, state, now=now, known=None).loss_of(frozenset(clusters))


class ClusterLosses:
    """A hub, and what is read of it once for any number of losses.

    `known` are the AddOnPlacementScores whose values are known; None for all.
    """

    def __init__(
        self,
        fleet: CheckedFleet,
        state: HubState,
        *,
        now: datetime,
        known: Collection[str] | None,
    ) -> None:
        self._fleet = fleet
        self._state = state
        self._now = now
        self._known = known
        self._demands = _demands(fleet)
        self._items = items_in(state.scores.get(MOVES_SCORE, {}))
        rendered = applied(fleet).placements
        self._all_taken: dict[str, bool] = {}
        self._clusters_of: dict[str, frozenset[str]] = {}
        self._placements_on: defaultdict[str, list[str]] = defaultdict(list)
        for key, clusters in decided(state.decisions.values()).items():
            # Placements of other owners are left as well, and cannot be changed in this repository.
            if key in rendered:
                self._clusters_of[key] = frozenset(clusters)
                for cluster in clusters:
                    # A decision may name a cluster whose ManagedCluster is gone already.
                    if cluster in state.positions:
                        self._placements_on[cluster].append(key)

    def most_occupied(self) -> list[str]:
        """The clusters whose loss is computed where that of each one would take too long."""
        chosen = list[str]()
        simulated = 0
        for cluster, placements in self.occupied:
            simulated += placements
            # One cluster is always computed, however many Placements it has.
            if simulated > MAX_SIMULATED and chosen:
                break
            chosen.append(cluster)
        return chosen

    @cached_property
    def occupied(self) -> list[tuple[str, int]]:
        """Clusters with how many Placements must be simulated for their loss, most first."""
        counts: list[tuple[str, int]] = []
        for cluster, keys in self._placements_on.items():
            simulated = 0
            for key in keys:
                # Placements on all eligible clusters only lose one, which needs no simulation.
                simulated += not self._takes_all(key)
            counts.append((cluster, simulated))
        return sorted(counts, key=lambda count: (-count[1], count[0]))

    def _takes_all(self, key: str) -> bool:
        """Whether a Placement has every eligible cluster, so that no other one is chosen.

        One whose scheduling is disabled, or in which OCM finds a mistake, is simulated.
        """
        if key not in self._all_taken:
            verdict = None
            if self._state.placement(key).spec.number_of_clusters is None:
                verdict = simulate(self._state, key, self._now)
            self._all_taken[key] = (
                verdict is not None
                and verdict.outcome is Outcome.SCHEDULED
                and not verdict.status.failed
                and verdict.chosen == verdict.current
            )
        return self._all_taken[key]

    def loss_of(self, lost: frozenset[str]) -> Loss:
        """The consequences if these clusters are lost together."""
        keys: set[str] = set()
        for cluster in lost:
            keys.update(self._placements_on.get(cluster, ()))
        # The loss of a cluster without applications has no consequences, so no hub without it is
        # built.
        after = self._without(lost) if keys else self._state
        departures = tuple(self.departures(keys, lost, after))
        return Loss(
            clusters=tuple(sorted(lost)),
            departures=departures,
            overloads=tuple(self.overloads(departures)),
        )

    def departures(
        self, keys: Iterable[str], left: frozenset[str], after: HubState
    ) -> Iterator[Departure]:
        """The departures of these Placements from lost clusters, by name.

        `after` is the hub with the taints by which the clusters are left.
        """
        for key in sorted(keys):
            if self._takes_all(key):
                yield self._shrinking(key, left, after)
            else:
                yield _departure(simulate(after, key, self._now), left, self._items)

    def _without(self, lost: frozenset[str]) -> HubState:
        """The hub after OCM has tainted the lost clusters."""
        clusters = {}
        for name in lost:
            position = self._state.positions.get(name)
            if position is not None:
                clusters[name] = self._state.clusters[position].tainted_by(LOST)
        return self._state.with_taints(clusters)

    def _shrinking(self, key: str, lost: frozenset[str], after: HubState) -> Departure:
        """A Placement on all eligible clusters, without a simulation of each of them."""
        placement = self._state.placement(key)
        before = self._clusters_of[key]
        stays = []
        for cluster in sorted(before & lost):
            tainted = after.clusters[after.positions[cluster]]
            tolerations = placement.spec.tolerations or ()
            # It is decided for the cluster, which is why a taint NoSelectIfNew would not count.
            if blocking_taint(tainted, tolerations, True, self._now) is None:
                stays.append(cluster)
        leaving = (before & lost) - set(stays)
        return Departure(
            placement=key,
            source=tuple(sorted(leaving)),
            target=(),
            stays=tuple(stays),
            # It only shrinks, unless this was the last one.
            missing=len(leaving) if leaving == before else 0,
            by=None,
        )

    def overloads(self, departures: Iterable[Departure]) -> Iterator[OverloadedScore]:
        """The scores by which all arrivals together ask for more than a target has left."""
        demanded: defaultdict[_Target, int] = defaultdict(int)
        arriving: defaultdict[_Target, list[str]] = defaultdict(list)
        for departure in departures:
            for cluster in departure.target:
                for demand in self._demands.get(departure.placement, ()):
                    target = _Target(cluster, demand.score)
                    demanded[target] += demand.points
                    arriving[target].append(departure.placement)
        for target, points in sorted(demanded.items()):
            points_left = self._points_left(target)
            if points_left is not None and points > points_left:
                yield OverloadedScore(
                    cluster=target.cluster,
                    resource=target.score.resource,
                    dimension=target.score.dimension,
                    left=points_left,
                    demand=points,
                    placements=tuple(sorted(set(arriving[target]))),
                )

    def _points_left(self, target: _Target) -> int | None:
        """None if the score is not known, or if it counts no more."""
        resource = target.score.resource
        scorer = self._fleet.scorer_by_resource.get(resource)
        published = self._state.scores.get(resource, {}).get(target.cluster)
        if scorer is None or published is None:
            return None
        if self._known is not None and resource not in self._known:
            return None
        if expired(published.valid_until, self._now):
            return None
        value = published.get(target.score.dimension)
        if value is None:
            return None
        # If a lower score is better, the room is above it.
        low, high = scorer.published
        return max(0, high - value if target.score.lower_is_better else value - low)


def _departure(verdict: Verdict, lost: frozenset[str], items: MoveItems) -> Departure:
    before = verdict.current
    # Else OCM leaves the decision as it is: scheduling is disabled, or there is a mistake.
    after = verdict.chosen if verdict.outcome is Outcome.SCHEDULED else before
    leaving = (before & lost) - after
    target = after - before
    missing = max(0, len(leaving) - len(target))
    return Departure(
        placement=verdict.placement,
        source=tuple(sorted(leaving)),
        target=tuple(sorted(target)),
        stays=tuple(sorted(before & lost & after)),
        missing=missing,
        by=_way(verdict, target, items),
    )


def _way(verdict: Verdict, target: Collection[str], items: MoveItems) -> Way | None:
    """The way in which the target was chosen: by a refuge's item, if there is one."""
    if not target:
        return None
    is_drawn = any(items.get(cluster, {}).get(verdict.placement) == DRAW for cluster in target)
    return "refuge" if is_drawn else "scores"


def _demands(fleet: CheckedFleet) -> Mapping[str, tuple[_Demand, ...]]:
    """The demands of the applications of a fleet, by Placement (`namespace/name`)."""
    by_placement = {}
    for placement in fleet.placements:
        demands = []
        # The demand is what people wrote; the weight, which says what "better" means, is resolved.
        scores = placement.declared.value.spec.scores
        for score, resolved in zip(scores, placement.scores, strict=True):
            if score.demand:
                ranked = _RankedScore(
                    resource=resolved.resource_name,
                    dimension=resolved.dimension,
                    lower_is_better=resolved.weight < 0,
                )
                demands.append(_Demand(score=ranked, points=score.demand))
        if demands:
            by_placement[placement.key] = tuple(demands)
    return by_placement
