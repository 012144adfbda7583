"""Points of the decided clusters of Placements, as a metric.

So a graph shows how a decision stood at any time, and where each application was.
"""

from collections.abc import Collection, Mapping
from typing import Final

from gitops_dsf.hub.placements import PlacementSummary, RankedBy
from gitops_dsf.hub.points import points_of
from gitops_dsf.hub.score_states import expired
from gitops_dsf.hub.scores import PublishedScore
from gitops_dsf.reconciler.context import ControllerContext

MAX_CLUSTERS: Final = 10
"""Clusters of a Placement that has points. A Placement for every cluster ranks nothing."""


def set_points(context: ControllerContext) -> None:
    """Sets the points of every Placement that ranks by scores, and forgets the others."""
    points: dict[tuple[str, str], float] = {}
    columns = context.view.scores.columns
    now = context.api.now()
    for name, placement in context.view.placements.items.items():
        decision = context.tracker.decisions.get(name)
        if decision is None or not placement.ranked_by:
            continue
        for cluster, value in points_in(placement, decision.clusters, columns, now=now).items():
            points[name, cluster] = value
    context.metrics.placement_points.set(points)


def points_in(
    placement: PlacementSummary,
    clusters: Collection[str],
    columns: Mapping[str, Mapping[str, PublishedScore]],
    *,
    now: float,
) -> dict[str, float]:
    """The points of these clusters; nothing for too many. `now` is the hub's, in Unix seconds.

    Without the stickiness, so that a line shows the scores alone.
    """
    if len(clusters) > MAX_CLUSTERS:
        return {}
    # Weights may all be 0. Then nothing ranks, and every cluster has 0 points.
    weight = sum(abs(ranked.weight) for ranked in placement.ranked_by) or 1
    points: dict[str, float] = {}
    for cluster in clusters:
        total = 0
        for ranked in placement.ranked_by:
            score = columns.get(ranked.resource, {}).get(cluster)
            total += ranked.weight * _counted(score, ranked, now=now)
        points[cluster] = points_of(total, weight)
    return points


def _counted(score: PublishedScore | None, ranked: RankedBy, *, now: float) -> int:
    """The points that OCM counts for a score: 0 if it is missing or expired."""
    if score is None:
        return 0
    until = None if score.valid_until is None else score.valid_until.timestamp()
    return 0 if expired(until, now) else score.get(ranked.dimension) or 0
