"""Reachability of clusters: those that OCM reaches, and those that only just returned.

A cluster that returns may get its application back by the next decision. So its old copy is kept
for a while, and not deleted just before it is wanted again. A new leader knows of earlier returns
only what the condition on the hub says.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from dsf_runtime.informer import Informer
from gitops_dsf.hub.objects import ManagedCluster

HOLD_SECONDS: Final = 180.0
"""A cluster that became reachable keeps its copies for this time.

OCM decides within seconds while it runs. When the leader of its placement controller has crashed,
another one leads after 163 s at the latest (a lease of 137 s, and 26 s between two attempts to take
it).
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reachability:
    unreachable: frozenset[str]
    """Clusters that OCM does not reach."""
    returned: frozenset[str]
    """Clusters that became reachable, or lost a taint, within HOLD_SECONDS."""


class ReachabilityTracker:
    """Remembers changes that this process saw. Of earlier ones the condition has the hub's time."""

    def __init__(
        self,
        *,
        clusters: Informer[ManagedCluster],
        clock: Callable[[], float],
        hub_time: Callable[[], float],
    ) -> None:
        self._clusters = clusters
        self._clock = clock
        self._hub_time = hub_time
        self._returned_at: dict[str, float] = {}
        """The time at which each cluster returned, by the clock of this process."""
        clusters.compare(self._note)

    def of(self, clusters: Mapping[str, ManagedCluster]) -> Reachability:
        """The reachability of these clusters now: the informer may be behind the last read."""
        now = self._clock()
        hub_now = self._hub_time()
        for name, returned_at in tuple(self._returned_at.items()):
            if now >= returned_at + HOLD_SECONDS:
                del self._returned_at[name]
        unreachable = set[str]()
        returned = set[str]()
        for name, cluster in clusters.items():
            if cluster.unreachable:
                unreachable.add(name)
            if name in self._returned_at or self._has_just_returned(name, cluster, hub_now):
                returned.add(name)
        return Reachability(unreachable=frozenset(unreachable), returned=frozenset(returned))

    def _has_just_returned(self, name: str, cluster: ManagedCluster, hub_now: float) -> bool:
        # The condition shows a new leader the returns that it has not seen itself.
        since = cluster.available_since
        if since is not None and hub_now < since + HOLD_SECONDS:
            return True
        # The cluster that was just read may be newer than the informer.
        before = self._clusters.items.get(name)
        return before is not None and _returns(before, cluster)

    def _note(self, name: str, before: ManagedCluster | None, after: ManagedCluster | None) -> None:
        if before is not None and after is not None and _returns(before, after):
            self._returned_at[name] = self._clock()


def _returns(before: ManagedCluster, after: ManagedCluster) -> bool:
    """Whether OCM may decide for the cluster now, and could not before."""
    lost_taint = any(taint not in after.taints for taint in before.taints)
    return (before.unreachable and not after.unreachable) or lost_taint
