"""The reconciler as a process: it waits for leadership, works while it leads, and stops cleanly
on a signal.
"""

import asyncio
import contextlib
import logging
import signal
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from typing import Any, Final

from dsf_runtime.access import Access
from dsf_runtime.apiserver import ApiError
from dsf_runtime.threads import use_threads
from gitops_dsf.errors import HubError
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
from gitops_dsf.reconciler.settings import Settings
from gitops_dsf.reconciler.statebranch.controller import StateBranchController
from gitops_dsf.reconciler.suspension.controller import SuspensionController
from gitops_dsf.sync.fetch import Fetcher, FetchLimits

LOG = logging.getLogger(__name__)
CONCURRENT: Final = 512
"""Probes at a time."""
ONCE_PATIENCE: Final = 20.0
"""Seconds that a single pass waits for the Lease: longer than the Lease of a crashed replica lasts."""


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


async def run_once(settings: Settings, *, load: Callable[[], Access]) -> int:
    """Makes one pass over all scorers while it holds the Lease. Returns how many statuses were written.

    Raises HubError.
    """
    use_threads(CONCURRENT)
    async with _hub(settings, load=load) as (leadership, api), _fetcher(settings) as fetcher:
        if not await leadership.acquire(patience=ONCE_PATIENCE):
            msg = (
                "no pass was made: another replica leads and does the same work, or the Lease cannot be"
                " written; see the log"
            )
            raise HubError(msg)
        try:
            metrics = Metrics()
            view = _view(api, settings, metrics)
            events = Events(api=api, metrics=metrics.events)
            controller = ScorerController(
                api=api,
                view=view,
                fetcher=fetcher,
                metrics=metrics.scorers,
                freshness=metrics.freshness,
                events=events,
                interval=settings.probe_interval,
                flapping=_flapping(settings, view=view, events=events, metrics=metrics),
            )
            written = await _while_leading(leadership, controller.once())
        except (ApiError, LeaseLost) as error:
            raise HubError(str(error)) from error
        finally:
            await _release(leadership, api)
    if controller.refused:
        refused = ", ".join(controller.refused)
        msg = f"{written} statuses written; the hub refused those of {refused}: see the log"
        raise HubError(msg)
    return written


async def _while_leading(leadership: Leadership, work: Coroutine[Any, Any, int]) -> int:
    """Renews the Lease while the work runs. Raises LeaseLost when the Lease is lost, and what the work
    raises.
    """
    keep, task = asyncio.create_task(leadership.keep()), asyncio.create_task(work)
    try:
        await asyncio.wait({keep, task}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await keep
        return await task
    finally:
        keep.cancel()
        task.cancel()
        await asyncio.gather(keep, task, return_exceptions=True)


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
        controllers[:] = _controllers(api=api, fetcher=fetcher, settings=settings, metrics=metrics)
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


def _controllers(
    *, api: HubApi, fetcher: Fetcher, settings: Settings, metrics: Metrics
) -> Sequence[Controller]:
    view, events = _view(api, settings, metrics), Events(api=api, metrics=metrics.events)
    tracker = DecisionTracker(view=view, metrics=metrics.decisions)
    flapping = _flapping(settings, view=view, events=events, metrics=metrics)
    scorers = ScorerController(
        api=api,
        view=view,
        fetcher=fetcher,
        metrics=metrics.scorers,
        freshness=metrics.freshness,
        events=events,
        interval=settings.probe_interval,
        flapping=flapping,
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
            settings=settings.suspension,
            probe_interval=settings.probe_interval,
        ),
        ScoreGarbageCollector(api=api, view=view, metrics=metrics.scoregc, events=events),
        RefreshController(api=api, view=view, metrics=metrics.refresh, tracker=tracker),
        MoveController(api=api, view=view, metrics=metrics.moves, events=events, tracker=tracker),
        *_git_controllers(
            api=api,
            view=view,
            settings=settings,
            metrics=metrics,
            events=events,
            tracker=tracker,
            flapping=flapping,
        ),
    )


def _git_controllers(
    *,
    api: HubApi,
    view: HubView,
    settings: Settings,
    metrics: Metrics,
    events: Events,
    tracker: DecisionTracker,
    flapping: FlappingReporter | None,
) -> Iterator[Controller]:
    """Controllers that need a git repository, when the settings ask for them."""
    if settings.git is not None and settings.state.branch:
        yield StateBranchController(
            api=api, view=view, git=settings.git, settings=settings.state, metrics=metrics.state
        )
    if settings.git is not None and flapping is not None:
        yield JournalController(
            api=api,
            view=view,
            git=settings.git,
            settings=settings.journal,
            metrics=metrics.journal,
            tracker=tracker,
            flapping=flapping,
        )
    if settings.git is not None and settings.proposals.kinds:
        proposals, seconds = settings.proposals, settings.probe_timeout
        yield ProposalController(
            view=view,
            events=events,
            metrics=metrics.proposals,
            git=settings.git,
            settings=proposals,
            page_seconds=seconds,
        )


def _flapping(
    settings: Settings, *, view: HubView, events: Events, metrics: Metrics
) -> FlappingReporter | None:
    """None without a journal."""
    if settings.git is None or not settings.journal.branch:
        return None
    return FlappingReporter(metrics=metrics.flapping, events=events, namespace=view.argocd_namespace)


def _view(api: HubApi, settings: Settings, metrics: Metrics) -> HubView:
    return HubView(
        api=api,
        hub_namespace=settings.hub_namespace,
        argocd_namespace=settings.argocd_namespace,
        metrics=metrics.watches,
    )


@contextlib.asynccontextmanager
async def _hub(settings: Settings, *, load: Callable[[], Access]) -> AsyncIterator[tuple[Leadership, HubApi]]:
    """Two clients of the hub: one for the Lease alone, and one that checks leadership before every write."""
    async with HubApi(load=load) as lease_api:
        leadership = Leadership(
            api=lease_api,
            namespace=settings.hub_namespace,
            identity=f"{settings.replica}_{uuid.uuid4().hex[:8]}",
        )
        async with HubApi(load=load, fence=Fence(claim=leadership)) as api:
            yield leadership, api


async def _release(leadership: Leadership, api: HubApi) -> None:
    """Gives the Lease back. Call it after all work has ended."""
    await leadership.release(clean=await api.settled())


def _fetcher(settings: Settings) -> Fetcher:
    return Fetcher(limits=FetchLimits(seconds=settings.probe_timeout, concurrent=CONCURRENT))


async def _end(*tasks: "asyncio.Task[object]") -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await task
