"""How many scores may be deleted now: at most 10 % of a scorer's clusters per TTL, and at least one. Pure.

Deletions are remembered by this process alone. A new process therefore assumes the worst and deletes nothing
for one TTL. So however often the leader changes, no period of one TTL sees more than the limit.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

SHARE_PERCENT: Final = 10
DAY: Final = 86_400.0


@dataclass(kw_only=True)
class DeletionLimit:
    """Times are seconds of a monotonic clock; `started` is when this process began to delete."""

    started: float
    _deleted: dict[str, list[tuple[float, str]]] = field(default_factory=dict)

    def left(self, resource: str, *, clusters: Collection[str], ttl: float, now: float) -> int:
        """Deletions still allowed; `clusters` have a score of this resource at present."""
        if now < self.started + ttl:
            return 0
        counted = [name for at, name in self._deleted.get(resource, ()) if at > now - ttl]
        # The 10 % are of all clusters that had a score at the beginning of the TTL.
        whole = len(clusters) + sum(name not in clusters for name in set(counted))
        return max(0, most(whole) - len(counted))

    def take(self, resource: str, cluster: str, *, ttl: float, now: float) -> None:
        """Counts a deletion before it is sent: it may take effect although no answer arrives."""
        kept = [each for each in self._deleted.get(resource, ()) if each[0] > now - max(ttl, DAY)]
        self._deleted[resource] = [*kept, (now, cluster)]

    def give_back(self, resource: str) -> None:
        """Discounts the last deletion: the hub refused it, so nothing was deleted."""
        self._deleted[resource].pop()


def most(clusters: int) -> int:
    """The most deletions per TTL when this many clusters have a score."""
    return max(1, clusters * SHARE_PERCENT // 100)
