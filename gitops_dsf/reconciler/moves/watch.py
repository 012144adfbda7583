"""Decisions as they change: noted at once, whatever a duty is busy with, because the time of the change is
what settling counts from.
"""

import asyncio
from collections.abc import Callable

from dsf_runtime.clock import monotonic
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.moves.unions import Unions


class DecisionWatch:
    """Shared by the duties of moves; owns `unions` and the series about decisions."""

    def __init__(self, *, view: HubView, metrics: Metrics, clock: Callable[[], float] = monotonic) -> None:
        self._decisions = view.decisions
        self._metrics = metrics.decisions
        self.clock = clock
        self.unions = Unions()
        self._listeners: list[Callable[[], None]] = []
        self._noted = False
        view.decisions.listen(self._on_page)

    def listen(self, listener: Callable[[], None]) -> None:
        """Calls it after every change of a page."""
        self._listeners.append(listener)

    def observe(self) -> None:
        """Takes all pages as they are now."""
        self._noted = False
        seen = self.unions.observe(self._decisions.items.values(), self.clock())
        for placement in seen.changed:
            self._metrics.changes.labels(placement=placement).inc()
        for placement in seen.changed | seen.new:
            union = self.unions.get(placement)
            self._metrics.clusters.labels(placement=placement).set(
                len(union.clusters) if union is not None else 0
            )
        for placement in seen.gone:
            self._metrics.forget(placement)
        for listener in self._listeners:
            listener()

    def forget(self) -> None:
        """This replica no longer leads."""
        self._metrics.forget_all()

    def _on_page(self, _key: str, _item: object) -> None:
        # Once for all changes of a list that was read anew: between two of them the union would be one that
        # never was.
        if not self._noted:
            self._noted = True
            asyncio.get_running_loop().call_soon(self.observe)
