"""How often agents and hub scorer write scores to the API server of the hub."""

from collections.abc import Collection, Iterable, Mapping

from gitops_dsf.resolve.scorer import EffectiveScorer


def writes_per_second(
    scorers: Iterable[EffectiveScorer],
    runs_on: Mapping[str, Collection[str]],
    *,
    on_hub: bool | None = None,
) -> float:
    """Writes per second that refresh the scores of these scorers on their clusters. With `on_hub`, only of
    scorers that run there, or only of those that do not.

    A published score is written at half of its TTL even if it does not change. Changed scores add at most one
    write per publish.minIntervalSeconds. Their number is not known from files.
    """
    publishing = (
        scorer
        for scorer in scorers
        if scorer.spec.score_destination == "AddOnPlacementScore"
        and not scorer.spec.suspend
        and on_hub in {None, scorer.spec.on_hub}
    )
    return sum(len(runs_on[scorer.name]) / max(scorer.ttl_seconds / 2, 1) for scorer in publishing)
