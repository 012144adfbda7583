"""How often the agents of a fleet write to the hub's API server."""

from collections.abc import Iterable, Mapping

from gitops_dsf.resolve.types import EffectiveScorer, Resolved

MANY_WRITES_PER_SECOND = 200
"""Above this a warning: a small hub was seen to peak near 390 writes per second."""


def writes_per_second(resolved: Resolved) -> float:
    """Refreshes of all scores of a decided repository: clusters x scorers / refresh."""
    clusters: dict[str, int] = {}
    for names in resolved.targets.values():
        for name in names:
            clusters[name] = clusters.get(name, 0) + 1
    return rate(resolved.scorers, clusters)


def rate(scorers: Iterable[EffectiveScorer], clusters: Mapping[str, int]) -> float:
    """Refreshes per second: every published score is written at half of its TTL even when nothing changes.

    Changes come on top, at most one per publish.minIntervalSeconds; how many there are is not known from
    files.
    """
    return sum(
        clusters.get(scorer.name, 0) / max(scorer.ttl_seconds / 2, 1)
        for scorer in scorers
        if scorer.destination == "AddOnPlacementScore" and not scorer.suspend
    )
