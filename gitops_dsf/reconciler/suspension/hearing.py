"""What the clusters say about a scorer, by the age of its scores. Pure; time is the hub's."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gitops_dsf.hub.addons import ManagedClusterAddOn
from gitops_dsf.hub.freshness import DEAD, State, state_of
from gitops_dsf.reconciler.hub.scores import ScoreSummary

ALONE = 1
"""Where a scorer runs on one cluster, that one decides."""
TOGETHER = 2
"""Elsewhere one stale cluster is that cluster's affair, whatever the quorum."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hearing:
    """Counts of clusters. Only one whose agent lives and that published before is heard; the others can say
    nothing about the API.
    """

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


def hear(
    expected: Collection[str],
    *,
    addons: Mapping[str, ManagedClusterAddOn],
    scores: Mapping[str, ScoreSummary],
    now: float,
) -> Hearing:
    """Counts clusters by their score of one scorer; `scores` are by cluster.

    Not counted are clusters whose agent OCM does not call available, which publishes for nobody, and scores
    without an end, from which nobody can tell when they were written.
    """
    fresh = stale = 0
    for cluster in expected:
        agent, score = addons.get(cluster), scores.get(cluster)
        if agent is None or agent.available != "True" or score is None:
            continue
        state = state_of(score.valid_until, filled=bool(score.count), ttl=0, now=now)
        fresh += state is State.FRESH
        stale += state in DEAD
    return Hearing(expected=len(expected), fresh=fresh, stale=stale)
