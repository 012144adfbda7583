"""What a change does to one scorer: where it ran and runs, and what becomes of its scores there.

A score stays known if everything that it was computed from stays. The fields that decide about that
are listed here once; the backtest asks the same list whether it may compute the past anew.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.resolve.scorer import EffectiveScorer


class ScoreEffect(StrEnum):
    """What a change of a scorer does to the scores of clusters that keep it."""

    NONE = "none"
    RANGE = "range"
    """Only the mapping from raw to published scores changes.

    A cluster without a score gets none by it.
    """
    UNKNOWN = "unknown"
    """The raw scores change. They are unknown until the scorer has run."""


@dataclass(frozen=True, kw_only=True)
class ScorerShift:
    """A scorer before and after a change."""

    before: EffectiveScorer | None
    after: EffectiveScorer | None
    ran: frozenset[str]
    """Clusters where it runs before the change."""
    runs: frozenset[str]
    """Clusters where it runs after the change."""
    effect: ScoreEffect = ScoreEffect.NONE
    """NONE if the scorer comes or goes. `other_variant` is apart."""
    causes: tuple[str, ...] = ()
    """Fields whose change makes the raw scores unknown."""
    other_variant: frozenset[str] = frozenset()
    """Clusters that keep it with another variant of its MetricSource."""

    @property
    def left(self) -> frozenset[str]:
        """Clusters where it no longer runs."""
        return self.ran - self.runs

    @property
    def joined(self) -> frozenset[str]:
        """Clusters where it runs only after the change."""
        return self.runs - self.ran

    @property
    def keeps_scores(self) -> bool:
        """Whether no score of it changes or becomes unknown."""
        return self.ran == self.runs and not self.other_variant and self.effect is ScoreEffect.NONE


class _RawInput(NamedTuple):
    """Something that raw scores depend on, before and after."""

    title: str
    """The name of the field, for people."""
    before: Any
    after: Any


def shift_of(
    before: EffectiveScorer | None,
    after: EffectiveScorer | None,
    base: CheckedFleet | None,
    head: CheckedFleet,
) -> ScorerShift:
    """What a change does to a scorer that is in the base as `before` and in the head as `after`."""
    ran = base.runs_on[before.name] if base and before else frozenset[str]()
    runs = head.runs_on[after.name] if after else frozenset[str]()
    if base is None or before is None or after is None:
        return ScorerShift(before=before, after=after, ran=ran, runs=runs)
    causes = _published_causes(before, after)
    effect = ScoreEffect.NONE
    if causes:
        effect = ScoreEffect.UNKNOWN
    elif before.spec.score_range != after.spec.score_range:
        effect = ScoreEffect.RANGE
    return ScorerShift(
        before=before,
        after=after,
        ran=ran,
        runs=runs,
        effect=effect,
        causes=causes,
        other_variant=frozenset(_with_other_variant(before, after, base, head, ran & runs)),
    )


def raw_causes(before: EffectiveScorer, after: EffectiveScorer) -> tuple[str, ...]:
    """Changed fields that make past raw scores useless. Items can be computed anew from them."""
    return _changed_titles(_raw_inputs(before, after))


def _published_causes(before: EffectiveScorer, after: EffectiveScorer) -> tuple[str, ...]:
    """Changed fields that make the next scores unknown.

    Unlike the backtest, a preview has no series: it knows the published score of each dimension,
    not what it was aggregated from.
    """
    causes = raw_causes(before, after)
    if before.spec.score_aggregation != after.spec.score_aggregation:
        causes += ("scoreAggregation",)
    if before.dimension_format != after.dimension_format:
        causes += ("scoreDimensionFormat",)
    return causes


def _changed_titles(inputs: Iterable[_RawInput]) -> tuple[str, ...]:
    return tuple(raw.title for raw in inputs if raw.before != raw.after)


def _raw_inputs(before: EffectiveScorer, after: EffectiveScorer) -> Iterator[_RawInput]:
    """Everything that a raw score and its labels depend on.

    With source.ref the source depends on the cluster, so `_with_other_variant` compares it there.
    """
    if before.spec.source.ref is None and after.spec.source.ref is None:
        yield from _source_inputs(before, after)
    old_params = before.spec.source.params
    new_params = after.spec.source.params
    yield _RawInput("query", old_params.query, new_params.query)
    yield _RawInput("range", old_params.range, new_params.range)
    yield _RawInput("step", old_params.step, new_params.step)
    yield _RawInput("scoring type", before.scoring_type, after.scoring_type)
    yield _RawInput("scoring API", before.scoring_endpoint, after.scoring_endpoint)
    old_scoring = before.spec.scoring
    new_scoring = after.spec.scoring
    yield _RawInput("arguments", old_scoring.arguments, new_scoring.arguments)
    yield _RawInput("defaultScore", before.spec.default_score, after.spec.default_score)
    yield _RawInput("score name", before.score_name, after.score_name)


def _source_inputs(before: EffectiveScorer, after: EffectiveScorer) -> Iterator[_RawInput]:
    """Where the metrics come from. Logins are left out: they do not choose what a source answers."""
    yield _RawInput("source type", before.source_type, after.source_type)
    yield _RawInput("source", before.source_endpoint, after.source_endpoint)
    yield _RawInput("headers", _plain_headers(before), _plain_headers(after))
    yield _RawInput("parameters", before.source_parameters, after.source_parameters)


def _plain_headers(scorer: EffectiveScorer) -> list[tuple[str, str | None]]:
    """Headers such as the tenant, which choose what a source answers.

    The values of Secrets are not in the repository, so a header from a Secret is not compared.
    """
    headers = scorer.variant.headers if scorer.variant is not None else []
    return [(header.name, header.value) for header in headers if header.secret_ref is None]


def _with_other_variant(
    before: EffectiveScorer,
    after: EffectiveScorer,
    base: CheckedFleet,
    head: CheckedFleet,
    clusters: Iterable[str],
) -> Iterator[str]:
    """The clusters whose variant of a MetricSource changes.

    Somebody edited the variant, or the cluster has other labels now, so that another one is chosen.
    """
    if before.spec.source.ref is None and after.spec.source.ref is None:
        return
    # Thousands of clusters share a few variants, so each pair of variants is compared once.
    differs: dict[tuple[int, int], bool] = {}
    for cluster in clusters:
        old = base.on_cluster(before, cluster)
        new = head.on_cluster(after, cluster)
        pair = (id(old), id(new))
        if pair not in differs:
            differs[pair] = bool(_changed_titles(_source_inputs(old, new)))
        if differs[pair]:
            yield cluster
