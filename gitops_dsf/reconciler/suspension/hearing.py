"""What the clusters say about a scorer, by the age of its scores. Pure; time is the hub's."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gitops_dsf.reconciler.hub.addons import Addon
from gitops_dsf.reconciler.hub.scores import Freshness

ALONE = 1
"""Where a scorer runs on one cluster, that one decides."""
TOGETHER = 2
"""Elsewhere one stale cluster is that cluster's affair, whatever the quorum."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hearing:
    """Counts of clusters. Only one whose agent lives and that published before is heard; the others can say nothing about the API."""

    expected: int = 0
    """Clusters on which the scorer should run."""
    fresh: int = 0
    stale: int = 0

    @property
    def heard(self) -> int:
        """Clusters that say anything."""
        return self.fresh + self.stale

    def agrees(self, quorum_percent: int) -> bool:
        """Whether at least so many of the heard clusters have no fresh score."""
        least = ALONE if self.expected == ALONE else TOGETHER
        return self.stale >= least and self.stale * 100 >= quorum_percent * self.heard


def hear(expected: Collection[str], *, addons: Mapping[str, Addon], scores: Mapping[str, Freshness], now: float) -> Hearing:
    """`scores` are one scorer's by cluster. An agent that OCM does not call available cannot testify: it publishes for nobody."""
    fresh = stale = 0
    for cluster in expected:
        agent, score = addons.get(cluster), scores.get(cluster)
        if agent is None or agent.available != "True" or score is None:
            continue
        if score.count and score.valid_until > now:
            fresh += 1
        else:
            stale += 1
    return Hearing(expected=len(expected), fresh=fresh, stale=stale)
