"""Clusters that a Placement counts as 0, because the score that it ranks by is missing, expired or without
the dimension.

See docs/scheduler.md#what-the-scores-do-not-say.

This is an approximation. ManagedClusterSets and CEL expressions are not evaluated, so a cluster that the
Placement could not choose for those may be counted. Labels, claims and present decisions are exact.
"""

from collections.abc import Iterable, Mapping

from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.reconciler.freshness.assessment import Assessment
from gitops_dsf.reconciler.hub.scores import ScoreSummary


def counted_as_zero(
    placement: PlacementSummary,
    *,
    clusters: Mapping[str, ManagedCluster],
    decided: Iterable[str],
    scores: Mapping[str, ScoreSummary],
    not_counted: frozenset[str],
    assessment: Assessment | None,
) -> frozenset[str]:
    """For one prioritizer: `scores` and `not_counted` are those of its resource and dimension, and
    `assessment` that of its scorer (None when no scorer of ours publishes the resource).

    A cluster that the Placement may choose is counted when its score is missing or does not count. A decided
    cluster is counted when it has no score. Clusters where the scorer is new are not counted, and masked
    clusters only when they are decided.
    """
    suspects = not_counted if assessment is None else not_counted | assessment.missing
    found = {name for name in suspects if name in clusters and _eligible(placement, clusters[name])}
    waiting = assessment.waiting if assessment is not None else frozenset()
    found.update(
        name for name in decided if (name not in scores or name in not_counted) and name not in waiting
    )
    return frozenset(found)


def _eligible(placement: PlacementSummary, cluster: ManagedCluster) -> bool:
    if cluster.deleting:
        return False
    return not placement.predicates or placement.may_choose(labels=cluster.labels, claims=cluster.claims)
