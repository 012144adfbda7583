"""A worker per scorer: cycles on the scorer's grid, the first one at once, with back-off after failures."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from dsf_agent.errors import AgentError, Reason
from dsf_agent.kubernetes.cluster import Trigger
from dsf_agent.metrics import Metrics, ScorerMetrics
from dsf_agent.publish.publication import Publication
from dsf_agent.schedule.cycle import CycleResult
from dsf_agent.scoring.results import counts_text
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import monotonic
from dsf_wire.publishrule import stable_fraction
from dsf_wire.summary import Summary

log = logging.getLogger(__name__)

FIRST_RETRY_SECONDS: Final = 5.0
LONGEST_RETRY_SECONDS: Final = 300.0
"""Or the scorer's interval, if that is longer."""
EDIT_SPLAY_SECONDS: Final = 0.5
"""Longest delay of the first cycle after an edit. The kubelets already spread an edit over a minute."""
STOP_SECONDS: Final = 1.0
"""How long a restart waits for the old worker. Cancelled calls normally end at once."""
RESTART_SECONDS: Final = 30.0
"""Pause before a worker is created again after a bug in the agent ended it."""


@dataclass(kw_only=True)
class WorkerState:
    """The state of a worker, for /readyz. Times are Unix seconds."""

    failures: int = 0
    reason: Reason | None = None
    message: str = ""
    last_success: float | None = None
    publish_fault: AgentError | None = None
    """Why the last write of the scores failed; None if it succeeded."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Grid points at ``phase + k * interval`` seconds of a monotonic clock. The first run does not wait for
    the grid. Later runs do, so a thousand clusters with an edit in the same second spread over the interval.
    """

    interval: float
    phase: float

    def next(self, *, after: float, least: float = 0.0) -> float:
        """The first grid point more than ``least`` seconds after ``after``. Missed ones are skipped."""
        steps = math.floor((after + least - self.phase) / self.interval) + 1
        return self.phase + steps * self.interval


@dataclass(kw_only=True, eq=False, repr=False)
class Worker:
    """Decides when the cycles of one scorer run. ``run`` ends when it is cancelled, or after ``drain``."""

    scorer: Summary
    cycle: Callable[[], Awaitable[CycleResult]]
    publication: Publication | None
    grid: Grid
    metrics: ScorerMetrics
    wall: Callable[[], float]
    trigger: Trigger | None = None
    """Starts cycles between those of the grid; None for sources that only answer when they are asked."""
    _draining: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _state: WorkerState = field(init=False, default_factory=WorkerState)
    _by_default: bool = field(init=False, default=False)

    @property
    def state(self) -> WorkerState:
        fault = self.publication.fault if self.publication is not None else None
        return replace(self._state, publish_fault=fault)

    def drain(self) -> None:
        """Lets a running cycle and write finish and starts no new ones."""
        self._draining.set()

    async def run(self, *, splay: float) -> None:
        """``splay`` is the delay of the first cycle in seconds."""
        try:
            await self._loop(monotonic() + splay)
            if self.publication is not None:
                await self.publication.wait_until_handled()
        finally:
            self.metrics.all.samples.pop(self.metrics.name, None)
            if self.publication is not None:
                self.publication.keep_only(frozenset())

    async def _loop(self, due: float) -> None:
        while True:
            await self._until(due)
            if self._draining.is_set():
                return
            started = monotonic()
            self.metrics.all.lateness.observe(max(0.0, started - due))
            if self.trigger is not None:
                self.trigger.started()
            retry = await self._once()
            now = monotonic()
            if retry is None:
                # Skip a grid point that is less than half an interval away, as may happen after the first
                # run.
                due = self.grid.next(
                    after=now, least=max(0.0, self.grid.interval / 2 - (now - started))
                )
            else:
                due = now + retry

    async def _until(self, due: float) -> None:
        """Returns at this time, or earlier when the trigger starts a cycle or the worker drains."""
        while (wait := due - monotonic()) > 0 and not self._draining.is_set():
            timer = asyncio.ensure_future(asyncio.sleep(wait))
            drained = asyncio.ensure_future(self._draining.wait())
            tasks = [timer, drained]
            # A change starts no cycle after a failure, nor before the first one.
            if (
                self.trigger is not None
                and self._state.last_success is not None
                and not self._state.failures
            ):
                tasks.append(asyncio.ensure_future(self.trigger.wait()))
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                if any(task.done() for task in tasks[2:]):
                    return
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _once(self) -> float | None:
        """Runs one cycle. Returns None after success, else the seconds to wait."""
        try:
            result = await self.cycle()
        except AgentError as error:
            return self._failed(error)
        except Exception as error:
            extra = {"scorer": self.scorer.name, "reason": Reason.INTERNAL.value}
            log.exception("a cycle failed because of a bug in the agent", extra=extra)
            return self._failed(
                AgentError(f"{type(error).__name__}: {error}", reason=Reason.INTERNAL)
            )
        self._succeeded(result)
        return None

    def _succeeded(self, result: CycleResult) -> None:
        extra = {"scorer": self.scorer.name}
        if self._state.failures:
            log.info("works again after %d failures", self._state.failures, extra=extra)
        if result.by_default != self._by_default:
            self._by_default = result.by_default
            now = (
                "no series: the default score is published" if result.by_default else "series again"
            )
            log.info("the source has %s", now, extra=extra)
        self._state = WorkerState(last_success=self.wall())
        log.debug("%d series, %d results", result.series, result.results, extra=extra)
        if result.dropped:
            first = f"; the first: {result.first_fault}" if result.first_fault else ""
            log.warning("dropped results: %s%s", counts_text(result.dropped), first, extra=extra)
        for warning in result.warnings:
            log.warning("the source warns: %s", warning, extra=extra)

    def _failed(self, error: AgentError) -> float:
        self.metrics.cycle_failed(error.stage, error.reason)
        if self.publication is not None:
            self.publication.withdraw()
        failures = self._state.failures + 1
        self._state = WorkerState(
            failures=failures,
            reason=error.reason,
            message=str(error),
            last_success=self._state.last_success,
        )
        backoff = Backoff(
            first=min(FIRST_RETRY_SECONDS, self.grid.interval),
            ceiling=max(LONGEST_RETRY_SECONDS, self.grid.interval),
        )
        delay = max(backoff.delay(failures), error.retry_after or 0.0)
        if error.reason is Reason.NO_RESULTS:
            # The peers are healthy and need no long back-off. Once the source has data, scores follow within
            # one interval.
            delay = min(delay, self.grid.interval)
        extra = {"scorer": self.scorer.name, "reason": error.reason.value, "stage": error.stage}
        text = "%s failed (%d in a row), next attempt in %.0f s: %s"
        log.warning(text, error.stage, failures, delay, error, extra=extra)
        return delay


@dataclass(kw_only=True)
class _Running:
    scorer: Summary
    task: asyncio.Task[None]
    worker: Worker | None = None
    """None until the task created it."""


@dataclass(kw_only=True, eq=False, repr=False)
class Scheduler:
    """Owns the workers. Calls of ``apply`` must not overlap."""

    make: Callable[[Summary], Worker]
    metrics: Metrics
    cluster: str
    splay: float
    _running: dict[str, _Running] = field(init=False, default_factory=dict)
    _started_once: bool = field(init=False, default=False)

    def states(self) -> dict[str, WorkerState]:
        """The states of running workers, by scorer name."""
        return {
            name: one.worker.state for name, one in self._running.items() if one.worker is not None
        }

    async def apply(self, wanted: Iterable[Summary]) -> None:
        """Stops the workers of entries that went or changed, and starts those of new or changed ones."""
        entries = {scorer.name: scorer for scorer in wanted}
        stopped = [
            running
            for name, running in self._running.items()
            if entries.get(name) != running.scorer
        ]
        for running in stopped:
            del self._running[running.scorer.name]
            running.task.cancel()
        if stopped:
            await asyncio.wait([running.task for running in stopped], timeout=STOP_SECONDS)
        before = {running.scorer.name for running in stopped}
        for name in before:
            log.info(
                "restarting: its entry changed" if name in entries else "stopped",
                extra={"scorer": name},
            )
        longest = min(EDIT_SPLAY_SECONDS, self.splay) if self._started_once else self.splay
        for name in [name for name in entries if name not in self._running]:
            self._start(entries[name], longest=longest)
            self._started_once = True
            if name not in before:
                log.info("started", extra={"scorer": name})
        live = {running.scorer.score_name for running in self._running.values()}
        for running in stopped:
            if running.scorer.score_name not in live:
                self.metrics.forget(running.scorer.score_name)

    async def stop(self, *, grace: float) -> None:
        """Lets running work finish for ``grace`` seconds, then cancels it."""
        tasks = [running.task for running in self._running.values()]
        if not tasks:
            return
        for running in self._running.values():
            if running.worker is None:
                running.task.cancel()
            else:
                running.worker.drain()
        _, late = await asyncio.wait(tasks, timeout=grace)
        for task in late:
            task.cancel()
        if late:
            log.info("cancelled %d workers that were still busy after %.1f s", len(late), grace)
            await asyncio.wait(late, timeout=STOP_SECONDS)
        self._running.clear()

    def _start(self, scorer: Summary, *, longest: float) -> None:
        self.metrics.of(scorer.score_name).names_source(scorer.source_ref)
        longest = min(longest, scorer.scoring_interval)
        splay = stable_fraction(self.cluster, scorer.score_name, "splay") * longest
        task = asyncio.create_task(self._guard(scorer, splay=splay), name=f"worker {scorer.name}")
        self._running[scorer.name] = _Running(scorer=scorer, task=task)

    async def _guard(self, scorer: Summary, *, splay: float) -> None:
        """Runs a worker. If a bug ends it, or prevents its creation, a new one is created after a pause."""
        running = self._running[scorer.name]
        while True:
            try:
                running.worker = self.make(scorer)
                await running.worker.run(splay=splay)
            except Exception:
                self.metrics.of(scorer.score_name).cycle_failed("score", Reason.INTERNAL)
                extra = {"scorer": scorer.name, "reason": Reason.INTERNAL.value}
                text = "the worker failed because of a bug in the agent, a new one starts in %.0f s"
                log.exception(text, RESTART_SECONDS, extra=extra)
                await asyncio.sleep(RESTART_SECONDS)
            else:
                return
