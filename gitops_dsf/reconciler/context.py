"""The state that all controllers of a replica share while it leads.

One client, one view of the hub, one tracker of decisions and one scan of scores serve all of them,
so that each resource is followed once. Not guaranteed: that two controllers see the same state in
one pass. Each one reads the view when it runs.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from dsf_runtime.clock import monotonic
from dsf_runtime.informer import Informer
from gitops_dsf.hub.application_sets import ApplicationSet, only_refreshed
from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.journal.record import RecordedOrder
from gitops_dsf.pacing.ledger import Ledger, LedgerMove
from gitops_dsf.pacing.ledgerindex import LedgerIndex
from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.decisions import DecisionTracker
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import ReconcilerMetrics
from gitops_dsf.reconciler.scan import ScoreScanner
from gitops_dsf.repository.model.repository import Delivery

MAX_ORDERS: Final = 1000
"""Upper limit of lists for Kueue that wait for the journal. Without one, nothing takes them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenList:
    """A list of clusters that was written for Kueue."""

    placement: str
    """namespace/name."""
    uid: str
    at: float
    """Seconds since 1970, by the hub's clock."""
    order: RecordedOrder


class ControllerContext:
    """The client of the hub, the informers, Events and metrics. `clock` is that of this process."""

    def __init__(
        self,
        *,
        api: HubApi,
        metrics: ReconcilerMetrics,
        hub_namespace: str,
        argocd_namespace: str,
        delivery: Delivery | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.api = api
        self.metrics = metrics
        self.delivery = delivery or Delivery()
        self.clock = clock
        api.on_conflict = lambda resource: metrics.conflicts.labels(resource=resource).inc()
        self.view = HubView(
            api=api,
            hub_namespace=hub_namespace,
            argocd_namespace=argocd_namespace,
            delivery=self.delivery,
            broken=metrics.watch_broken,
            on_bug=lambda: metrics.failures.labels(duty="watch").inc(),
        )
        self.events = Events(api=api, outcomes=metrics.events)
        self.tracker = DecisionTracker(pages=self.view.decisions, metrics=metrics, clock=clock)
        self.scanner = ScoreScanner(view=self.view, now=api.now)
        self.ledger = Ledger()
        """The paced moves, as this leader wrote or read them last."""
        self._indexed = self.ledger
        self._moves = LedgerIndex()
        """The moves of `_indexed`."""
        self.causes: dict[str, MoveCause] = {}
        """The cause of the last change of each decision, by Placement (namespace/name).

        It is known only for changes while this replica led, and only if there is a journal.
        """
        self.verification_decided: Callable[[], None] = lambda: None
        """Called when the checks of a move have decided, so that the journal records it at once."""
        self.orders = deque[WrittenList](maxlen=MAX_ORDERS)
        """Lists for Kueue that were written, and that the journal has not recorded yet."""
        self.order_written: Callable[[], None] = lambda: None
        """Called when there is a new one."""
        self.ordering: Callable[[], Collection[str]] = lambda: ()
        """The Placements (namespace/name) that order clusters for Kueue."""

    @property
    def moves(self) -> LedgerIndex:
        """The moves of the ledger, which must not be added to.

        Whoever explains a change, or looks at old copies, asks for each Placement that changed,
        which may be all of them at once.
        """
        if self._indexed is not self.ledger:
            self._indexed = self.ledger
            self._moves = LedgerIndex(self.ledger.moves)
        return self._moves

    def move_under_way(self, placement: str) -> LedgerMove | None:
        """The paced move of a Placement (namespace/name) that is under way."""
        return self.moves.under_way(placement)

    def cause_of(self, placement: str) -> MoveCause | None:
        """The cause of the last change of a Placement's decision; None if it is not known.

        `placement` is written as namespace/name.
        """
        move = self.move_under_way(placement)
        # The ledger has the cause as soon as the move begins, and also on a hub without a journal.
        if move is not None and move.cause is not None:
            return move.cause
        return self.causes.get(placement)

    def changes_of_moves(self) -> asyncio.Event:
        """An event that is set whenever a decision, or something that a move depends on, changes.

        A request to refresh an ApplicationSet is no such change. Each decision has one, and Argo CD
        takes it away: without this, two of three changes of an ApplicationSet would cost a pass.
        """
        view = self.view
        changed = self.changes_of(view.placements, view.clusters, view.applications)

        def note(
            _name: str, before: ApplicationSet | None, application_set: ApplicationSet | None
        ) -> None:
            if not only_refreshed(before, application_set):
                changed.set()

        view.sets.compare(note)
        self.tracker.listen(changed.set)
        return changed

    @staticmethod
    def changes_of(*informers: Informer[Any]) -> asyncio.Event:
        """An event that is set whenever an object of these informers changes."""
        # An event and no queue of changes: a pass reads everything, so it need not know which
        # object changed, and changes that pile up cost one pass.
        changed = asyncio.Event()
        for informer in informers:
            informer.listen(lambda _key, _object: changed.set())
        return changed
