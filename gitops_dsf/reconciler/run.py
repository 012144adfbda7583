"""The reconciler as a process: it waits for leadership, works while it leads, and stops cleanly.

Its pages (/metrics, /healthz, /readyz) are served from the start, also while another replica leads.
The controllers start with the leadership and end before the Lease is given back, so that the next
leader may begin at once. A process leads once: when it loses the Lease, it ends with an error, and
Kubernetes starts it again.

Guaranteed: a controller that ends because of a bug is started again and counted in the metrics, and
the others go on. SIGTERM and SIGINT end all of them and release the Lease.

Not guaranteed: that a controller ends at the end of a pass. It is cancelled at any await, so each
one must continue from what the hub and git hold. A process that is killed keeps its Lease until it
expires.
"""

import asyncio
import contextlib
import logging
import signal
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, Counter, generate_latest

from dsf_runtime.access import Access
from dsf_runtime.apiserver import ApiServer
from dsf_runtime.pages import Page, PageServer
from dsf_runtime.threads import use_threads
from gitops_dsf.errors import UsageError
from gitops_dsf.reconciler import rawscores
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.api import MANAGER, HubApi
from gitops_dsf.reconciler.hub.leadership import Leadership
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.journal.controller import JournalController
from gitops_dsf.reconciler.journal.flapping import FlappingReporter
from gitops_dsf.reconciler.maintenance import MaintenanceController
from gitops_dsf.reconciler.metrics import ReconcilerMetrics
from gitops_dsf.reconciler.moves.controller import MoveController
from gitops_dsf.reconciler.multikueue.controller import MultiKueueController
from gitops_dsf.reconciler.pacing.controller import PaceController
from gitops_dsf.reconciler.proposals.controller import ProposalController
from gitops_dsf.reconciler.rawscores import RawScoreController
from gitops_dsf.reconciler.refresh import RefreshController
from gitops_dsf.reconciler.restarts import keep
from gitops_dsf.reconciler.scoregc import ScoreGarbageCollector
from gitops_dsf.reconciler.scorers.controller import ScorerController
from gitops_dsf.reconciler.settings import ReconcilerSettings
from gitops_dsf.reconciler.statebranch import StateBranchController
from gitops_dsf.sync.fetch import Fetcher, FetchLimits

LOG = logging.getLogger(__name__)
CONCURRENT: Final = 512
"""Pages that are asked at a time, and threads for their names: a look-up that hangs holds one."""
Controllers = Mapping[str, Callable[[], Awaitable[None]]]
"""Control loops of the leader, by a word for logs and metrics.

Each works until it is cancelled, at any point: the next run repeats nothing that was done already.
"""


async def keep_running(controllers: Controllers, *, failures: Counter) -> None:
    """Runs all controllers until cancelled.

    `failures` has the label `duty`: the controller's name.
    """
    async with asyncio.TaskGroup() as group:
        for name, run in controllers.items():
            group.create_task(keep(name, run, failed=partial(_count, failures, name)), name=name)


def _count(failures: Counter, duty: str) -> None:
    failures.labels(duty=duty).inc()


@contextlib.asynccontextmanager
async def serve_pages(
    *, host: str, port: int, metrics: ReconcilerMetrics, waits_for: Callable[[], str]
) -> AsyncIterator[int]:
    """Serves, and yields the port.

    It is ready while `waits_for` says nothing. Raises UsageError.
    """

    async def scrape(_accept: str) -> Page:
        return Page(content_type=CONTENT_TYPE_LATEST, parts=[generate_latest(metrics.registry)])

    def ready() -> Page:
        missing = waits_for()
        if missing:
            return Page(status=503, parts=[f"waits for {missing}\n".encode()])
        return Page(parts=[b"ok\n"])

    server = PageServer(host=host, port=port, metrics=scrape, ready=ready)
    try:
        await server.start()
    except OSError as error:
        msg = f"--metrics-address {host}:{port}: {error.strerror or error}"
        raise UsageError(msg) from error
    try:
        yield server.port
    finally:
        await server.close()


async def run(
    settings: ReconcilerSettings,
    *,
    load: Callable[[], Access],
    wall: Callable[[], float] = time.time,
) -> None:
    """Works until SIGTERM or SIGINT.

    Raises HubError without credentials or leadership, and UsageError. `wall` is Unix time by the
    clock of this machine.
    """
    use_threads(CONCURRENT)
    metrics = ReconcilerMetrics()
    probe = settings.spec.reconciler.probe
    # Two clients: the one for the Lease must write when there is no claim yet, and the other one
    # refuses every write without a claim.
    lease_api = ApiServer(load=load, user_agent=MANAGER, timeout_seconds=15.0, wall=wall)
    # A container that is restarted has the name of its pod again. It must not take the claim of the
    # process before it for its own, so a random part makes each process another holder.
    leadership = Leadership(
        api=lease_api,
        namespace=settings.spec.hub_namespace,
        identity=f"{settings.replica}_{uuid.uuid4().hex[:8]}",
        wall=wall,
    )
    views: list[HubView] = []
    """The one of this process, once it leads."""
    async with (
        lease_api,
        HubApi(load=load, left=leadership.left, wall=wall) as api,
        Fetcher(
            limits=FetchLimits(seconds=probe.timeout_seconds, concurrent=CONCURRENT),
            secrets=settings.secrets,
        ) as fetcher,
        Fetcher(limits=rawscores.LIMITS, secrets=settings.store_secrets) as store_fetcher,
        serve_pages(
            host=settings.metrics_host,
            port=settings.metrics_port,
            metrics=metrics,
            waits_for=lambda: "; ".join(view.waits_for for view in views),
        ) as port,
    ):
        LOG.info("pages on %s:%s", settings.metrics_host, port)

        async def lead() -> None:
            await leadership.acquire()
            metrics.leader.set(1)
            context = ControllerContext(
                api=api,
                metrics=metrics,
                hub_namespace=settings.spec.hub_namespace,
                argocd_namespace=settings.spec.argocd.namespace,
                delivery=settings.spec.delivery,
            )
            views.append(context.view)
            controllers = _controllers(context, fetcher, store_fetcher, settings)
            work = asyncio.create_task(keep_running(controllers, failures=metrics.failures))
            try:
                await leadership.keep()
            finally:
                # The controllers end before the Lease is given back: the next leader may begin at
                # once.
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
            # It raises why leadership ended. Kubernetes starts the process again, and what another
            # leader did meanwhile is read from the hub.
            leading.result()


def _controllers(
    context: ControllerContext,
    fetcher: Fetcher,
    store_fetcher: Fetcher,
    settings: ReconcilerSettings,
) -> Controllers:
    spec = settings.spec.reconciler
    flapping = FlappingReporter(context)
    scorers = ScorerController(
        context,
        fetcher=fetcher,
        interval=spec.probe.interval_seconds,
        allowed=settings.spec.allowed_token_hosts,
        flapping=flapping if spec.journal.enabled else None,
    )
    controllers: dict[str, Callable[[], Awaitable[None]]] = {
        "watch": context.view.run,
        "scorers": scorers.run,
        "dead-scores": ScoreGarbageCollector(context).run,
        "refresh": RefreshController(context).run,
        "handover": MoveController(context).run,
        "maintenance": MaintenanceController(context).run,
        "pace": PaceController(context, pace=settings.spec.pace).run,
    }
    if settings.multi_kueue_namespaces:
        controllers["multikueue"] = MultiKueueController(
            context, namespaces=settings.multi_kueue_namespaces
        ).run
    git = settings.git
    if git is not None and spec.state.enabled:
        raw: RawScoreController | None = None
        if spec.metric_store is not None:
            raw = RawScoreController(
                context,
                fetcher=store_fetcher,
                settings=spec.metric_store,
                allowed=settings.spec.allowed_token_hosts,
            )
            controllers["raw-scores"] = raw.run
        controllers["state"] = StateBranchController(
            context,
            git=git,
            settings=spec.state,
            namespaces=settings.placement_namespaces,
            raw=raw,
        ).run
    if git is not None and spec.journal.enabled:
        controllers["journal"] = JournalController(
            context, git=git, settings=spec.journal, flapping=flapping
        ).run
    if git is not None and spec.proposals.kinds:
        controllers["proposals"] = ProposalController(
            context,
            git=git,
            settings=spec.proposals,
            page_seconds=spec.probe.timeout_seconds,
            secrets=settings.secrets,
        ).run
    return controllers
