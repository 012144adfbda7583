"""The scores by which a ranking orders clusters, and the effect of a missing one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gitops_dsf.hub.intervals import ScoreSpan
from gitops_dsf.hub.scorers import counted_span
from gitops_dsf.repository.model.declared import RankingItem
from gitops_dsf.repository.model.external_scores import AddOnScore
from gitops_dsf.repository.model.ranking import BuiltInPrioritizer, Score
from gitops_dsf.repository.model.scorer import DynamicScorerSpec
from gitops_dsf.resolve.external_scores import ExternalScores
from gitops_dsf.resolve.scorer import EffectiveScorer

BUILT_IN_SPAN: Final = 200
"""Points by which a prioritizer of OCM can differ between two clusters: from -100 to 100."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedScore:
    """One ranking term of a Placement: a score or a prioritizer of OCM, and its weight."""

    scorer: str | None = None
    """Name of the scorer that publishes it; None for what no scorer does."""
    built_in: BuiltInPrioritizer | None = None
    """A prioritizer of OCM, which reads no score; the next two names are then empty."""
    resource_name: str
    dimension: str
    weight: int
    span: int
    """The points by which it can differ between two clusters. A missing score counts as 0."""
    delay: float
    """Seconds until a measurement after a change is published, at most."""
    range: float
    """Seconds of history that a measurement reads."""

    @property
    def name(self) -> str:
        """The name for people: of the scorer or prioritizer, or `resource/item` of an add-on."""
        return self.scorer or self.built_in or f"{self.resource_name}/{self.dimension}"


def ranked_by(
    ranking: RankingItem, scorers: Mapping[str, EffectiveScorer], external: ExternalScores
) -> tuple[ResolvedScore, ...] | None:
    """The scores of a ranking; None when a reference is invalid."""
    # Without one of its scores a Placement would rank by other proportions than people wrote.
    scores: list[ResolvedScore] = []
    for score in ranking.value.spec.scores:
        if score.add_on is not None:
            resolved = _of_add_on(score, score.add_on, external)
        elif score.built_in is not None:
            resolved = ResolvedScore(
                built_in=score.built_in,
                resource_name="",
                dimension="",
                weight=score.weight,
                span=BUILT_IN_SPAN,
                delay=0.0,
                range=0.0,
            )
        else:
            resolved = _of_scorer(score, scorers)
        if resolved is None:
            return None
        scores.append(resolved)
    return tuple(scores)


def _of_scorer(score: Score, scorers: Mapping[str, EffectiveScorer]) -> ResolvedScore | None:
    scorer = scorers.get(score.scorer or "")
    if scorer is None or not scorer.score_name:
        return None
    # A prioritizer of OCM reads one item by its name, so a name that a label decides must be
    # written.
    dimension = score.dimension or scorer.only_item
    if dimension is None:
        return None
    counted = counted_span(scorer.published, scorer.spec.default_score)
    return ResolvedScore(
        scorer=scorer.name,
        resource_name=scorer.resource_name,
        dimension=dimension,
        weight=score.weight,
        span=counted.width,
        delay=publication_delay(scorer.spec),
        range=float(scorer.spec.source.params.range),
    )


def _of_add_on(score: Score, add_on: AddOnScore, external: ExternalScores) -> ResolvedScore | None:
    declared = external.of(add_on.resource, add_on.name)
    if declared is None:
        return None
    counted = counted_span(declared.published, None)
    return ResolvedScore(
        resource_name=add_on.resource,
        dimension=add_on.name,
        weight=score.weight,
        span=counted.width,
        # A rule refuses a pace or a demand where this is not known.
        delay=float(declared.measured_after_seconds or 0),
        range=0.0,
    )


def publication_delay(spec: DynamicScorerSpec) -> float:
    """Seconds until a measurement after a change is published, at most."""
    return float(spec.scoring.params.interval + spec.publish.min_interval_seconds)


def how_zero_wins(name: str, published: ScoreSpan, weight: int) -> str:
    """The way in which a cluster without the score beats others; empty if there is none.

    `published` are the values that it can have. OCM counts a missing score as 0
    (docs/decisions/scheduler.md#what-the-scores-do-not-say).
    """
    # With a positive weight the lowest score loses, with a negative one the highest.
    if weight > 0 and published.low < 0:
        return (
            f"{name} can publish {published.low}, and a cluster without the score counts as 0: it"
            " beats real ones"
        )
    if weight < 0 and published.high > 0:
        return (
            "with a negative weight a cluster without the score (0) beats those with"
            f" {published.high}"
        )
    return ""
