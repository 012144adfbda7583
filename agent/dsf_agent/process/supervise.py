"""The running agent: its root tasks, the state they share, readiness, and shutdown.

Guaranteed: if a root task ends, the process ends, and the kubelet starts it again. A failure of a
scorer never gets here.
"""

import asyncio
import gc
import logging
import signal
from collections.abc import Coroutine
from dataclasses import asdict
from typing import Any, Final, NamedTuple

import anyio.lowlevel
import msgspec

from dsf_agent.configuration.snapshot import ConfigurationSnapshot
from dsf_agent.configuration.watch import Observation, UnusableFile, Watcher
from dsf_agent.process.build import Adapters
from dsf_agent.schedule.scheduler import Scheduler
from dsf_agent.schedule.worker import WorkerState
from dsf_runtime.pages import Page, PageServer
from dsf_wire.summary import Problem

log = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 10.0
"""The time between two collections.

Each takes 1 to 3 ms, also with 50,000 results: the start-up is frozen.
"""


class Readiness(NamedTuple):
    """The answer of /readyz."""

    is_ready: bool
    detail: dict[str, Any]
    """The JSON of the page."""


class Supervisor:
    """Owns the root tasks. If one of them ends, the process ends."""

    def __init__(self, *, adapters: Adapters) -> None:
        settings = adapters.settings
        self._adapters = adapters
        self._metrics = adapters.metrics
        self._snapshot: ConfigurationSnapshot | None = None
        """The last configuration that could be used."""
        self._unusable: UnusableFile | None = UnusableFile(reason="missing", text="not read yet")
        """The reason why the file cannot be used now; None if it can."""
        self._stop = asyncio.Event()
        self._scheduler = Scheduler(
            make=adapters.worker,
            metrics=adapters.metrics,
            cluster=settings.cluster,
            splay=settings.splay_seconds,
        )
        self._watcher = Watcher(
            files=settings.files, poll_seconds=settings.waits.poll, emit=self._observed
        )
        self._pruner = adapters.pruner
        address = settings.metrics_address
        self.server = PageServer(
            host=address.host,
            port=address.port,
            metrics=adapters.metrics.page,
            ready=self._ready_page,
        )

    def stop(self) -> None:
        """Requests a graceful shutdown. May be called more than once."""
        self._stop.set()

    async def run(self) -> int:
        """Runs until ``stop`` is called or a root task ends. Returns the exit code."""
        # httpx loads the rest of anyio in its first call. That takes 20 ms, so it happens before we
        # listen.
        await anyio.lowlevel.checkpoint()
        try:
            await self.server.start()
        except OSError as error:
            address = self._adapters.settings.metrics_address
            raise OSError(
                f"cannot listen on {address.host or '*'}:{address.port} (--metrics-address):"
                f" {error.strerror or error}"
            ) from error
        log.info("serving /metrics on port %d", self.server.port)
        tasks = [asyncio.create_task(root, name=name) for name, root in self._roots()]
        stopping = asyncio.create_task(self._stop.wait(), name="stop")
        publishing = set[asyncio.Task[None]]()
        if self._adapters.publisher is not None:
            publishing.add(asyncio.create_task(self._adapters.publisher.run(), name="publish"))
        try:
            done, _ = await asyncio.wait(
                {stopping, *tasks, *publishing}, return_when=asyncio.FIRST_COMPLETED
            )
            failed = [task for task in done if task is not stopping]
            for task in failed:
                log.critical("%s ended", task.get_name(), exc_info=task.exception())
            log.info("shutting down")
            return 1 if failed else 0
        finally:
            for task in (*tasks, stopping):
                task.cancel()
            await asyncio.gather(*tasks, stopping, return_exceptions=True)
            # The publisher ends after the workers, which wait for the writes of their scores.
            await self._scheduler.stop(grace=self._adapters.settings.waits.grace)
            for task in publishing:
                task.cancel()
            await asyncio.gather(*publishing, return_exceptions=True)
            await self.server.close()
            await self._adapters.close()

    def _roots(self) -> list[tuple[str, Coroutine[Any, Any, None]]]:
        # Without the publisher, which must outlive the workers.
        roots: list[tuple[str, Coroutine[Any, Any, None]]] = [
            ("watch", self._watcher.run()),
            ("garbage collection", collect_periodically()),
        ]
        if self._pruner is not None:
            roots.append(("prune", self._pruner.run()))
        return roots

    async def _observed(self, observation: Observation) -> None:
        self._metrics.config_usable.set(int(isinstance(observation, ConfigurationSnapshot)))
        if isinstance(observation, UnusableFile):
            self._cannot_use(observation)
            return
        self._unusable = None
        edited = self._snapshot is not None
        self._snapshot = observation
        self._adapters.use_clusters(observation)
        self._metrics.config_timestamp.set(self._adapters.wall())
        log.info("configuration %s: %d scorers", observation.digest[:12], len(observation.scorers))
        for problem in observation.problems:
            extra = {"scorer": problem.name or "?", "reason": "bad_entry"}
            log.warning("entry %d is skipped: %s", problem.index, problem.reason, extra=extra)
        await self._apply(observation, edited=edited)
        # Afterwards, so that the workers of removed scorers write nothing any more.
        if self._pruner is not None:
            self._pruner.set(observation)

    def _cannot_use(self, unusable: UnusableFile) -> None:
        """The last good configuration stays active, and nothing is deleted."""
        self._unusable = unusable
        self._metrics.config_failures.labels(unusable.reason).inc()
        extra = {"reason": unusable.reason}
        if self._snapshot is None:
            log.warning("the configuration cannot be used: %s", unusable.text, extra=extra)
        else:
            text = "the configuration cannot be used, the last good one stays active: %s"
            log.warning(text, unusable.text, extra=extra)
        if self._pruner is not None:
            self._pruner.set(None)

    async def _apply(self, snapshot: ConfigurationSnapshot, *, edited: bool) -> None:
        scorers = snapshot.scorers
        await self._adapters.cluster.follow(scorers)
        invalid = self._adapters.invalid_entries
        if invalid is not None:
            invalid.release(snapshot)
        await self._scheduler.apply(scorers)
        if invalid is not None:
            invalid.plan_conditions(snapshot, edited=edited)
        self._adapters.keep_credentials(scorers)
        self._metrics.scorers.labels("running").set(len(scorers))
        self._metrics.scorers.labels("invalid").set(len(snapshot.problems))

    def _ready_page(self) -> Page:
        # Scorers that fail do not make the agent unready: their sources and APIs are elsewhere.
        readiness = self.ready()
        text = msgspec.json.format(msgspec.json.encode(readiness.detail), indent=2) + b"\n"
        return Page(
            status=200 if readiness.is_ready else 503, content_type="application/json", parts=[text]
        )

    def ready(self) -> Readiness:
        """Whether a configuration was read, with its state and that of each scorer."""
        snapshot = self._snapshot
        states = self._scheduler.states()
        scorers = []
        problems = []
        if snapshot is not None:
            for scorer in snapshot.scorers:
                # A scorer that is about to start has no worker yet.
                state = states.get(scorer.name, WorkerState())
                scorers.append(_scorer(scorer.name, scorer.score_name, state))
            problems = [_problem(problem) for problem in snapshot.problems]
        detail: dict[str, Any] = {"cluster": self._adapters.settings.cluster}
        if self._adapters.settings.clusters_file is not None:
            detail["clusters"] = len(self._adapters.fleet.names)
        detail["configuration"] = {
            "seen": snapshot is not None,
            "digest": snapshot.digest if snapshot is not None else None,
            "trouble": asdict(self._unusable) if self._unusable is not None else None,
            "problems": problems,
        }
        detail["scorers"] = scorers
        hub = self._adapters.hub
        detail["hubClockOffsetSeconds"] = hub.clock.offset if hub is not None else None
        return Readiness(snapshot is not None, detail)


def _problem(problem: Problem) -> dict[str, Any]:
    """The JSON of an entry that cannot run."""
    return {"index": problem.index, "name": problem.name, "reason": problem.reason}


def _scorer(name: str, score_name: str, state: WorkerState) -> dict[str, Any]:
    """The JSON of one scorer."""
    if state.failures:
        word = "failing"
    elif state.last_success is not None:
        word = "running"
    else:
        word = "starting"
    fault = state.publish_fault
    publish = None
    if fault is not None:
        publish = {"reason": fault.reason.value, "message": str(fault)}
    return {
        "name": name,
        "scoreName": score_name,
        "state": word,
        "failures": state.failures,
        "reason": state.reason.value if state.reason is not None else None,
        "message": state.message,
        "circuit": "open" if state.circuit_open else "closed",
        "nextAttempt": state.next_attempt,
        "lastSuccess": state.last_success,
        "publish": publish,
    }


async def serve(adapters: Adapters) -> int:
    """Runs an agent until SIGTERM or SIGINT."""
    agent = Supervisor(adapters=adapters)
    tune()
    loop = asyncio.get_running_loop()
    # Kubernetes sends SIGTERM, and kills what still runs after terminationGracePeriodSeconds.
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, agent.stop)
    return await agent.run()


def tune() -> None:
    """Makes garbage collection block the event loop rarely.

    By default a full collection could block a cycle for 20 ms. Objects of the start-up are
    excluded, and those of a cycle are freed by reference counts.
    """
    # Collected first, so that no garbage of the start-up is kept for ever.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)


async def collect_periodically(*, pause_seconds: float = PAUSE_SECONDS) -> None:
    """Collects every few seconds what failures leave.

    These are cycles of an exception, its frames, and answers in them. With 13 failing scorers every
    0.1 s memory grew to 51 MB in 150 s, without this task to 72 MB.
    """
    while True:
        await asyncio.sleep(pause_seconds)
        gc.collect()
