"""Reasons why a decision changes or may change: `gitops_dsf.show.preview.reasons` words them.

A reason has a number of points only where it is known, or its two bounds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gitops_dsf.hub.intervals import Interval
from gitops_dsf.hub.points import mean_weight
from gitops_dsf.resolve.next_score import NextScore
from gitops_dsf.simulator import Outcome, Verdict, explain
from gitops_dsf.simulator.certainty import Certainty, certainty
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.simulator.verdict import outcome_text
from gitops_dsf.views.preview.verdictpairs import VerdictPair

MAX_CHOICE: Final = 3
"""Clusters among which unknown scores choose, up to which each of them has its points."""


@dataclass(frozen=True, kw_only=True)
class PlacementRemoved:
    """The Placement is not there after the change."""


@dataclass(frozen=True, kw_only=True)
class NotDecided:
    """OCM does not schedule the Placement."""

    message: str
    """The cause in OCM's words."""


@dataclass(frozen=True, kw_only=True)
class ClusterUnlisted:
    """The cluster is not in the inventory after the change."""

    cluster: str


@dataclass(frozen=True, kw_only=True)
class ClusterDropped:
    """A filter drops the cluster."""

    cluster: str
    filter: str
    reason: str
    """The reason in OCM's words."""


@dataclass(frozen=True, kw_only=True)
class ClusterRanked:
    """The scores decide about the cluster."""

    cluster: str
    explanation: str
    """The explanation of the simulator."""


@dataclass(frozen=True, kw_only=True)
class UnknownScore:
    """A score whose value after the change is not known."""

    resource: str
    cause: str


@dataclass(frozen=True, kw_only=True)
class PointBounds:
    """The lowest and the highest sum that a cluster can have."""

    cluster: str
    sums: Interval
    weight: int
    """The mean of the weights, by which a sum becomes points."""


@dataclass(frozen=True, kw_only=True)
class BoundsDecide:
    """Scores are unknown, and whatever they become, the decision is the same."""

    unknown: tuple[UnknownScore, ...]
    bounds: tuple[PointBounds, ...]


@dataclass(frozen=True, kw_only=True)
class UnknownDecides:
    """Scores are unknown, and what they become decides."""

    unknown: tuple[UnknownScore, ...]
    possible: int
    """The number of clusters that may be selected."""
    stays_by_present: bool
    """Whether the scores have no bounds, and the present ones would change nothing."""
    choice: tuple[str, ...]
    """Clusters that may be selected and may not, sorted."""
    places: int
    """The number of them that are selected; 0 if it is unknown."""
    bounds: tuple[PointBounds, ...]
    """The bounds of each cluster of a choice of at most `MAX_CHOICE`; empty if there are no bounds.
    """


@dataclass(frozen=True, kw_only=True)
class Followed:
    """An ApplicationSet that follows another Placement after the change."""

    application_set: str
    placement: str


@dataclass(frozen=True, kw_only=True)
class DecisionReason:
    """The reason why a decision changes, or may change."""

    cause: (
        PlacementRemoved
        | NotDecided
        | ClusterUnlisted
        | ClusterDropped
        | ClusterRanked
        | BoundsDecide
        | UnknownDecides
    )
    planned: tuple[str, ...] = ()
    """The targets that the reconciler planned. The scores do not lead there."""
    followed: tuple[Followed, ...] = ()
    """The new Placements of applications that followed a removed one."""


def sums_by_people(pair: VerdictPair) -> Certainty | None:
    """The bounds of all sums by the weights that people wrote; None if every score is known."""
    if pair.certainty is None or pair.after is None:
        return None
    return certainty(as_people_wrote(pair.after), pair.unknown)


def is_bounded(pair: VerdictPair) -> bool:
    """Whether present scores bound every unknown score that decides about a Placement."""
    if pair.after is None:
        return False
    return all(cell.bounded for _, cell in _unknown_cells(pair, pair.after))


def reason_of(
    pair: VerdictPair, origin: tuple[str, ...], target: tuple[str, ...]
) -> DecisionReason:
    """The reason why a known decision changes, by the first cluster that it leaves or moves to."""
    verdict = pair.after
    if verdict is None:
        return DecisionReason(cause=PlacementRemoved())
    if verdict.outcome is not Outcome.SCHEDULED or verdict.ranking is None:
        return DecisionReason(cause=NotDecided(message=outcome_text(verdict)))
    by_scores = as_people_wrote(verdict)
    # People ask why a Placement leaves. A new one leaves nothing, so they ask why it goes there.
    cluster = (origin or target)[0]
    bounds = sums_by_people(pair)
    cause: ClusterUnlisted | ClusterDropped | ClusterRanked | BoundsDecide
    if bounds is None or cluster not in bounds.sums:
        cause = _explained(by_scores, cluster)
    else:
        # The verdict has the middle of the bounds, which must not be shown as known.
        clusters = (*target[:1], *origin[:1])
        cause = BoundsDecide(
            unknown=_unknown_scores(pair, by_scores),
            bounds=tuple(_point_bounds(by_scores, bounds, clusters)),
        )
    if pair.before is not None and target and not by_scores.chosen.issuperset(target):
        # A paced Placement ranks by items of moves, so it can go where the scores do not lead.
        return DecisionReason(cause=cause, planned=target)
    return DecisionReason(cause=cause)


def open_reason(
    pair: VerdictPair, verdict: Verdict, *, possible: tuple[str, ...], places: int | None
) -> DecisionReason:
    """The unknown scores, and the clusters that could be selected because of them.

    `places` of the `possible` clusters are selected; None if this is unknown as well.
    """
    bounds = sums_by_people(pair)
    bounded = is_bounded(pair)
    is_same = pair.before is not None and verdict.chosen == pair.before.chosen
    listed: tuple[PointBounds, ...] = ()
    # Only a short choice has points in its sentence, and a fleet can have thousands of clusters.
    if bounds is not None and bounded and len(possible) <= MAX_CHOICE:
        listed = tuple(_point_bounds(as_people_wrote(verdict), bounds, possible))
    return DecisionReason(
        cause=UnknownDecides(
            unknown=_unknown_scores(pair, verdict),
            possible=0 if pair.certainty is None else len(pair.certainty.possible),
            stays_by_present=not bounded and is_same,
            choice=possible,
            places=places or 0,
            bounds=listed,
        )
    )


def _point_bounds(
    verdict: Verdict, bounds: Certainty, clusters: tuple[str, ...]
) -> Iterator[PointBounds]:
    """The bounds of the points of these clusters, as far as they are ranked."""
    weight = mean_weight(verdict.prioritizers)
    for cluster in clusters:
        if cluster in bounds.sums:
            yield PointBounds(cluster=cluster, sums=bounds.sums[cluster], weight=weight)


def _unknown_scores(pair: VerdictPair, verdict: Verdict) -> tuple[UnknownScore, ...]:
    """The reasons why scores of candidates are unknown, each once, in order of prioritizers."""
    unknown: dict[UnknownScore, None] = {}
    for resource, cell in _unknown_cells(pair, verdict):
        unknown[UnknownScore(resource=resource, cause=cell.why)] = None
    return tuple(unknown)


def _unknown_cells(pair: VerdictPair, verdict: Verdict) -> Iterator[tuple[str, NextScore]]:
    """Unknown scores of candidates by which the Placement ranks, each with its name."""
    candidates = frozenset(verdict.candidates)
    for result in verdict.prioritizers:
        resource = result.prioritizer.resource
        for cluster, cell in pair.unknown.get(resource, {}).items():
            if cluster in candidates:
                yield resource, cell


def _explained(verdict: Verdict, cluster: str) -> ClusterUnlisted | ClusterDropped | ClusterRanked:
    # The simulator knows nothing of a cluster that is not in the state, so it explains nothing.
    if cluster not in verdict.state.positions:
        return ClusterUnlisted(cluster=cluster)
    explanation = explain(verdict, cluster)
    if explanation.filter:
        return ClusterDropped(cluster=cluster, filter=explanation.filter, reason=explanation.reason)
    return ClusterRanked(cluster=cluster, explanation=explanation.reason)
