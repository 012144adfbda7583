"""Estimates how often the agents and the hub scorer write to the hub's API server."""

from collections import Counter

from gitops_dsf.resolve.types import Resolved


def writes_per_second(resolved: Resolved) -> float:
    """Writes per second that refresh all scores of a repository. A published score is written at half of its
    TTL even if it does not change.

    Changed scores add at most one write per publish.minIntervalSeconds. Their number is not known from files.
    """
    clusters = Counter(name for names in resolved.targets.values() for name in names)
    return sum(
        clusters[scorer.name] / max(scorer.ttl_seconds / 2, 1)
        for scorer in resolved.scorers
        if scorer.spec.score_destination == "AddOnPlacementScore"
    )
