"""On how many clusters a scorer's scores are fresh or stale, and whether that is a quorum. Pure."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from gitops_dsf.hub.addons import ManagedClusterAddOn
from gitops_dsf.reconciler.freshness.assessment import Assessment

MIN_STALE: Final = 2
"""Stale clusters that a quorum needs at least: one alone may have a problem of its own. A scorer that runs on
one cluster needs one.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreCounts:
    """Counts of clusters.

    Only a cluster whose agent is available and has published before is counted as fresh or stale: the others
    tell nothing about the API.
    """

    expected: int = 0
    """Clusters on which the scorer should run."""
    fresh: int = 0
    stale: int = 0

    @property
    def counted(self) -> int:
        """Clusters that are fresh or stale."""
        return self.fresh + self.stale

    def is_quorum(self, percent: int) -> bool:
        """Whether at least so many percent of the counted clusters are stale."""
        least = 1 if self.expected == 1 else MIN_STALE
        return self.stale >= least and self.stale * 100 >= percent * self.counted


def count_scores(
    expected: frozenset[str],
    *,
    addons: Mapping[str, ManagedClusterAddOn],
    published: AbstractSet[str],
    scores: Assessment,
) -> ScoreCounts:
    """Counts the expected clusters by their score of one scorer; `published` are those that have one.

    A cluster whose agent OCM does not call available publishes nothing, so it is not counted. Neither is a
    score without validUntil: nobody can tell when it was written.
    """
    able = {name for name in expected & published if name in addons and addons[name].available == "True"}
    stale = able & scores.expired
    return ScoreCounts(expected=len(expected), fresh=len(able - stale - scores.endless), stale=len(stale))
