"""Runs one worker per scorer. A changed entry restarts only its own worker."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from dsf_agent.errors import Reason
from dsf_agent.metrics.registry import Metrics
from dsf_agent.schedule.worker import Worker, WorkerState
from dsf_wire.spread import stable_fraction
from dsf_wire.summary import Summary

log = logging.getLogger(__name__)

EDIT_SPLAY_SECONDS: Final = 0.5
"""Longest delay of the first cycle after an edit. The kubelets already spread an edit over a minute."""
STOP_SECONDS: Final = 1.0
"""How long a restart waits for the old worker. Cancelled calls normally end at once."""
RESTART_SECONDS: Final = 30.0
"""Pause before a worker is created again after a bug in the agent ended it."""


@dataclass(kw_only=True)
class _Running:
    scorer: Summary
    task: asyncio.Task[None]
    worker: Worker | None = None
    """None until the task created it."""


class Scheduler:
    """Owns the workers. Calls of ``apply`` must not overlap."""

    def __init__(
        self, *, make: Callable[[Summary], Worker], metrics: Metrics, cluster: str, splay: float
    ) -> None:
        self._make = make
        self._metrics = metrics
        self._cluster = cluster
        self._splay = splay
        self._running: dict[str, _Running] = {}
        self._started_once = False

    def states(self) -> dict[str, WorkerState]:
        """The states of running workers, by scorer name."""
        return {
            name: running.worker.state
            for name, running in self._running.items()
            if running.worker is not None
        }

    async def apply(self, wanted: Iterable[Summary]) -> None:
        """Stops the workers of entries that were removed or changed, and starts those of new or changed ones,
        so that exactly the wanted entries run.
        """
        entries = {scorer.name: scorer for scorer in wanted}
        stopped = [running for name, running in self._running.items() if entries.get(name) != running.scorer]
        for running in stopped:
            del self._running[running.scorer.name]
            running.task.cancel()
        if stopped:
            await asyncio.wait([running.task for running in stopped], timeout=STOP_SECONDS)
        before = {running.scorer.name for running in stopped}
        for name in before:
            log.info(
                "restarting: its entry changed" if name in entries else "stopped", extra={"scorer": name}
            )
        longest = min(EDIT_SPLAY_SECONDS, self._splay) if self._started_once else self._splay
        for name in [name for name in entries if name not in self._running]:
            self._start(entries[name], longest=longest)
            self._started_once = True
            if name not in before:
                log.info("started", extra={"scorer": name})
        live = {running.scorer.score_name for running in self._running.values()}
        for running in stopped:
            if running.scorer.score_name not in live:
                self._metrics.forget(running.scorer.score_name)

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
        self._metrics.of(scorer.score_name).names_source(scorer.source_ref)
        splay = stable_fraction(self._cluster, scorer.score_name, "splay") * min(
            longest, scorer.scoring_interval
        )
        task = asyncio.create_task(self._guard(scorer, splay=splay), name=f"worker {scorer.name}")
        self._running[scorer.name] = _Running(scorer=scorer, task=task)

    async def _guard(self, scorer: Summary, *, splay: float) -> None:
        """Runs a worker. If a bug ends it, or prevents its creation, this is logged and counted, and a new
        worker is created after a pause. Other scorers are not affected.
        """
        running = self._running[scorer.name]
        while True:
            try:
                running.worker = self._make(scorer)
                await running.worker.run(splay=splay)
            except Exception:
                self._metrics.of(scorer.score_name).cycle_failed("score", Reason.INTERNAL)
                log.exception(
                    "the worker failed because of a bug in the agent, a new one starts in %.0f s",
                    RESTART_SECONDS,
                    extra={"scorer": scorer.name, "reason": Reason.INTERNAL.value},
                )
                await asyncio.sleep(RESTART_SECONDS)
            else:
                return
