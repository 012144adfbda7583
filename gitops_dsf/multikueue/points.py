"""Points of clusters for the next job: the weighted mean of their scores. Pure.

They are points as everywhere (`gitops_dsf.hub.points`).
"""

from collections.abc import Iterable, Sequence

from gitops_dsf.hub.pace import PacedTerm, total_weight
from gitops_dsf.hub.points import points_of
from gitops_dsf.hub.score_states import expired
from gitops_dsf.hub.scores import PublishedScore, Scores
from gitops_dsf.simulator.score_columns import MISSING_SCORE


def cluster_points(
    terms: Sequence[PacedTerm], clusters: Iterable[str], scores: Scores, *, now: float
) -> dict[str, float]:
    """The points of these clusters. `now` is the hub's time, in seconds since 1970.

    A score that is missing counts as 0, as OCM counts it. A cluster of which a score has expired is
    left out: OCM counts it as 0 as well, but a scorer that is away for a minute must not send all
    jobs to another cluster.
    """
    weight = total_weight(terms)
    points: dict[str, float] = {}
    for cluster in clusters:
        total = _weighted_sum(terms, cluster, scores, now=now)
        if total is not None:
            points[cluster] = points_of(total, weight)
    return points


def _weighted_sum(
    terms: Sequence[PacedTerm], cluster: str, scores: Scores, *, now: float
) -> int | None:
    """None if one of the scores has expired."""
    total = 0
    for term in terms:
        score = scores.get(term.resource, {}).get(cluster)
        if score is None:
            total += term.weight * MISSING_SCORE
        elif _has_expired(score, now):
            return None
        else:
            value = score.get(term.dimension)
            total += term.weight * (MISSING_SCORE if value is None else value)
    return total


def _has_expired(score: PublishedScore, now: float) -> bool:
    # An object that only says why there is no score has no value that could be kept.
    if not score.names:
        return False
    return expired(None if score.valid_until is None else score.valid_until.timestamp(), now)
