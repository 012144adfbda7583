"""The clusters that each Placement is decided for, over all pages, and since when."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from dsf_runtime.clock import monotonic
from gitops_dsf.hub.decisions import DecisionPage, clusters_by_placement
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.series import PREFIX

DEBOUNCE_SECONDS: Final = 5.0
"""A decision counts when it has not changed for this long: OCM writes its pages one after another."""
FORGET_SECONDS: Final = 600.0
"""A Placement without pages is forgotten after this time. Until then its return counts as a change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionSet:
    """The clusters of all pages of one Placement, and since when they are unchanged."""

    clusters: frozenset[str]
    since: float


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionChanges:
    """Placements that are new, whose clusters have changed, and that are forgotten."""

    new: frozenset[str]
    changed: frozenset[str]
    gone: frozenset[str]


@dataclass(kw_only=True)
class DecisionSets:
    """The decisions of all Placements. Pure: times are passed in, in seconds."""

    _known: dict[str, DecisionSet] = field(default_factory=dict)

    def observe(self, pages: Iterable[DecisionPage], now: float) -> DecisionChanges:
        """Updates the decisions by the pages of all Placements as they are now."""
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
            self._known[name] = DecisionSet(clusters=clusters, since=now)
            (new if before is None else changed).add(name)
        return DecisionChanges(new=frozenset(new), changed=frozenset(changed), gone=frozenset(gone))

    def get(self, placement: str) -> DecisionSet | None:
        """None for a Placement that never had a page."""
        return self._known.get(placement)


class DecisionMetrics:
    """How often decisions change, and how large they are."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.changes = Counter(
            f"{PREFIX}_decision_changes",
            "Times that the clusters of a Placement's decision changed.",
            ["placement"],
            registry=registry,
        )
        self.clusters = Gauge(
            f"{PREFIX}_decision_clusters",
            "Clusters of a Placement's decision.",
            ["placement"],
            registry=registry,
        )

    def forget(self, placement: str) -> None:
        """Removes the series of a deleted Placement."""
        for series in (self.changes, self.clusters):
            series.remove(placement)

    def clear(self) -> None:
        """Clears the gauges on losing leadership. Counters stay."""
        self.clusters.clear()


class DecisionTracker:
    """Follows the decisions of all Placements for the controllers of `refresh` and `moves`.

    It notes a change at once, whatever a controller is doing, because debouncing counts from that time.
    """

    def __init__(
        self, *, view: HubView, metrics: DecisionMetrics, clock: Callable[[], float] = monotonic
    ) -> None:
        self._decisions = view.decisions
        self._metrics = metrics
        self.clock = clock
        self.decisions = DecisionSets()
        self._listeners: list[Callable[[], None]] = []
        self._scheduled = False
        view.decisions.listen(self._on_page)

    def listen(self, listener: Callable[[], None]) -> None:
        """Calls the listener after every change of a page."""
        self._listeners.append(listener)

    def observe(self) -> None:
        """Reads all pages as they are now."""
        self._scheduled = False
        changes = self.decisions.observe(self._decisions.items.values(), self.clock())
        for placement in changes.changed:
            self._metrics.changes.labels(placement=placement).inc()
        for placement in changes.changed | changes.new:
            decision = self.decisions.get(placement)
            self._metrics.clusters.labels(placement=placement).set(
                len(decision.clusters) if decision is not None else 0
            )
        for placement in changes.gone:
            self._metrics.forget(placement)
        for listener in self._listeners:
            listener()

    def clear(self) -> None:
        """Clears the gauges on losing leadership."""
        self._metrics.clear()

    def _on_page(self, _key: str, _item: object) -> None:
        # Once for all changes of a list: the pages in between are of no decision that ever existed.
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self.observe)
