"""Weights that hold the decision of a paced application, and the annotation for the reconciler.

A paced Placement holds while the scores can never make a difference of 500 in OCM's sum: Steady has
weight 10 and gives 1,000 to the chosen clusters, and the items that carry out a move take half of
that (docs/decisions/paced-moves.md).
"""

from collections.abc import Iterable, Sequence
from math import gcd

from gitops_dsf.hub.pace import HOLD_SPAN, PacedRanking, PacedTerm, Verification
from gitops_dsf.repository.model.declared import RankingItem
from gitops_dsf.repository.model.ranking import Score
from gitops_dsf.repository.model.repository import FleetRepositorySpec
from gitops_dsf.repository.model.scored_application import ScoredApplication
from gitops_dsf.resolve.ranked_scores import ResolvedScore
from gitops_dsf.resolve.stickiness import MAX_WEIGHT, Weights


def is_paced(ranking: RankingItem, settings: FleetRepositorySpec) -> bool:
    """Whether its moves are paced.

    An application on all eligible clusters does not move by its scores.
    """
    return (
        settings.pace is not None
        and isinstance(ranking.value, ScoredApplication)
        and ranking.value.spec.moves.pace == "Fleet"
        and ranking.value.spec.placement.number_of_clusters is not None
    )


def paced_ranking(
    written: Iterable[Score],
    scores: Iterable[ResolvedScore],
    *,
    weights: Weights,
    refuges: bool,
    verification: Verification | None = None,
) -> PacedRanking:
    """The ranking that people wrote, for the annotation of the Placement."""
    terms = ranking_terms(written, scores, factor=weights.factor)
    return PacedRanking(terms, weights.steady, refuges, verification)


def ranking_terms(
    written: Iterable[Score],
    scores: Iterable[ResolvedScore],
    *,
    factor: int = 1,
) -> tuple[PacedTerm, ...]:
    """The scores of a ranking for the reconciler, with their weights multiplied by the factor."""
    terms: list[PacedTerm] = []
    for score, resolved in zip(written, scores, strict=True):
        terms.append(
            PacedTerm(
                resolved.resource_name,
                resolved.dimension,
                resolved.weight * factor,
                demand=score.demand,
                delay=resolved.delay,
                range=resolved.range,
            )
        )
    return tuple(terms)


def hold_weights(weights: Sequence[int], spans: Sequence[int]) -> tuple[int, ...] | None:
    """The same proportions in the smallest whole numbers; None if they cannot hold.

    Proportions stay, because OCM ranks by them when a cluster is lost.
    """
    # The smallest weights leave the scores the largest difference below the bound.
    divisor = gcd(*weights) or 1
    smallest = tuple(weight // divisor for weight in weights)
    return smallest if reach(smallest, spans) < HOLD_SPAN else None


def nearest_weights(weights: Sequence[int], spans: Sequence[int]) -> tuple[int, ...] | None:
    """The weights that hold with the nearest proportions; None if the scores are too many."""
    largest = max(map(abs, weights), default=0)
    if not largest:
        return None
    holding: set[tuple[int, ...]] = set()
    for scale in range(1, MAX_WEIGHT + 1):
        candidate = tuple(_scaled(weight, scale, largest) for weight in weights)
        if reach(candidate, spans) < HOLD_SPAN:
            holding.add(candidate)
    # If several are equally near, always the same one is taken, so that the hint does not change
    # between two runs.
    return min(
        holding, key=lambda candidate: (_distance(candidate, weights), candidate), default=None
    )


def reach(weights: Iterable[int], spans: Iterable[int]) -> int:
    """The largest difference that the scores can make between two clusters."""
    return sum(abs(weight) * span for weight, span in zip(weights, spans, strict=True))


def _scaled(weight: int, scale: int, largest: int) -> int:
    """A weight where `largest` becomes `scale`. Only 0 becomes 0."""
    if not weight:
        return 0
    size = max(1, round(abs(weight) * scale / largest))
    return size if weight > 0 else -size


def _distance(weights: Sequence[int], wanted: Sequence[int]) -> float:
    """The difference between the proportions of two lists of weights."""
    total = sum(map(abs, weights))
    wanted_total = sum(map(abs, wanted))
    return sum(
        abs(weight / total - other / wanted_total)
        for weight, other in zip(weights, wanted, strict=True)
    )
