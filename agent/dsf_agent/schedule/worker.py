"""A worker, which decides when the cycles of one scorer run.

The first cycle runs at once, later ones on the scorer's grid. After failures the `CircuitBreaker`
says how long to wait. For the Kubernetes source a change in the cluster starts a cycle between
those of the grid.

Guaranteed: a failure never ends a worker: it becomes its `WorkerState`, a metric and a line of the
log. Cycles of one worker never overlap, so none is started while the one before is late.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from dsf_agent.errors import AgentError
from dsf_agent.kubernetes.trigger import Trigger
from dsf_agent.metrics import ScorerMetrics
from dsf_agent.publish.publication import ScoreFault, ScorePublication
from dsf_agent.schedule.breaker import CircuitBreaker
from dsf_agent.schedule.cycle import CycleResult
from dsf_agent.scoring.results import counts_text
from dsf_runtime.clock import monotonic
from dsf_wire.scored import Reason
from dsf_wire.summary import ScorerSummary

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class WorkerState:
    """The state of a worker, for /readyz. Times are Unix seconds."""

    failures: int = 0
    """Failures in a row, answers without results included."""
    reason: Reason | None = None
    message: str = ""
    circuit_open: bool = False
    next_attempt: float | None = None
    """The time when a failed cycle is tried again; None after a success."""
    last_success: float | None = None
    publish_fault: AgentError | None = None
    """The reason why the last write of the scores failed; None if it succeeded."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Grid points at ``phase + k * interval`` seconds of a monotonic clock.

    The first run does not wait for the grid. Later runs do, so that a thousand clusters whose
    configuration changed in the same second spread their calls over the interval.
    """

    interval: float
    phase: float

    def next(self, *, after: float, min_wait: float = 0.0) -> float:
        """The first grid point more than ``min_wait`` seconds after ``after``.

        Missed ones are skipped.
        """
        steps = math.floor((after + min_wait - self.phase) / self.interval) + 1
        return self.phase + steps * self.interval


@dataclass(kw_only=True, eq=False, repr=False)
class Worker:
    """Decides when the cycles of one scorer run.

    ``run`` ends when it is cancelled, or after ``drain``.
    """

    scorer: ScorerSummary
    cycle: Callable[[], Awaitable[CycleResult]]
    publication: ScorePublication | None
    grid: Grid
    metrics: ScorerMetrics
    wall: Callable[[], float]
    trigger: Trigger | None = None
    """Starts cycles between those of the grid.

    None for sources that only answer when they are asked.
    """
    _draining: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _state: WorkerState = field(init=False, default_factory=WorkerState)
    _breaker: CircuitBreaker = field(init=False)
    _by_default: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._breaker = CircuitBreaker(interval=self.grid.interval)
        self.metrics.circuit_is_open(False)

    @property
    def state(self) -> WorkerState:
        """The state of the last cycle, and of the last write of its scores."""
        fault = self.publication.fault if self.publication is not None else None
        return replace(self._state, publish_fault=fault)

    def drain(self) -> None:
        """Lets a running cycle and write finish and starts no new ones."""
        self._draining.set()

    async def run(self, *, splay: float) -> None:
        """Runs cycles. ``splay`` is the delay of the first one in seconds."""
        try:
            await self._loop(monotonic() + splay)
            if self.publication is not None:
                # At a shutdown the scores of the last cycle are written before the process ends.
                await self.publication.wait_until_handled()
        finally:
            # Dashboards must not show the scores of a scorer that no longer runs as live.
            self.metrics.all.samples.pop(self.metrics.name, None)
            if self.publication is not None:
                # Their objects stay: after an edit the next worker goes on with them.
                self.publication.keep_only(frozenset())

    async def _loop(self, due: float) -> None:
        while True:
            await self._wait_until(due)
            if self._draining.is_set():
                return
            started = monotonic()
            self.metrics.all.lateness.observe(max(0.0, started - due))
            if self.trigger is not None:
                self.trigger.started()
            pause = await self._run_cycle()
            now = monotonic()
            if pause is not None:
                due = now + pause
                continue
            # The first run is not on the grid. Without this, the grid point right after it would
            # start a second one.
            half = self.grid.interval / 2 - (now - started)
            due = self.grid.next(after=now, min_wait=max(0.0, half))

    async def _wait_until(self, due: float) -> None:
        """Returns at this time, or earlier when the trigger starts a cycle or the worker drains."""
        while (wait := due - monotonic()) > 0 and not self._draining.is_set():
            timer = asyncio.ensure_future(asyncio.sleep(wait))
            drained = asyncio.ensure_future(self._draining.wait())
            waiting = [timer, drained]
            triggered: asyncio.Future[None] | None = None
            # No change starts a cycle before the first one, or after a failure: a cluster with many
            # changes would call a peer that is down with each of them.
            healthy = self._state.last_success is not None and not self._state.failures
            if self.trigger is not None and healthy:
                triggered = asyncio.ensure_future(self.trigger.wait())
                waiting.append(triggered)
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if triggered is not None and triggered.done():
                    return
            finally:
                for task in waiting:
                    task.cancel()
                await asyncio.gather(*waiting, return_exceptions=True)

    async def _run_cycle(self) -> float | None:
        """Runs one cycle. Returns None after success, else the seconds to wait."""
        try:
            result = await self.cycle()
        except AgentError as error:
            return self._failed(error)
        except Exception as error:
            extra = {"scorer": self.scorer.name, "reason": Reason.INTERNAL.value}
            log.exception("a cycle failed because of a bug in the agent", extra=extra)
            message = f"{type(error).__name__}: {error}"
            return self._failed(AgentError(message, reason=Reason.INTERNAL))
        self._succeeded(result)
        return None

    def _succeeded(self, result: CycleResult) -> None:
        extra = {"scorer": self.scorer.name}
        if self._state.failures:
            log.info("works again after %d failures", self._state.failures, extra=extra)
        self._breaker.succeeded()
        self.metrics.circuit_is_open(False)
        if result.by_default != self._by_default:
            self._by_default = result.by_default
            if result.by_default:
                log.info("the source has no series: the default score is published", extra=extra)
            else:
                log.info("the source has series again", extra=extra)
        self._state = WorkerState(last_success=self.wall())
        log.debug("%d series, %d results", result.series, result.results, extra=extra)
        if result.dropped:
            counts = counts_text(result.dropped)
            if result.first_fault:
                text = "dropped results: %s; the first: %s"
                log.warning(text, counts, result.first_fault, extra=extra)
            else:
                log.warning("dropped results: %s", counts, extra=extra)
        for warning in result.warnings:
            log.warning("the source warns: %s", warning, extra=extra)

    def _failed(self, error: AgentError) -> float:
        """Notes a failure. Returns the seconds until the next attempt."""
        self.metrics.cycle_failed(error.stage, error.reason)
        if self.publication is not None:
            self.publication.pause(ScoreFault.of(error))
        was_open = self._breaker.is_open
        if error.reason is Reason.NO_RESULTS:
            pause = self._breaker.answered_without_results()
        else:
            pause = self._breaker.failed(retry_after=error.retry_after)
        is_open = self._breaker.is_open
        self.metrics.circuit_is_open(is_open)
        if is_open and not was_open:
            self.metrics.circuit_opened()
        message = str(error)
        if is_open:
            message = (
                f"{error} (the circuit is open after {self._breaker.failures} failures in a row)"
            )
        failures = self._state.failures + 1
        self._state = WorkerState(
            failures=failures,
            reason=error.reason,
            message=message,
            circuit_open=is_open,
            next_attempt=self.wall() + pause,
            last_success=self._state.last_success,
        )
        extra = {"scorer": self.scorer.name, "reason": error.reason.value, "stage": error.stage}
        text = "%s failed (%d in a row), next attempt in %.0f s: %s"
        log.warning(text, error.stage, failures, pause, message, extra=extra)
        return pause
