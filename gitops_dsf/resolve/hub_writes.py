"""Estimates how often the agents and the hub scorer write to the hub's API server."""

from collections.abc import Iterable, Mapping

from gitops_dsf.resolve.types import EffectiveScorer, Resolved

MANY_WRITES_PER_SECOND = 200
"""Above this rate a warning is reported. A small hub was measured to peak near 390 writes per second."""


def writes_per_second(resolved: Resolved) -> float:
    """Writes per second that refresh all scores of a repository."""
    clusters: dict[str, int] = {}
    for names in resolved.targets.values():
        for name in names:
            clusters[name] = clusters.get(name, 0) + 1
    return rate(resolved.scorers, clusters)


def rate(scorers: Iterable[EffectiveScorer], clusters: Mapping[str, int]) -> float:
    """Writes per second that refresh scores. A published score is written at half of its TTL even if it does
    not change.

    Changed scores add at most one write per publish.minIntervalSeconds. Their number is not known from files.
    """
    return sum(
        clusters.get(scorer.name, 0) / max(scorer.ttl_seconds / 2, 1)
        for scorer in scorers
        if scorer.destination == "AddOnPlacementScore" and not scorer.suspend
    )
