"""Computes ranking terms and weights of ScoredApplications and ScoredPlacements."""

from collections.abc import Mapping

from dsf_wire.dimension import fixed_name
from dsf_wire.scorename import sanitise
from gitops_dsf.repository.model.declared import RankingItem
from gitops_dsf.repository.model.scored_placement import ScoredPlacementSpec
from gitops_dsf.resolve.overlay import Overlay
from gitops_dsf.resolve.stickiness import choose
from gitops_dsf.resolve.types import ResolvedPlacement, ResolvedScore


def resolve_ranking(
    item: RankingItem, overlays: Mapping[str, Overlay], *, namespace: str
) -> ResolvedPlacement | None:
    """Resolves a ranking to the Placement that it renders. Returns None when a reference or the stickiness is
    invalid, which a rule reports.
    """
    spec = item.value.spec
    scores: list[ResolvedScore] = []
    for score in spec.scores:
        overlay = overlays.get(score.scorer)
        if overlay is None or not overlay.score_name.value:
            return None
        dimension = score.dimension or default_dimension(overlay)
        if dimension is None:
            return None
        scores.append(
            ResolvedScore(
                scorer=score.scorer,
                resource_name=sanitise(str(overlay.score_name.value)),
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


def default_dimension(overlay: Overlay) -> str | None:
    """The only item name that the scorer's format can yield; None if it depends on labels or the cluster."""
    return fixed_name(
        overlay.scorer.value.spec.score_dimension_format, score_name=str(overlay.score_name.value)
    )
