"""Effects of a change on one scorer: its clusters before and after, and its scores there.

A score stays known if everything that it was computed from stays. If its raw score stays, and only
the publishing of it changes, the present score bounds the new one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.resolve.next_score import keeps_item_names, published_causes
from gitops_dsf.resolve.raw_inputs import asks_elsewhere, raw_causes
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.shared_items import has_single_results


class ScoreEffect(StrEnum):
    """The effect of a changed scorer on the scores of clusters that keep it."""

    NONE = "none"
    RANGE = "range"
    """The raw scores stay, and what is published of them changes.

    The present scores bound the new ones.
    """
    KNOWN = "known"
    """The raw scores change, or others of them count.

    A metric store has them for every cluster that keeps the scorer.
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
    """NONE if the scorer comes or goes. `other_variant` is apart.

    Never KNOWN: a shift does not know raw scores.
    """
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
    def changes_scores(self) -> bool:
        """Whether a cluster that keeps it may get another score."""
        return bool(self.other_variant) or self.effect is not ScoreEffect.NONE

    @property
    def keeps_scores(self) -> bool:
        """Whether no score of it changes or becomes unknown."""
        return self.ran == self.runs and not self.changes_scores


def changed_scorers(base: CheckedFleet, head: CheckedFleet) -> Iterator[EffectiveScorer]:
    """The scorers of the head that are new, or that give or publish other scores, by name."""
    for after in head.scorers:
        # Scorers are matched by their score name first: a scorer with another name may be the same
        # one.
        before = base.predecessor_of(after) or base.scorer_by_name.get(after.name)
        if before is None or shift_of(before, after, base, head).changes_scores:
            yield after


def shift_of(
    before: EffectiveScorer | None,
    after: EffectiveScorer | None,
    base: CheckedFleet | None,
    head: CheckedFleet,
) -> ScorerShift:
    """The effects on a scorer that is in the base as `before` and in the head as `after`."""
    ran = base.runs_on[before.name] if base and before else frozenset[str]()
    runs = head.runs_on[after.name] if after else frozenset[str]()
    if base is None or before is None or after is None:
        return ScorerShift(before=before, after=after, ran=ran, runs=runs)
    causes = _open_causes(before, after, base, head)
    effect = ScoreEffect.NONE
    # Where the raw score changes, the present one says nothing of the next, whatever else changes.
    if causes:
        effect = ScoreEffect.UNKNOWN
    elif published_causes(before, after):
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


def _open_causes(
    before: EffectiveScorer, after: EffectiveScorer, base: CheckedFleet, head: CheckedFleet
) -> tuple[str, ...]:
    """Changed fields whose effect on the scores only the next run shows.

    Unlike the backtest, a preview has no series: it knows the published score of each dimension,
    but not the results that it was aggregated from.
    """
    causes = raw_causes(before, after)
    if before.spec.score_aggregation != after.spec.score_aggregation:
        variants = (*base.by_variant[before.name], *head.by_variant[after.name])
        # Every aggregation of one result is the same, so the change has no effect there.
        if not all(has_single_results(variant) for variant in variants):
            causes += ("scoreAggregation",)
    if not keeps_item_names(before, after):
        is_other_format = before.dimension_format != after.dimension_format
        causes += ("scoreDimensionFormat" if is_other_format else "score name",)
    return causes


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
    # Only a MetricSource has variants; a source that a scorer writes itself is one for all.
    if before.spec.source.ref is None and after.spec.source.ref is None:
        return
    # Thousands of clusters share a few variants, so each pair of variants is compared once.
    differs: dict[tuple[int, int], bool] = {}
    for cluster in clusters:
        old = base.on_cluster(before, cluster)
        new = head.on_cluster(after, cluster)
        pair = (id(old), id(new))
        if pair not in differs:
            differs[pair] = asks_elsewhere(old, new)
        if differs[pair]:
            yield cluster
