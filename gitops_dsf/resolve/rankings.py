"""The Placement that a ScoredApplication or a ScoredPlacement renders: its scores and weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gitops_dsf.hub.multikueue import MultiKueueOrder
from gitops_dsf.hub.pace import PacedRanking
from gitops_dsf.repository.model.declared import RankingItem
from gitops_dsf.repository.model.ranking import Ranking
from gitops_dsf.repository.model.repository import FleetRepositorySpec
from gitops_dsf.repository.model.scored_application import ScoredApplication
from gitops_dsf.repository.model.scored_placement import MultiKueue, ScoredPlacementSpec
from gitops_dsf.resolve.external_scores import ExternalScores
from gitops_dsf.resolve.paced_rankings import (
    hold_weights,
    is_paced,
    paced_ranking,
    ranking_terms,
)
from gitops_dsf.resolve.ranked_scores import ResolvedScore, ranked_by
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.stickiness import Weights, choose, nearest
from gitops_dsf.resolve.verifications import verification_of


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedPlacement:
    """The Placement that a ranking renders, with valid references and weights."""

    declared: RankingItem = field(repr=False, compare=False)
    """The object that renders it, with its place in the files."""
    namespace: str
    scores: tuple[ResolvedScore, ...]
    weights: Weights
    """They give the stickiness."""
    paced: PacedRanking | None = None
    """The ranking that people wrote, where moves are paced."""
    hold_weights: tuple[int, ...] = ()
    """The weights of the scores with which Steady outweighs them, where moves are paced."""
    multi_kueue: MultiKueueOrder | None = None
    """The order that the reconciler keeps, where a ScoredPlacement has multiKueue."""

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def ranking(self) -> Ranking:
        return self.declared.value.spec


def multi_kueue_of(ranking: RankingItem) -> MultiKueue | None:
    """The MultiKueueConfig that a ranking orders; only a ScoredPlacement can have one."""
    spec = ranking.value.spec
    return spec.multi_kueue if isinstance(spec, ScoredPlacementSpec) else None


def resolve_ranking(
    ranking: RankingItem,
    scorers: Mapping[str, EffectiveScorer],
    *,
    variants: Mapping[str, tuple[EffectiveScorer, ...]],
    external: ExternalScores,
    namespace: str,
    settings: FleetRepositorySpec,
) -> ResolvedPlacement | None:
    """The Placement that a ranking renders.

    `variants` are the scorers, each with the variants of its MetricSource, and `external` are the
    scores of other add-ons that the settings declare. None where a rule reports a reference, the
    stickiness or the weights.
    """
    spec = ranking.value.spec
    scores = ranked_by(ranking, scorers, external)
    if scores is None:
        return None
    score_weights = [score.weight for score in scores]
    weights = choose(spec.stickiness, score_weights)
    if weights is None and any(score_weights) and multi_kueue_of(ranking) is not None:
        # Not OCM but the reconciler orders these clusters, by any points. Steady decides nothing
        # where every eligible cluster is decided, so the nearest weight does.
        weights = choose(nearest(spec.stickiness, score_weights)[0], score_weights)
    if weights is None:
        return None
    placement = ResolvedPlacement(
        declared=ranking,
        namespace=namespace,
        scores=scores,
        weights=weights,
        multi_kueue=_multi_kueue(ranking, scores),
    )
    if settings.pace is None or not is_paced(ranking, settings):
        return placement
    held = hold_weights(score_weights, [score.span for score in scores])
    if held is None:
        return None
    # A move that people want verified must not be made without: a check that cannot be resolved
    # leaves the whole Placement out.
    verification = None
    if isinstance(ranking.value, ScoredApplication) and ranking.value.spec.moves.verify:
        verification = verification_of(ranking.value, variants)
        if verification is None:
            return None
    paced = paced_ranking(
        spec.scores,
        scores,
        weights=weights,
        refuges=settings.pace.refuges,
        verification=verification,
    )
    return replace(placement, paced=paced, hold_weights=held)


def _multi_kueue(ranking: RankingItem, scores: Sequence[ResolvedScore]) -> MultiKueueOrder | None:
    multi_kueue = multi_kueue_of(ranking)
    if multi_kueue is None:
        return None
    spec = ranking.value.spec
    return MultiKueueOrder(
        config=multi_kueue.config,
        reorder_seconds=float(multi_kueue.reorder_seconds),
        terms=ranking_terms(spec.scores, scores),
        stickiness=float(spec.stickiness),
    )
