"""Weights that hold a paced Placement.

Steady has the weight 10 and gives the decision 1000 points. No difference of scores may reach that: the sum
of |weight| times span over all scores must stay below it, and may be 400 where a refuge of 500 points must
outweigh them. The proportions of the written weights stay, because OCM ranks by them when a cluster is lost.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import gcd

from gitops_dsf.hub.pace import HOLD_SPAN, REFUGE_SPAN, PacedRanking, Term
from gitops_dsf.repository.model.application import ScoredApplication
from gitops_dsf.repository.model.declared import RankingItem
from gitops_dsf.repository.model.ranking import Score
from gitops_dsf.repository.model.repository import FleetRepositorySpec
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.stickiness import MAX_WEIGHT, Weights
from gitops_dsf.resolve.types import ResolvedScore


def is_paced(item: RankingItem, settings: FleetRepositorySpec) -> bool:
    """Whether the moves of an application with a ranking of its own are paced. An application on all eligible
    clusters does not move by its scores.
    """
    return (
        settings.pace is not None
        and isinstance(item.value, ScoredApplication)
        and item.value.spec.moves.pace == "Fleet"
        and item.value.spec.placement.number_of_clusters is not None
    )


def paced_ranking(
    written: Iterable[Score],
    scores: Iterable[ResolvedScore],
    scorers: Mapping[str, EffectiveScorer],
    *,
    weights: Weights,
    refuges: bool,
) -> PacedRanking:
    """What people wrote, as the annotation of the Placement says it."""
    terms = []
    for score, found in zip(written, scores, strict=True):
        scorer = scorers[found.scorer]
        terms.append(
            Term(
                found.resource_name,
                found.dimension,
                found.weight * weights.factor,
                demand=score.demand,
                delay=float(scorer.spec.scoring.params.interval + scorer.spec.publish.min_interval_seconds),
                range=float(scorer.spec.source.params.range),
            )
        )
    return PacedRanking(tuple(terms), weights.steady, refuges)


def spans(scores: Iterable[ResolvedScore], scorers: Mapping[str, EffectiveScorer]) -> list[int]:
    """By how many points each score can differ between two clusters. A missing score counts as 0."""
    found = []
    for score in scores:
        scorer = scorers[score.scorer]
        ends = (*scorer.published, scorer.spec.default_score or 0, 0)
        found.append(max(ends) - min(ends))
    return found


def hold_weights(weights: Sequence[int], spans: Sequence[int], *, refuges: bool) -> tuple[int, ...] | None:
    """The same proportions in the smallest whole numbers; None if they cannot hold."""
    divisor = gcd(*weights) or 1
    found = tuple(weight // divisor for weight in weights)
    return found if reach(found, spans) <= most_reach(refuges=refuges) else None


def nearest_weights(weights: Sequence[int], spans: Sequence[int], *, refuges: bool) -> tuple[int, ...] | None:
    """The weights that hold whose proportions are nearest to the written ones. None if the scores are too
    many.
    """
    largest = max(map(abs, weights), default=0)
    if not largest:
        return None
    candidates = {
        tuple(
            0 if not weight else max(1, round(abs(weight) * scale / largest)) * (1 if weight > 0 else -1)
            for weight in weights
        )
        for scale in range(1, MAX_WEIGHT + 1)
    }
    holding = [each for each in candidates if reach(each, spans) <= most_reach(refuges=refuges)]
    return min(holding, key=lambda each: (_distance(each, weights), each), default=None)


def reach(weights: Iterable[int], spans: Iterable[int]) -> int:
    """The largest difference that the scores can make between two clusters."""
    return sum(abs(weight) * span for weight, span in zip(weights, spans, strict=True))


def most_reach(*, refuges: bool) -> int:
    """The largest reach with which a Placement holds, and follows its refuge."""
    return REFUGE_SPAN if refuges else HOLD_SPAN - 1


def _distance(found: Sequence[int], wanted: Sequence[int]) -> float:
    sums = sum(map(abs, found)), sum(map(abs, wanted))
    return sum(abs(one / sums[0] - other / sums[1]) for one, other in zip(found, wanted, strict=True))
