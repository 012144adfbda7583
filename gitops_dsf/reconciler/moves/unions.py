"""The clusters that each Placement is decided for, over all pages, and since when. Pure: times are handed in,
in seconds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gitops_dsf.hub.decisions import DecisionPage, clusters_by_placement

SETTLE_SECONDS: Final = 5.0
"""For which a decision must have held still: OCM rewrites its pages one after another."""
FORGET_SECONDS: Final = 600.0
"""After which a Placement without pages is forgotten; until then its return is a change, not a first sight.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Union:
    """The clusters of all pages of one Placement, and since when they are these."""

    clusters: frozenset[str]
    since: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """Placements that were seen for the first time, whose union is another now, and that are forgotten."""

    new: frozenset[str]
    changed: frozenset[str]
    gone: frozenset[str]


@dataclass(kw_only=True)
class Unions:
    """Remembers when each Placement's union last changed."""

    _known: dict[str, Union] = field(default_factory=dict)

    def observe(self, pages: Iterable[DecisionPage], now: float) -> Seen:
        """Takes the pages of all Placements as they are now."""
        found = clusters_by_placement(pages)
        new: set[str] = set()
        changed: set[str] = set()
        gone: set[str] = set()
        for name in found.keys() | self._known.keys():
            clusters, before = found.get(name, frozenset()), self._known.get(name)
            if before is not None and before.clusters == clusters:
                if name not in found and now - before.since > FORGET_SECONDS:
                    gone.add(name)
                    del self._known[name]
                continue
            self._known[name] = Union(clusters=clusters, since=now)
            (new if before is None else changed).add(name)
        return Seen(new=frozenset(new), changed=frozenset(changed), gone=frozenset(gone))

    def get(self, placement: str) -> Union | None:
        """None for a Placement that never had a page."""
        return self._known.get(placement)
