"""How many scores may be removed now: never more than 10 % of a scorer's clusters per TTL, and at least one.
Pure.

What was removed is remembered by this process alone, so a new one counts the worst: it removes nothing before
a TTL has passed. Hence however often replicas take turns, no span of one TTL sees more than the limit.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

SHARE_PERCENT: Final = 10
DAY: Final = 86_400.0


@dataclass(kw_only=True)
class Allowance:
    """Times are seconds of a clock that only goes forward; `started` is when this process began to remove."""

    started: float
    _removed: dict[str, list[tuple[float, str]]] = field(default_factory=dict)

    def left(self, resource: str, *, clusters: Collection[str], ttl: float, now: float) -> int:
        """Removals still allowed; `clusters` have a score of this resource at present."""
        if now < self.started + ttl:
            return 0
        counted = [name for at, name in self._removed.get(resource, ()) if at > now - ttl]
        # Those removed since belong to the whole that the tenth is of.
        whole = len(clusters) + sum(name not in clusters for name in set(counted))
        return max(0, most(whole) - len(counted))

    def take(self, resource: str, cluster: str, *, ttl: float, now: float) -> None:
        """One removal is about to be asked for; it counts whether or not the hub's answer arrives."""
        kept = [each for each in self._removed.get(resource, ()) if each[0] > now - max(ttl, DAY)]
        self._removed[resource] = [*kept, (now, cluster)]

    def give_back(self, resource: str) -> None:
        """The last one was refused: nothing was removed."""
        self._removed[resource].pop()


def most(clusters: int) -> int:
    """Removals per TTL where so many clusters have a score."""
    return max(1, clusters * SHARE_PERCENT // 100)
