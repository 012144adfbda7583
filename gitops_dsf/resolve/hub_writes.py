"""The rate at which agents and the hub scorer write scores to the API server of the hub."""

from collections.abc import Collection, Iterable, Mapping

from gitops_dsf.resolve.scorer import EffectiveScorer


def writes_per_second(
    scorers: Iterable[EffectiveScorer],
    runs_on: Mapping[str, Collection[str]],
    *,
    on_hub: bool | None = None,
) -> float:
    """Writes per second that refresh the scores of these scorers on their clusters.

    With `on_hub`, only of scorers that run there, or only of those that do not.

    A published score is written at half of its TTL even if it does not change. Changed scores add
    at most one write per publish.minIntervalSeconds. Their number is not known from files.
    """
    writes: float = 0
    for scorer in scorers:
        is_published = scorer.spec.score_destination == "AddOnPlacementScore"
        if not is_published or scorer.spec.suspend or on_hub not in {None, scorer.spec.on_hub}:
            continue
        # The agent renews a score at half of its TTL, so that one failed write does not let it
        # expire.
        writes += len(runs_on[scorer.name]) / max(scorer.ttl_seconds / 2, 1)
    return writes
