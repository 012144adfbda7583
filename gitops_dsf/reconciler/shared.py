"""What the controllers of a replica share while it leads."""

from collections.abc import Callable

from dsf_runtime.clock import monotonic
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.decisions import DecisionTracker
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.scan import ScoreScanner


class Shared:
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
        self.view = HubView(
            api=api,
            hub_namespace=hub_namespace,
            argocd_namespace=argocd_namespace,
            broken=metrics.watch_broken,
        )
        self.events = Events(api=api, outcomes=metrics.events)
        self.tracker = DecisionTracker(view=self.view, metrics=metrics, clock=clock)
        self.scanner = ScoreScanner(view=self.view, now=api.now)
        self.ledger = Ledger()
        """The paced moves, as this leader wrote or read them last."""
