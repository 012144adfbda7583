"""The scores by which a ranking orders clusters, and what a missing one does."""

from collections.abc import Mapping
from dataclasses import dataclass

from gitops_dsf.repository.model.declared import RankingItem
from gitops_dsf.resolve.scorer import EffectiveScorer


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedScore:
    """One ranking term of a Placement: an item of an AddOnPlacementScore, and its weight."""

    scorer: str
    resource_name: str
    dimension: str
    weight: int


def ranked_by(
    ranking: RankingItem, scorers: Mapping[str, EffectiveScorer]
) -> tuple[ResolvedScore, ...] | None:
    """The scores of a ranking; None when a reference is invalid."""
    scores: list[ResolvedScore] = []
    for score in ranking.value.spec.scores:
        scorer = scorers.get(score.scorer)
        if scorer is None or not scorer.score_name:
            return None
        dimension = score.dimension or scorer.only_item
        if dimension is None:
            return None
        scores.append(
            ResolvedScore(
                scorer=score.scorer,
                resource_name=scorer.resource_name,
                dimension=dimension,
                weight=score.weight,
            )
        )
    return tuple(scores)


def how_zero_wins(scorer: EffectiveScorer, weight: int) -> str:
    """How a cluster without the score beats clusters that have it; empty if it never does.

    OCM counts a missing score as 0 (docs/decisions/scheduler.md#what-the-scores-do-not-say).
    """
    low, high = scorer.published
    if weight > 0 and low < 0:
        return (
            f"{scorer.name} can publish {low}, and a cluster without the score counts as 0: it"
            " beats real ones"
        )
    if weight < 0 and high > 0:
        return f"with a negative weight a cluster without the score (0) beats those with {high}"
    return ""
