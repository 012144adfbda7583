"""Computes ranking terms and weights of ScoredApplications and ScoredPlacements."""

from collections.abc import Mapping

from gitops_dsf.repository.model.declared import RankingItem
from gitops_dsf.repository.model.ranking import ScoredPlacementSpec
from gitops_dsf.repository.model.repository import FleetRepositorySpec
from gitops_dsf.resolve.pace import hold_weights, is_paced, paced_ranking, spans
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.stickiness import choose
from gitops_dsf.resolve.types import ResolvedPlacement, ResolvedScore


def resolve_ranking(
    item: RankingItem,
    scorers: Mapping[str, EffectiveScorer],
    *,
    namespace: str,
    settings: FleetRepositorySpec,
) -> ResolvedPlacement | None:
    """Resolves a ranking to the Placement that it renders. Returns None when a reference, the stickiness or
    the weights are invalid, which a rule reports.
    """
    spec = item.value.spec
    scores = ranked_by(item, scorers)
    if scores is None:
        return None
    weights = choose(spec.stickiness, [score.weight for score in scores])
    if weights is None:
        return None
    paced, held = None, None
    if settings.pace is not None and is_paced(item, settings):
        paced = paced_ranking(spec.scores, scores, scorers, weights=weights, refuges=settings.pace.refuges)
        held = hold_weights(
            [score.weight for score in scores], spans(scores, scorers), refuges=settings.pace.refuges
        )
        if held is None:
            return None
    return ResolvedPlacement(
        name=item.name,
        namespace=namespace,
        metadata=item.value.metadata,
        ranking=spec,
        renders_bindings=not isinstance(spec, ScoredPlacementSpec) or spec.bindings == "Rendered",
        written=item,
        scores=scores,
        score_factor=weights.factor,
        steady_weight=weights.steady,
        paced=paced,
        hold_weights=held or (),
    )


def ranked_by(item: RankingItem, scorers: Mapping[str, EffectiveScorer]) -> tuple[ResolvedScore, ...] | None:
    """The scores of a ranking; None when a reference is invalid."""
    scores: list[ResolvedScore] = []
    for score in item.value.spec.scores:
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
