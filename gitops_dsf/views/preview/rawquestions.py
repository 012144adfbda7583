"""Raw scores that would make a preview exact, and the answers of a metric store.

A store has the raw scores that agents export as `dynamic_score`. They are of use for a scorer whose
raw scores stay and of which other scores are published. Where the query changes, a store that has
the metrics of all clusters evaluates the new one.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from dsf_wire.scorevalue import Aggregation
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.storequery import StoreQuery, store_query
from gitops_dsf.resolve.raw_inputs import raw_causes
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.shared_items import has_distinct_results
from gitops_dsf.views.preview.scorershift import ScoreEffect, shift_of

_REEVALUATED: Final = frozenset(
    {"query", "cluster label", "range", "step", "scoring type", "scoring API", "arguments"}
)
"""Changed fields after which a store can still answer for the sources, if it evaluates the new
query: the metrics stay those of the same servers.
"""


class RawQuestion(Struct, frozen=True, kw_only=True):
    """A changed scorer whose raw scores are asked for."""

    scorer: str
    resource: str
    """Name of the AddOnPlacementScore after the change."""
    score_name: str
    """The name under which agents export its raw scores now."""
    clusters: frozenset[str]
    """The clusters where it runs before and after the change."""


class ReevaluationQuery(Struct, frozen=True, kw_only=True):
    """A scorer whose new query is evaluated."""

    scorer: str
    resource: str
    """Name of the AddOnPlacementScore after the change."""
    query: StoreQuery


class RawScorerAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The raw scores of one scorer in a store."""

    scorer: str
    clusters: int
    """Clusters that were asked for."""
    answered: int
    """Clusters of which it has raw scores."""
    age_seconds: int | None
    """The age of the oldest raw score; None without one."""
    reevaluated: bool = field(name="anew")
    """Whether the store evaluated the changed query, and not only returned the scores that agents
    exported.
    """


class RawScoreSource(Struct, frozen=True, kw_only=True, rename="camel"):
    """A store that was asked for raw scores."""

    origin: str
    """The URL of the store, without parts that may be secret."""
    scorers: tuple[RawScorerAnswer, ...]
    problems: tuple[str, ...]
    """The reasons why it has nothing for some scorers or for all."""


def raw_questions(base: CheckedFleet, head: CheckedFleet) -> Iterator[RawQuestion]:
    """The changed scorers whose next scores follow from the raw scores of now, by name."""
    # Raw scores of two scorers with one score name cannot be distinguished.
    names = Counter(scorer.score_name for scorer in base.scorers)
    for resource in sorted(head.scorer_by_resource):
        after = head.scorer_by_resource[resource]
        before = base.predecessor_of(after)
        if before is None:
            continue
        shift = shift_of(before, after, base, head)
        # Where the raw scores change, those of now are of no use; `reevaluation_queries` may help.
        if shift.effect is ScoreEffect.NONE or raw_causes(before, after):
            continue
        if not _has_every_result(before, after, base):
            continue
        # With another variant a cluster is measured in another way, and its present raw score is of
        # no use.
        clusters = (shift.ran & shift.runs) - shift.other_variant
        if clusters and names[before.score_name] == 1:
            yield RawQuestion(
                scorer=after.name,
                resource=resource,
                score_name=before.score_name,
                clusters=clusters,
            )


def reevaluation_queries(
    base: CheckedFleet, head: CheckedFleet, *, cluster_label: str
) -> Iterator[ReevaluationQuery]:
    """The scorers whose changed query a store can evaluate for their clusters, by name.

    `cluster_label` names the cluster in the series of that store.
    """
    for resource in sorted(head.scorer_by_resource):
        after = head.scorer_by_resource[resource]
        before = base.predecessor_of(after)
        if before is None:
            continue
        causes = raw_causes(before, after)
        if not causes or not _REEVALUATED.issuperset(causes):
            continue
        query = store_query(after, head, cluster_label=cluster_label)
        if query is not None:
            yield ReevaluationQuery(scorer=after.name, resource=resource, query=query)


def _has_every_result(before: EffectiveScorer, after: EffectiveScorer, base: CheckedFleet) -> bool:
    """Whether the exported raw scores are all that the new aggregation looks at.

    If results have the same labels, an agent exports the last one, as upstream does. `Last` needs
    no other, and other aggregations would lack the missing ones.
    """
    if after.spec.score_aggregation == Aggregation.LAST.value:
        return True
    return all(map(has_distinct_results, base.by_variant[before.name]))
