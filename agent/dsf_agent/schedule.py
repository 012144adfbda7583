"""schedule: one task per scorer. A changed entry restarts its own worker and touches no other."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from dsf_agent.cadence import fraction
from dsf_agent.metrics.registry import Metrics
from dsf_agent.reasons import Reason
from dsf_agent.worker import Worker, WorkerState
from dsf_wire.summary import Summary

log = logging.getLogger(__name__)

EDIT_SPLAY_SECONDS: Final = 0.5
"""Longest delay of the first run of an edited scorer; the kubelets of a fleet spread an edit over a minute by
themselves.
"""
STOP_SECONDS: Final = 1.0
"""How long a restart waits for the old worker; cancelled calls end at once unless the event loop is in
trouble.
"""
REVIVE_SECONDS: Final = 30.0
"""Pause before a worker that died of a fault of the agent itself is made anew."""


class WorkerMaker(Protocol):
    """Builds the worker of one scorer."""

    def __call__(self, scorer: Summary) -> Worker: ...


@dataclass(frozen=True, kw_only=True)
class Delta:
    """Names to stop (gone or changed) and entries to start (new or changed), both in order."""

    stop: tuple[str, ...]
    start: tuple[Summary, ...]


def diff(running: Mapping[str, Summary], wanted: Iterable[Summary]) -> Delta:
    """What must happen so that exactly the wanted entries run. Pure."""
    entries = {scorer.name: scorer for scorer in wanted}
    return Delta(
        stop=tuple(name for name, scorer in running.items() if entries.get(name) != scorer),
        start=tuple(scorer for name, scorer in entries.items() if running.get(name) != scorer),
    )


@dataclass(kw_only=True)
class _Running:
    scorer: Summary
    task: asyncio.Task[None]
    worker: Worker | None = None
    """None until the task made it."""


class Scheduler:
    """Owns the workers. ``apply`` is the only way in; calls of it must not overlap."""

    def __init__(self, *, make: WorkerMaker, metrics: Metrics, cluster: str, splay: float) -> None:
        self._make = make
        self._metrics = metrics
        self._cluster = cluster
        self._splay = splay
        self._running: dict[str, _Running] = {}
        self._started_once = False

    def states(self) -> dict[str, WorkerState]:
        """State by scorer name, of those that run."""
        return {
            name: running.worker.state
            for name, running in self._running.items()
            if running.worker is not None
        }

    async def apply(self, wanted: Iterable[Summary]) -> Delta:
        """Stops and starts workers. Returns what was done."""
        delta = diff({name: running.scorer for name, running in self._running.items()}, wanted)
        stopped = [self._running.pop(name) for name in delta.stop]
        for running in stopped:
            running.task.cancel()
        if stopped:
            await asyncio.wait([running.task for running in stopped], timeout=STOP_SECONDS)
        longest = EDIT_SPLAY_SECONDS if self._started_once else self._splay
        for scorer in delta.start:
            self._start(scorer, longest=min(longest, self._splay))
        self._started_once = self._started_once or bool(delta.start)
        live = {running.scorer.score_name for running in self._running.values()}
        for running in stopped:
            if running.scorer.score_name not in live:
                self._metrics.forget(running.scorer.score_name)
        self._log(delta)
        return delta

    async def stop(self, *, grace: float) -> None:
        """Lets what is under way finish for ``grace`` seconds, then cancels it."""
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
        splay = fraction(self._cluster, scorer.score_name, "splay") * min(longest, scorer.scoring_interval)
        task = asyncio.create_task(self._guard(scorer, splay=splay), name=f"worker {scorer.name}")
        self._running[scorer.name] = _Running(scorer=scorer, task=task)

    async def _guard(self, scorer: Summary, *, splay: float) -> None:
        """Keeps a fault of the agent inside one scorer, its making included: logged and counted, and made
        anew after a pause.
        """
        running = self._running[scorer.name]
        while True:
            try:
                running.worker = self._make(scorer)
                await running.worker.run(splay=splay)
            except Exception:
                self._metrics.of(scorer.score_name).cycle_failed("score", Reason.INTERNAL)
                log.exception(
                    "the worker died, a new one starts in %.0f s",
                    REVIVE_SECONDS,
                    extra={"scorer": scorer.name, "reason": Reason.INTERNAL.value},
                )
                await asyncio.sleep(REVIVE_SECONDS)
            else:
                return

    def _log(self, delta: Delta) -> None:
        started = {scorer.name for scorer in delta.start}
        for name in delta.stop:
            log.info(
                "restarting: its entry changed" if name in started else "stopped", extra={"scorer": name}
            )
        for name in sorted(started - set(delta.stop)):
            log.info("started", extra={"scorer": name})
