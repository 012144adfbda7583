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
from dsf_runtime.threads import use_threads
from gitops_dsf.reconciler.controller import Controller, keep_running
from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.decisions import DecisionTracker
from gitops_dsf.reconciler.hub.fence import Fence
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.journal.controller import JournalController
from gitops_dsf.reconciler.journal.flapping import FlappingReporter
from gitops_dsf.reconciler.lease import Leadership, LeaseLost
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.moves.controller import MoveController
from gitops_dsf.reconciler.pages import serve_pages
from gitops_dsf.reconciler.proposals.controller import ProposalController
from gitops_dsf.reconciler.refresh.controller import RefreshController
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

    Raises HubError when the credentials cannot be read, and UsageError when the address cannot be bound.
    """
    use_threads(CONCURRENT)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    metrics = Metrics()
    async with _hub(settings, load=load) as (leadership, api), _fetcher(settings) as fetcher:
        controllers: list[Controller] = []

        def waits_for() -> str:
            return _waits_for(controllers) if leadership.is_leader else ""

        async with serve_pages(
            host=settings.metrics_host, port=settings.metrics_port, metrics=metrics, waits_for=waits_for
        ) as port:
            LOG.info("pages on %s:%s", settings.metrics_host, port)
            work = asyncio.create_task(
                _lead(leadership, controllers, api=api, fetcher=fetcher, settings=settings, metrics=metrics)
            )
            stopped = asyncio.create_task(stop.wait())
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
            await _end(work, stopped)
            await _release(leadership, api)
            LOG.info("stopped")


async def _lead(
    leadership: Leadership,
    controllers: list[Controller],
    *,
    api: HubApi,
    fetcher: Fetcher,
    settings: Settings,
    metrics: Metrics,
) -> None:
    """Starts new controllers each time leadership is won: what another leader did is read from the hub."""
    while True:
        await leadership.acquire()
        metrics.leader.set(1)
        parts = _Controllers(api=api, fetcher=fetcher, settings=settings, metrics=metrics)
        controllers[:] = parts.all()
        work = asyncio.create_task(keep_running(controllers, failures=metrics.failures))
        try:
            await leadership.keep()
        except LeaseLost as lost:
            LOG.warning("no longer leading: %s", lost)
        finally:
            metrics.leader.set(0)
            await _end(work)


def _waits_for(controllers: Sequence[Controller]) -> str:
    """Controllers that are not ready, and informers that are broken. Empty when all is well."""
    broken = [
        why for controller in controllers if isinstance(controller, HubView) for why in controller.broken
    ]
    return "; ".join(
        [", ".join(controller.name for controller in controllers if not controller.ready), *broken]
    )


class _Controllers:
    """Makes the controllers of one term of leadership, and what they share."""

    def __init__(self, *, api: HubApi, fetcher: Fetcher, settings: Settings, metrics: Metrics) -> None:
        self._api, self._fetcher, self._settings, self._metrics = api, fetcher, settings, metrics
        self._view = HubView(
            api=api,
            hub_namespace=settings.spec.hub_namespace,
            argocd_namespace=settings.spec.argocd.namespace,
            metrics=metrics.watches,
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
        scorers = ScorerController(
            api=self._api,
            view=self._view,
            fetcher=self._fetcher,
            metrics=self._metrics.scorers,
            freshness=self._metrics.freshness,
            events=self._events,
            interval=settings.spec.reconciler.probe.interval_seconds,
            flapping=self._flapping,
        )
        return (
            view,
            scorers,
            SuspensionController(
                api=api,
                view=view,
                metrics=metrics.suspension,
                events=events,
                health=scorers.health,
                settings=settings.spec.reconciler.suspend,
                probe_interval=settings.spec.reconciler.probe.interval_seconds,
            ),
            ScoreGarbageCollector(api=api, view=view, metrics=metrics.scoregc, events=events),
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
    async with HubApi(load=load) as lease_api:
        leadership = Leadership(
            api=lease_api,
            namespace=settings.spec.hub_namespace,
            identity=f"{settings.replica}_{uuid.uuid4().hex[:8]}",
        )
        async with HubApi(load=load, fence=Fence(claim=leadership)) as api:
            yield leadership, api


async def _release(leadership: Leadership, api: HubApi) -> None:
    """Gives the Lease back. Call it after all work has ended."""
    await leadership.release(clean=await api.settled())


def _fetcher(settings: Settings) -> Fetcher:
    seconds = settings.spec.reconciler.probe.timeout_seconds
    return Fetcher(limits=FetchLimits(seconds=seconds, concurrent=CONCURRENT))


async def _end(*tasks: "asyncio.Task[object]") -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await task
