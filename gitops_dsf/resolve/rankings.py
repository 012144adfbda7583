"""Computes ranking terms and weights of ScoredApplications and ScoredPlacements: the Placement of each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import gcd

from gitops_dsf.hub.pace import HOLD_SPAN, PacedRanking, Term
from gitops_dsf.repository.model.apps import Ranking, Score, ScoredApplication
from gitops_dsf.repository.model.declared import RankingItem
from gitops_dsf.repository.model.repository import FleetRepositorySpec
from gitops_dsf.resolve.scorer import EffectiveScorer

MAX_WEIGHT = 10
STEADY_POINTS = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """The multiplier of every score weight, and the weight of Steady; 0 leaves Steady out."""

    factor: int
    steady: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedScore:
    """One ranking term of a Placement: its place in the AddOnPlacementScore, and the written weight."""

    scorer: str
    resource_name: str
    dimension: str
    weight: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedPlacement:
    """The Placement that a ranking renders, with valid references and weights."""

    written: RankingItem = field(repr=False, compare=False)
    """The object that renders it, with its place in the files."""
    namespace: str
    scores: tuple[ResolvedScore, ...]
    weights: Weights
    """They give the stickiness."""
    paced: PacedRanking | None = None
    """What people wrote, where moves are paced."""
    hold_weights: tuple[int, ...] = ()
    """The weights of the scores with which Steady outweighs them, where moves are paced."""

    @property
    def name(self) -> str:
        return self.written.name

    @property
    def ranking(self) -> Ranking:
        return self.written.value.spec


def resolve_ranking(
    item: RankingItem,
    scorers: Mapping[str, EffectiveScorer],
    *,
    namespace: str,
    settings: FleetRepositorySpec,
) -> ResolvedPlacement | None:
    """The Placement that a ranking renders; None where a rule reports a reference, stickiness or weights."""
    spec = item.value.spec
    scores = ranked_by(item, scorers)
    if scores is None:
        return None
    weights = choose(spec.stickiness, [score.weight for score in scores])
    if weights is None:
        return None
    paced, held = None, tuple[int, ...]()
    if settings.pace is not None and is_paced(item, settings):
        paced = paced_ranking(
            spec.scores, scores, scorers, weights=weights, refuges=settings.pace.refuges
        )
        found = hold_weights([score.weight for score in scores], spans(scores, scorers))
        if found is None:
            return None
        held = found
    return ResolvedPlacement(
        written=item,
        namespace=namespace,
        scores=scores,
        weights=weights,
        paced=paced,
        hold_weights=held,
    )


def ranked_by(
    item: RankingItem, scorers: Mapping[str, EffectiveScorer]
) -> tuple[ResolvedScore, ...] | None:
    """The scores of a ranking; None when a reference is invalid."""
    scores: list[ResolvedScore] = []
    for score in item.value.spec.scores:
        scorer = scorers.get(score.scorer)
        if scorer is None or not scorer.score_name:
            return None
        dimension = score.dimension or scorer.only_item
        if dimension is None:
            return None
        place = {"resource_name": scorer.resource_name, "dimension": dimension}
        scores.append(ResolvedScore(scorer=score.scorer, weight=score.weight, **place))
    return tuple(scores)


def choose(points: int, weights: Sequence[int]) -> Weights | None:
    """Returns the smallest weights with exactly this stickiness; None if there are none."""
    if points == 0:
        return Weights(factor=1, steady=0)
    return next((found for value, found in _possible(tuple(weights)) if value == points), None)


def expressible(weights: Sequence[int]) -> dict[int, Weights]:
    """Every whole number of points that can be expressed, with its smallest weights, in order."""
    found = {0: Weights(factor=1, steady=0)}
    for value, chosen in _possible(tuple(weights)):
        if value.denominator == 1:
            found.setdefault(int(value), chosen)
    return dict(sorted(found.items()))


def nearest(points: int, weights: Sequence[int]) -> list[int]:
    """The closest integers that can be expressed: one that is lower or equal, and one that is higher."""
    values = list(expressible(weights))
    below = [value for value in values if value <= points]
    above = [value for value in values if value > points]
    return below[-1:] + above[:1]


@lru_cache(maxsize=1024)
def _possible(weights: tuple[int, ...]) -> list[tuple[Fraction, Weights]]:
    largest = max((abs(weight) for weight in weights), default=0)
    total = sum(abs(weight) for weight in weights)
    if not largest:
        return []
    found = [
        (Fraction(STEADY_POINTS * steady, factor * total), Weights(factor=factor, steady=steady))
        for steady in range(1, MAX_WEIGHT + 1)
        for factor in range(1, MAX_WEIGHT // largest + 1)
        if gcd(steady, factor) == 1
    ]
    return sorted(found, key=lambda item: (item[1].steady, item[1].factor))


def is_paced(item: RankingItem, settings: FleetRepositorySpec) -> bool:
    """Whether its moves are paced. An application on all eligible clusters does not move by its scores."""
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
        delay = float(
            scorer.spec.scoring.params.interval + scorer.spec.publish.min_interval_seconds
        )
        span, weight = float(scorer.spec.source.params.range), found.weight * weights.factor
        place = (found.resource_name, found.dimension)
        terms.append(Term(*place, weight, demand=score.demand, delay=delay, range=span))
    return PacedRanking(tuple(terms), weights.steady, refuges)


def spans(scores: Iterable[ResolvedScore], scorers: Mapping[str, EffectiveScorer]) -> list[int]:
    """By how many points each score can differ between two clusters. A missing score counts as 0."""
    found = []
    for score in scores:
        scorer = scorers[score.scorer]
        ends = (*scorer.published, scorer.spec.default_score or 0, 0)
        found.append(max(ends) - min(ends))
    return found


def hold_weights(weights: Sequence[int], spans: Sequence[int]) -> tuple[int, ...] | None:
    """The same proportions in the smallest whole numbers; None if they cannot hold.

    Proportions stay, because OCM ranks by them when a cluster is lost.
    """
    divisor = gcd(*weights) or 1
    found = tuple(weight // divisor for weight in weights)
    return found if reach(found, spans) < HOLD_SPAN else None


def nearest_weights(weights: Sequence[int], spans: Sequence[int]) -> tuple[int, ...] | None:
    """The weights that hold with the nearest proportions; None if the scores are too many."""
    if not (largest := max(map(abs, weights), default=0)):
        return None
    candidates = {
        tuple(
            0
            if not weight
            else max(1, round(abs(weight) * scale / largest)) * (1 if weight > 0 else -1)
            for weight in weights
        )
        for scale in range(1, MAX_WEIGHT + 1)
    }
    holding = [each for each in candidates if reach(each, spans) < HOLD_SPAN]
    return min(holding, key=lambda each: (_distance(each, weights), each), default=None)


def reach(weights: Iterable[int], spans: Iterable[int]) -> int:
    """The largest difference that the scores can make between two clusters."""
    return sum(abs(weight) * span for weight, span in zip(weights, spans, strict=True))


def _distance(found: Sequence[int], wanted: Sequence[int]) -> float:
    sums = sum(map(abs, found)), sum(map(abs, wanted))
    return sum(
        abs(one / sums[0] - other / sums[1]) for one, other in zip(found, wanted, strict=True)
    )
