"""What the controllers of a replica share while it leads."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from dsf_runtime.apiserver import ApiError
from dsf_runtime.clock import happens_within, monotonic
from gitops_dsf.hub.causes import MoveCause
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.view import DecisionTracker, HubView
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.scan import ScoreScanner

LOG = logging.getLogger(__name__)
CONFLICT_SECONDS: Final = 1.0
INTERVAL_SECONDS: Final = 10.0
"""Between two looks of a controller that does not say when it must look again."""


async def keep_looking(
    look: Callable[[], Awaitable[float | None]],
    *,
    wake: asyncio.Event,
    pause: float = 0.0,
    failing: str = "",
) -> None:
    """Looks after each change (`wake`), and after so many seconds as the last look said; None: only after a
    change. `pause` is the shortest time between two looks. A look that raises ApiError is `failing`. After a
    conflict with another writer, which the client logs and counts, it looks again soon.
    """
    while True:
        wake.clear()
        seconds: float | None = INTERVAL_SECONDS
        try:
            seconds = await look()
        except ApiError as error:
            if error.status == HTTPStatus.CONFLICT:
                seconds = CONFLICT_SECONDS
            else:
                LOG.warning("%s: %s", failing, error)
        await asyncio.sleep(pause)
        await happens_within(wake, seconds=None if seconds is None else max(0.0, seconds - pause))


class ControllerContext:
    """The client of the hub, the informers, Events and metrics. `clock` is that of this process."""

    def __init__(
        self,
        *,
        api: HubApi,
        metrics: Metrics,
        hub_namespace: str,
        argocd_namespace: str,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.api, self.metrics, self.clock = api, metrics, clock
        api.on_conflict = lambda resource: metrics.conflicts.labels(resource=resource).inc()
        self.view = HubView(
            api=api,
            hub_namespace=hub_namespace,
            argocd_namespace=argocd_namespace,
            broken=metrics.watch_broken,
            on_bug=lambda: metrics.failures.labels(duty="watch").inc(),
        )
        self.events = Events(api=api, outcomes=metrics.events)
        self.tracker = DecisionTracker(view=self.view, metrics=metrics, clock=clock)
        self.scanner = ScoreScanner(view=self.view, now=api.now)
        self.ledger = Ledger()
        """The paced moves, as this leader wrote or read them last."""
        self.causes: dict[str, MoveCause] = {}
        """By Placement (namespace/name): why its decision changed last, while this replica led, if there is a
        journal.
        """

    def cause_of(self, placement: str) -> MoveCause | None:
        """Why the decision of a Placement (namespace/name) changed last; None if that is not known."""
        move = self.ledger.of(placement)
        return (move.cause if move is not None else None) or self.causes.get(placement)
