"""Which clusters are unreachable, and which have just returned: OCM may decide for them again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from dsf_runtime.informer import Informer
from gitops_dsf.hub.objects import ManagedCluster

HOLD_SECONDS: Final = 180.0
"""A cluster that became reachable keeps its copies for this time. OCM decides within seconds while it runs.
When the leader of its placement controller has crashed, another one leads after 163 s at the latest (a lease
of 137 s, and 26 s between two attempts to take it).
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reachability:
    """All clusters at one moment."""

    unreachable: frozenset[str]
    """Clusters that OCM does not reach."""
    returned: frozenset[str]
    """Clusters that became reachable, or lost a taint, within HOLD_SECONDS."""


class ReachabilityTracker:
    """Remembers changes that this process saw. Of earlier ones the condition has the hub's time."""

    def __init__(
        self, *, clusters: Informer[ManagedCluster], clock: Callable[[], float], hub_time: Callable[[], float]
    ) -> None:
        self._clusters, self._clock, self._hub_time = clusters, clock, hub_time
        self._at: dict[str, float] = {}
        """When a cluster returned, by the clock of this process."""
        clusters.compare(self._note)

    def of(self, clusters: Mapping[str, ManagedCluster]) -> Reachability:
        """The reachability of these clusters now."""
        now, hub_now = self._clock(), self._hub_time()
        self._at = {name: at for name, at in self._at.items() if now < at + HOLD_SECONDS}
        return Reachability(
            unreachable=frozenset(name for name, item in clusters.items() if item.unreachable),
            returned=frozenset(
                name
                for name, item in clusters.items()
                if name in self._at or self._is_new(name, item, hub_now)
            ),
        )

    def _is_new(self, name: str, item: ManagedCluster, hub_now: float) -> bool:
        since, before = item.available_since, self._clusters.items.get(name)
        return (since is not None and hub_now < since + HOLD_SECONDS) or (
            before is not None and _returns(before, item)
        )

    def _note(self, name: str, before: ManagedCluster | None, item: ManagedCluster | None) -> None:
        if before is not None and item is not None and _returns(before, item):
            self._at[name] = self._clock()


def _returns(before: ManagedCluster, item: ManagedCluster) -> bool:
    """Whether OCM may decide for the cluster now, and could not before."""
    return (before.unreachable and not item.unreachable) or any(
        taint not in item.taints for taint in before.taints
    )
