"""Decisions: each Placement's clusters over all pages, and since when they are unchanged.

OCM writes a decision as one or more PlacementDecisions, one after another. Between two writes the
pages together are a decision that never existed, so a decision counts only when it has not changed
for a while.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from dsf_runtime.clock import monotonic
from dsf_runtime.informer import Informer
from gitops_dsf.hub.decisions import clusters_by_placement
from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.reconciler.metrics import ReconcilerMetrics

DEBOUNCE_SECONDS: Final = 5.0
"""A decision counts when it has not changed for this long.

OCM writes its pages one after another.
"""
FORGET_SECONDS: Final = 600.0
"""A Placement without pages is forgotten after this time.

Until then its return counts as a change.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionSet:
    """The clusters of all pages of one Placement, and since when they are unchanged."""

    clusters: frozenset[str]
    since: float


class DecisionSets(dict[str, DecisionSet]):
    """The decisions of all Placements that ever had a page, by name. Pure: times are passed in."""

    def observe(self, pages: Iterable[PlacementDecision], now: float) -> set[str]:
        """Updates the decisions by all pages.

        Returns the Placements that are new or have changed.
        """
        current = clusters_by_placement(pages)
        changed = set[str]()
        for name in current.keys() | self.keys():
            clusters = current.get(name, frozenset())
            before = self.get(name)
            if before is None or before.clusters != clusters:
                self[name] = DecisionSet(clusters=clusters, since=now)
                changed.add(name)
            elif name not in current and now - before.since > FORGET_SECONDS:
                del self[name]
        return changed


class DecisionTracker:
    """Notes each change of a decision at once: debouncing counts from that time."""

    def __init__(
        self,
        *,
        pages: Informer[PlacementDecision],
        metrics: ReconcilerMetrics,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._pages = pages
        self._metrics = metrics
        self._clock = clock
        self.decisions = DecisionSets()
        self._listeners: list[Callable[[], None]] = []
        self._scheduled = False
        pages.listen(self._on_page)

    def listen(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def observe(self) -> None:
        """Reads all pages as they are now."""
        self._scheduled = False
        # The first decision that is seen of a Placement is not a change: this process has just
        # started.
        names_before = set(self.decisions)
        for name in self.decisions.observe(self._pages.items.values(), self._clock()):
            if name in names_before:
                self._metrics.decision_changes.labels(placement=name).inc()
        for name in names_before - self.decisions.keys():
            self._metrics.decision_changes.remove(name)
        counts: dict[tuple[str], float] = {}
        for name, decision in self.decisions.items():
            counts[(name,)] = len(decision.clusters)
        self._metrics.decision_clusters.set(counts)
        for listener in self._listeners:
            listener()

    def _on_page(self, _key: str, _page: object) -> None:
        # Once for all changes of a list: the pages in between are of no decision that ever existed.
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self.observe)
