"""The reconciler as a process: it waits for leadership, works while it leads, and stops cleanly
on a signal.
"""

import asyncio
import contextlib
import logging
import signal
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Final

from dsf_runtime.access import Access
from dsf_runtime.apiserver import ApiServer
from dsf_runtime.threads import use_threads
from gitops_dsf.reconciler.controller import Controller, keep_running
from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.hub.api import MANAGER, HubApi
from gitops_dsf.reconciler.hub.decisions import DecisionTracker
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.journal.controller import JournalController
from gitops_dsf.reconciler.journal.flapping import FlappingReporter
from gitops_dsf.reconciler.lease import Leadership
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.moves.controller import MoveController
from gitops_dsf.reconciler.pages import serve_pages
from gitops_dsf.reconciler.proposals.controller import ProposalController
from gitops_dsf.reconciler.refresh.controller import RefreshController
from gitops_dsf.reconciler.scan import ScoreScanner
from gitops_dsf.reconciler.scoregc.controller import ScoreGarbageCollector
from gitops_dsf.reconciler.scorers.controller import ScorerController
from gitops_dsf.reconciler.settings import GitSettings, Settings
from gitops_dsf.reconciler.statebranch.controller import StateBranchController
from gitops_dsf.reconciler.suspension.controller import SuspensionController
from gitops_dsf.sync.fetch import Fetcher, FetchLimits

LOG = logging.getLogger(__name__)
CONCURRENT: Final = 512
"""Probes at a time."""


async def run(settings: Settings, *, load: Callable[[], Access]) -> None:
    """Works until SIGTERM or SIGINT.

    Raises HubError when the credentials cannot be read or leadership is lost, and UsageError when the address
    cannot be bound.
    """
    use_threads(CONCURRENT)
    metrics, probe = Metrics(), settings.spec.reconciler.probe
    controllers: list[Controller] = []
    async with (
        _hub(settings, load=load) as (leadership, api),
        Fetcher(limits=FetchLimits(seconds=probe.timeout_seconds, concurrent=CONCURRENT)) as fetcher,
        serve_pages(
            host=settings.metrics_host,
            port=settings.metrics_port,
            metrics=metrics,
            waits_for=lambda: _waits_for(controllers),
        ) as port,
    ):
        LOG.info("pages on %s:%s", settings.metrics_host, port)

        async def lead() -> None:
            await leadership.acquire()
            metrics.leader.set(1)
            controllers[:] = _Controllers(api=api, fetcher=fetcher, settings=settings, metrics=metrics).all()
            work = asyncio.create_task(keep_running(controllers, failures=metrics.failures))
            try:
                await leadership.keep()
            finally:
                work.cancel()
                await asyncio.wait({work})

        leading = asyncio.create_task(lead())
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, leading.cancel)
        await asyncio.wait({leading})
        if leading.cancelled():
            await leadership.release()
            LOG.info("stopped")
        else:
            # Kubernetes starts it again, and what another leader did meanwhile is read from the hub.
            leading.result()


def _waits_for(controllers: Sequence[Controller]) -> str:
    """Controllers that are not ready, and informers that are broken. Empty when all is well."""
    broken = [
        why for controller in controllers if isinstance(controller, HubView) for why in controller.broken
    ]
    return "; ".join(
        [", ".join(controller.name for controller in controllers if not controller.ready), *broken]
    )


class _Controllers:
    """Makes the controllers, and what they share."""

    def __init__(self, *, api: HubApi, fetcher: Fetcher, settings: Settings, metrics: Metrics) -> None:
        self._api, self._fetcher, self._settings, self._metrics = api, fetcher, settings, metrics
        self._view = HubView(
            api=api,
            hub_namespace=settings.spec.hub_namespace,
            argocd_namespace=settings.spec.argocd.namespace,
            broken=metrics.watch_broken,
        )
        self._events = Events(api=api, metrics=metrics.events)
        self._flapping: FlappingReporter | None = None
        """None without a journal."""
        if settings.spec.reconciler.journal.enabled:
            self._flapping = FlappingReporter(
                metrics=metrics.flapping, events=self._events, namespace=settings.spec.argocd.namespace
            )

    def all(self) -> Sequence[Controller]:
        """Every controller that the settings ask for."""
        api, view, events, metrics, settings = (
            self._api,
            self._view,
            self._events,
            self._metrics,
            self._settings,
        )
        tracker = DecisionTracker(view=view, metrics=metrics.decisions)
        scanner = ScoreScanner(view=view, now=api.now)
        scorers = ScorerController(
            api=api,
            view=view,
            scanner=scanner,
            fetcher=self._fetcher,
            metrics=metrics.scorers,
            freshness=metrics.freshness,
            events=events,
            interval=settings.spec.reconciler.probe.interval_seconds,
            flapping=self._flapping,
        )
        return (
            view,
            scorers,
            SuspensionController(
                api=api,
                view=view,
                scanner=scanner,
                metrics=metrics.suspension,
                events=events,
                health=scorers.health,
                settings=settings.spec.reconciler.suspend,
                probe_interval=settings.spec.reconciler.probe.interval_seconds,
            ),
            ScoreGarbageCollector(
                api=api, view=view, scanner=scanner, metrics=metrics.scoregc, events=events
            ),
            RefreshController(api=api, view=view, metrics=metrics.refresh, tracker=tracker),
            MoveController(api=api, view=view, metrics=metrics.moves, events=events, tracker=tracker),
            *(self._with_git(settings.git, tracker) if settings.git is not None else ()),
        )

    def _with_git(self, git: GitSettings, tracker: DecisionTracker) -> Iterator[Controller]:
        settings, metrics = self._settings.spec.reconciler, self._metrics
        if settings.state.enabled:
            yield StateBranchController(
                api=self._api,
                view=self._view,
                git=git,
                settings=settings.state,
                namespaces=self._settings.placement_namespaces,
                metrics=metrics.state,
            )
        if self._flapping is not None:
            yield JournalController(
                api=self._api,
                view=self._view,
                git=git,
                settings=settings.journal,
                metrics=metrics.journal,
                tracker=tracker,
                flapping=self._flapping,
            )
        if settings.proposals.kinds:
            yield ProposalController(
                view=self._view,
                events=self._events,
                metrics=metrics.proposals,
                git=git,
                settings=settings.proposals,
                page_seconds=settings.probe.timeout_seconds,
            )


@contextlib.asynccontextmanager
async def _hub(settings: Settings, *, load: Callable[[], Access]) -> AsyncIterator[tuple[Leadership, HubApi]]:
    """Two clients of the hub: one for the Lease alone, and one that checks leadership before every write."""
    async with ApiServer(load=load, user_agent=MANAGER, timeout_seconds=15.0) as lease_api:
        leadership = Leadership(
            api=lease_api,
            namespace=settings.spec.hub_namespace,
            identity=f"{settings.replica}_{uuid.uuid4().hex[:8]}",
        )
        async with HubApi(load=load, left=leadership.left) as api:
            yield leadership, api
