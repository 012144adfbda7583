"""Computes ranking terms and weights of ScoredApplications and ScoredPlacements."""

from collections.abc import Mapping

from gitops_dsf.repository.model.declared import RankingItem
from gitops_dsf.repository.model.ranking import ScoredPlacementSpec
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.stickiness import choose
from gitops_dsf.resolve.types import ResolvedPlacement, ResolvedScore


def resolve_ranking(
    item: RankingItem, scorers: Mapping[str, EffectiveScorer], *, namespace: str
) -> ResolvedPlacement | None:
    """Resolves a ranking to the Placement that it renders. Returns None when a reference or the stickiness is
    invalid, which a rule reports.
    """
    spec = item.value.spec
    scores: list[ResolvedScore] = []
    for score in spec.scores:
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
    weights = choose(spec.stickiness, [score.weight for score in scores])
    if weights is None:
        return None
    return ResolvedPlacement(
        name=item.name,
        namespace=namespace,
        metadata=item.value.metadata,
        ranking=spec,
        renders_bindings=not isinstance(spec, ScoredPlacementSpec) or spec.bindings == "Rendered",
        written=item,
        scores=tuple(scores),
        score_factor=weights.factor,
        steady_weight=weights.steady,
    )
