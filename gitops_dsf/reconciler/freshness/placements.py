"""Clusters that a Placement counts as 0, because the score that it ranks by is missing, expired or without
the dimension.

See docs/scheduler.md#what-the-scores-do-not-say.

An approximation on the safe side of silence: membership of ManagedClusterSets and CEL expressions are not
looked at, so a cluster that the PlacementSummary could not choose for those may be counted; labels, claims
and present decisions are exact.
"""

from collections.abc import Iterable, Mapping

from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.reconciler.freshness.judge import Scored
from gitops_dsf.reconciler.hub.scores import ScoreSummary


def counted_as_zero(
    placement: PlacementSummary,
    *,
    clusters: Mapping[str, ManagedCluster],
    decided: Iterable[str],
    scores: Mapping[str, ScoreSummary],
    dead: frozenset[str],
    scored: Scored | None,
) -> frozenset[str]:
    """By one prioritizer: `scores` and `dead` are those of its resource and dimension, `scored` its scorer's
    (None: it is not ours).

    A cluster counts that it may choose and whose score is dead or missing, and one that it did choose without
    a score. Not one where the scorer is new, nor one where masks keep the score off, unless it was chosen.
    """
    suspects = dead if scored is None else dead | scored.missing
    found = {name for name in suspects if name in clusters and _eligible(placement, clusters[name])}
    patience = scored.waiting if scored is not None else frozenset()
    found.update(name for name in decided if (name not in scores or name in dead) and name not in patience)
    return frozenset(found)


def _eligible(placement: PlacementSummary, cluster: ManagedCluster) -> bool:
    if cluster.deleting:
        return False
    return not placement.predicates or placement.may_choose(labels=cluster.labels, claims=cluster.claims)
