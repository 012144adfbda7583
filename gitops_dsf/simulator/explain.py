"""Explains why a cluster is in or out: the terms of its sum, and the nearest score that flips that.

OCM shows neither the sums nor the terms in its API. Guaranteed: a flip is exact if nothing else
changes. Not guaranteed: that a combination of smaller changes would not flip the decision, too.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
from msgspec import Struct

from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.hub.points import mean_weight, points_of, points_text
from gitops_dsf.hub.score_states import expired
from gitops_dsf.simulator.documents import SimulatorInputError
from gitops_dsf.simulator.outcome import Outcome
from gitops_dsf.simulator.prioritizers import (
    MAX_SCORE,
    MIN_SCORE,
    Prioritizer,
    PrioritizerResult,
)
from gitops_dsf.simulator.ranking import RankedClusters, add_up
from gitops_dsf.simulator.verdict import Verdict


class Contribution(Struct, frozen=True, rename="camel"):
    """The contribution of one prioritizer to the sum of a cluster."""

    name: str
    weight: int
    score: int | None
    """None if the prioritizer has no entry for the cluster, which adds 0."""
    points: int
    note: str
    """Whether the score is missing or expired."""


class Flip(Struct, frozen=True, rename="camel"):
    """A change of one score that would flip the decision if nothing else changes."""

    name: str
    score: int
    needed: int
    """The nearest score that flips the decision."""
    reachable: bool
    """Whether its scorer could publish it."""

    @property
    def change(self) -> int:
        return self.needed - self.score

    def __str__(self) -> str:
        if not MIN_SCORE <= self.needed <= MAX_SCORE:
            return (
                f"not by {self.name} alone: it is {self.score} and would have to be {self.needed}"
            )
        if not self.reachable:
            return (
                f"not by {self.name} alone: it is {self.score} and would have to be {self.needed},"
                " which its scorer never publishes"
            )
        if self.change > 0:
            return f"{self.name} rises from {self.score} to {self.needed}"
        return f"{self.name} falls from {self.score} to {self.needed}"


class Explanation(Struct, frozen=True, rename="camel", kw_only=True):
    """The reason why a cluster is in a decision or not."""

    placement: str
    cluster: str
    selected: bool | None
    """None if that is not known."""
    reason: str
    """One sentence: why the cluster is in or out."""
    filter: str | None
    """The filter that dropped the cluster."""
    rank: int | None
    """The rank from 1 among the clusters that passed the filters; None if it was dropped."""
    total: int | None
    """The number of clusters that were ranked."""
    points: int | None
    """The weighted sum."""
    contributions: tuple[Contribution, ...]
    rival: str | None
    """The cluster that it would change places with: the last one in, or the first one out."""
    rival_points: int | None
    margin: int | None
    """The amount by which its sum must grow (if out) or shrink (if in); None if no score could move
    it.
    """
    flips: tuple[Flip, ...]
    """One per add-on score with a weight, the smallest change first."""

    @property
    def nearest(self) -> Flip | None:
        """The smallest change to a score that can be published."""
        return next((flip for flip in self.flips if flip.reachable), None)


def explain(
    verdict: Verdict, cluster: str, *, spans: Mapping[str, tuple[int, int]] = MappingProxyType({})
) -> Explanation:
    """Explains one cluster of a verdict.

    `spans` has the lowest and the highest value that a scorer publishes, by name of the
    AddOnPlacementScore, where they are known. Raises SimulatorInputError if there is no such
    cluster.
    """
    position = verdict.state.positions.get(cluster)
    if position is None:
        raise SimulatorInputError(f"there is no ManagedCluster {cluster!r} among the objects")
    # In the order of the pass: what ends it first is the reason.
    undecided = _undecided(verdict, cluster)
    if undecided is not None:
        return _out(verdict, cluster, undecided)
    if position not in verdict.membership.clusters:
        return _out(verdict, cluster, _not_a_candidate(verdict, position))
    drop = verdict.drop_of(cluster)
    if drop is not None:
        return _out(verdict, cluster, drop.reason, filter_name=drop.filter)
    if verdict.ranking is None:
        return _out(verdict, cluster, f"scheduling ends with an error: {verdict.status.message}")
    explained = _ranked(verdict, verdict.ranking, position, spans)
    if explained.selected and cluster not in verdict.chosen:
        # A mistake in the decision groups ends the pass after the selection.
        reason = (
            f"{explained.reason}; but no PlacementDecision is written for it:"
            f" {verdict.status.message}"
        )
        return msgspec.structs.replace(explained, selected=False, reason=reason)
    return explained


def margins(verdict: Verdict) -> Mapping[str, int]:
    """The amount by which the sum of each ranked cluster must change before it changes sides.

    It is empty if no score could move any cluster. A selected cluster with a margin of 1 leaves
    when its sum is smaller by 1.
    """
    ranking = verdict.ranking
    if ranking is None:
        return {}
    by_cluster: dict[str, int] = {}
    for position, index in enumerate(ranking.order):
        margin = _margin(ranking, index, selected=position < ranking.selected)
        if margin is not None:
            by_cluster[verdict.state.names[ranking.clusters[index]]] = margin
    return by_cluster


class Lead(Struct, frozen=True, kw_only=True):
    """A cluster with better scores than a chosen one, which the stickiness keeps out."""

    cluster: str
    over: str
    """The chosen cluster with the lowest scores."""
    points: float
    """The points of the weighted mean of the scores."""
    stickiness: float
    """The points of the weighted mean that it must lead by before the Placement moves."""


def lead(verdict: Verdict) -> Lead | None:
    """The best cluster that only Steady keeps out.

    None if there is none, or if more than scores and Steady rank the clusters.
    """
    ranking = verdict.ranking
    scored = _scored(verdict)
    steady = 0
    for result in verdict.prioritizers:
        if result.prioritizer.built_in == "Steady":
            steady += result.weight
        elif result.prioritizer.built_in is not None:
            return None
    if ranking is None or not ranking.selected or steady <= 0 or not scored:
        return None
    sums = add_up(scored, len(ranking.clusters))
    chosen = ranking.order[: ranking.selected]
    others = ranking.order[ranking.selected :]
    if not others or verdict.chosen != verdict.current:
        return None
    # Clusters are in order of name, so equal sums are decided by the index.
    best = min(others, key=lambda index: (-sums[index], index))
    worst = min(chosen, key=lambda index: (sums[index], -index))
    if sums[best] <= sums[worst]:
        return None
    weight = mean_weight(verdict.prioritizers)
    names = verdict.state.names
    return Lead(
        cluster=names[ranking.clusters[best]],
        over=names[ranking.clusters[worst]],
        points=points_of(sums[best] - sums[worst], weight),
        stickiness=points_of(MAX_SCORE * steady, weight),
    )


def mean_scores(verdict: Verdict) -> Mapping[str, float]:
    """The weighted mean of the scores of each cluster that passed the filters.

    Empty if no score ranks them.
    """
    ranking = verdict.ranking
    scored = _scored(verdict)
    if ranking is None or not scored:
        return {}
    sums = add_up(scored, len(ranking.clusters))
    weight = mean_weight(verdict.prioritizers)
    points: dict[str, float] = {}
    for cluster, total in zip(ranking.clusters, sums, strict=True):
        points[verdict.state.names[cluster]] = points_of(total, weight)
    return points


def _scored(verdict: Verdict) -> list[PrioritizerResult]:
    """The results of add-on scores, without those of built-in prioritizers."""
    return [result for result in verdict.prioritizers if result.prioritizer.built_in is None]


def _margin(ranking: RankedClusters, index: int, *, selected: bool) -> int | None:
    if not 0 < ranking.selected < len(ranking.order):
        return None
    # The first that is out for a selected cluster, the last that is in for one that is out.
    rival = ranking.order[ranking.selected - (not selected)]
    gap = ranking.sums[index] - ranking.sums[rival]
    # Equal sums are ordered by name, so the later name needs one more.
    if selected:
        return gap + (index < rival)
    return (index > rival) - gap


def _out(
    verdict: Verdict, cluster: str, reason: str, *, filter_name: str | None = None
) -> Explanation:
    return Explanation(
        placement=verdict.placement,
        cluster=cluster,
        selected=cluster in verdict.chosen,
        reason=reason,
        filter=filter_name,
        rank=None,
        total=None,
        points=None,
        contributions=(),
        rival=None,
        rival_points=None,
        margin=None,
        flips=(),
    )


def _undecided(verdict: Verdict, cluster: str) -> str | None:
    if verdict.outcome is Outcome.SCHEDULED:
        return None
    if verdict.outcome is Outcome.UNSUPPORTED:
        return f"unknown: {verdict.unsupported[0]}"
    if cluster in verdict.current:
        return f"the cluster keeps its decision: {verdict.notes[0]}"
    return f"the cluster has no decision: {verdict.notes[0]}"


def _not_a_candidate(verdict: Verdict, position: int) -> str:
    if position in verdict.state.terminating:
        return "the ManagedCluster is being deleted"
    if not verdict.cluster_sets and verdict.satisfied:
        return f"the Placement has no eligible ManagedClusterSet: {verdict.satisfied.message}"
    if not verdict.cluster_sets:
        return "the Placement has no eligible ManagedClusterSet: no ManagedClusterSet is eligible"
    label = verdict.state.labels.labels[position].get(CLUSTER_SET_LABEL)
    sets = ", ".join(verdict.cluster_sets)
    if label:
        return (
            f"it is in none of the eligible ManagedClusterSets ({sets}); its label says {label!r}"
        )
    return f"it is in none of the eligible ManagedClusterSets ({sets}); it has no clusterset label"


def _ranked(
    verdict: Verdict, ranking: RankedClusters, position: int, spans: Mapping[str, tuple[int, int]]
) -> Explanation:
    index = ranking.clusters.index(position)
    rank = ranking.order.index(index)
    selected = rank < ranking.selected
    margin = _margin(ranking, index, selected=selected)
    contributions: tuple[Contribution, ...] = ()
    for result in verdict.prioritizers:
        contributions += (_contribution(result, index, position, verdict),)
    flips: tuple[Flip, ...] = ()
    rival: str | None = None
    rival_points: int | None = None
    if margin is not None:
        wanted_change = margin
        if selected:
            wanted_change = -margin
        flips = _flips(contributions, verdict, wanted_change, spans)
        rival_index = ranking.order[ranking.selected - (not selected)]
        rival = verdict.state.names[ranking.clusters[rival_index]]
        rival_points = ranking.sums[rival_index]
    return Explanation(
        placement=verdict.placement,
        cluster=verdict.state.names[position],
        selected=selected,
        reason=_rank_reason(
            verdict, ranking, index, rank=rank, rival=rival, rival_points=rival_points
        ),
        filter=None,
        rank=rank + 1,
        total=len(ranking.order),
        points=ranking.sums[index],
        contributions=contributions,
        rival=rival,
        rival_points=rival_points,
        margin=margin,
        flips=flips,
    )


def _contribution(
    result: PrioritizerResult, index: int, position: int, verdict: Verdict
) -> Contribution:
    score = result.values[index]
    return Contribution(
        result.name,
        result.weight,
        score,
        (score or 0) * result.weight,
        _note(result.prioritizer, score, position, verdict),
    )


def _rank_reason(
    verdict: Verdict,
    ranking: RankedClusters,
    index: int,
    *,
    rank: int,
    rival: str | None,
    rival_points: int | None,
) -> str:
    weight = mean_weight(verdict.prioritizers)
    total = len(ranking.order)
    selected = rank < ranking.selected
    points = points_text(points_of(ranking.sums[index], weight))
    if rival is None or rival_points is None:
        if selected:
            return (
                f"rank {rank + 1} of {total} with {points} points; every cluster that passes the"
                " filters is selected"
            )
        return f"rank {rank + 1} of {total} with {points} points, but numberOfClusters is 0"
    others = points_text(points_of(rival_points, weight))
    equal = ranking.sums[index] == rival_points
    if selected and equal:
        return (
            f"rank {rank + 1} of {total} with {points} points; the first that is not selected is"
            f" {rival} with {others}, and equal points are ordered by name"
        )
    if selected:
        return (
            f"rank {rank + 1} of {total} with {points} points; the first that is not selected is"
            f" {rival} with {others}"
        )
    if equal:
        return (
            f"rank {rank + 1} of {total} with {points} points; the last that is selected is"
            f" {rival} with {others}, and equal points are ordered by name"
        )
    return (
        f"rank {rank + 1} of {total} with {points} points; the last that is selected is {rival}"
        f" with {others}"
    )


def _flips(
    contributions: tuple[Contribution, ...],
    verdict: Verdict,
    points: int,
    spans: Mapping[str, tuple[int, int]],
) -> tuple[Flip, ...]:
    """The nearest value of each add-on score that changes the sum by at least `points`."""
    # OCM adds the weights of a score that is listed twice, so its one value counts with their sum.
    weights: dict[str, int] = {}
    resources: dict[str, str] = {}
    for result in _scored(verdict):
        weights[result.name] = weights.get(result.name, 0) + result.weight
        resources[result.name] = result.prioritizer.resource
    scores = {part.name: part.score or 0 for part in contributions}
    flips: list[Flip] = []
    for name, weight in weights.items():
        # Entries of one score can cancel each other out: then no value of it changes the sum.
        if weight == 0:
            continue
        # Rounded up: a score is a whole number, and the sum must change by all of the points.
        steps = -(-abs(points) // abs(weight))
        direction = 1
        if (points > 0) != (weight > 0):
            direction = -1
        needed = scores[name] + direction * steps
        low, high = spans.get(resources[name], (MIN_SCORE, MAX_SCORE))
        flips.append(Flip(name, scores[name], needed, low <= needed <= high))
    return tuple(sorted(flips, key=lambda flip: (abs(flip.change), flip.name)))


def _note(prioritizer: Prioritizer, score: int | None, position: int, verdict: Verdict) -> str:
    cluster = verdict.state.names[position]
    if prioritizer.built_in is not None and score is None:
        return "no allocatable and capacity reported, adds 0"
    if prioritizer.built_in is not None:
        return ""
    published = verdict.state.scores.get(prioritizer.resource, {}).get(cluster)
    if published is None:
        return f"no AddOnPlacementScore {cluster}/{prioritizer.resource}, counts as 0"
    if published.valid_until is not None and expired(published.valid_until, verdict.now):
        return f"expired at {published.valid_until.isoformat()}, counts as 0"
    if published.get(prioritizer.score) is None:
        return (
            f"AddOnPlacementScore {cluster}/{prioritizer.resource} has no score"
            f" {prioritizer.score!r}, counts as 0"
        )
    return ""
