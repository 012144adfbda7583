"""The scheduler owns the workers: it starts, restarts and stops them as the configuration changes.

An entry that did not change keeps its worker and everything that it knows. If a bug ends a worker,
or prevents its creation, a new one follows after a pause, and the workers of other scorers do not
notice it.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from dsf_agent.metrics import AgentMetrics
from dsf_agent.schedule.worker import Worker, WorkerState
from dsf_wire.publishrule import stable_fraction
from dsf_wire.scored import Reason
from dsf_wire.summary import ScorerSummary

log = logging.getLogger(__name__)

EDIT_SPLAY_SECONDS: Final = 0.5
"""Longest delay of the first cycle after an edit.

The kubelets already spread an edit over a minute.
"""
STOP_SECONDS: Final = 1.0
"""The time for which a restart waits for the old worker. Cancelled calls normally end at once."""
RESTART_SECONDS: Final = 30.0
"""Pause before a worker is created again after a bug in the agent ended it."""


class MakeWorker(Protocol):
    """Makes a worker; ``edited``: for an entry that came or changed while the process ran."""

    def __call__(self, scorer: ScorerSummary, *, edited: bool) -> Worker: ...


@dataclass(kw_only=True)
class _Running:
    scorer: ScorerSummary
    task: asyncio.Task[None]
    worker: Worker | None = None
    """None until the task created it."""


@dataclass(kw_only=True, eq=False, repr=False)
class Scheduler:
    """Owns the workers. Calls of ``apply`` must not overlap."""

    make: "MakeWorker"
    metrics: AgentMetrics
    cluster: str
    splay: float
    """Longest delay of the first cycles after the start, in seconds."""
    _running: dict[str, _Running] = field(init=False, default_factory=dict)
    _started_once: bool = field(init=False, default=False)

    def states(self) -> dict[str, WorkerState]:
        """The states of running workers, by scorer name."""
        states: dict[str, WorkerState] = {}
        for name, running in self._running.items():
            if running.worker is not None:
                states[name] = running.worker.state
        return states

    async def apply(self, scorers: Iterable[ScorerSummary]) -> None:
        """Stops the workers of entries that went or changed, and starts new ones."""
        entries = {scorer.name: scorer for scorer in scorers}
        stopped: list[_Running] = []
        for name, running in self._running.items():
            if entries.get(name) != running.scorer:
                stopped.append(running)
        for running in stopped:
            del self._running[running.scorer.name]
            running.task.cancel()
        # Before new workers start: two of one scorer would write over each other.
        if stopped:
            await asyncio.wait([running.task for running in stopped], timeout=STOP_SECONDS)
        stopped_names = {running.scorer.name for running in stopped}
        for name in stopped_names:
            if name in entries:
                log.info("restarting: its entry changed", extra={"scorer": name})
            else:
                log.info("stopped", extra={"scorer": name})
        # When a new image starts on the whole fleet, nothing else spreads the first calls.
        max_splay = min(EDIT_SPLAY_SECONDS, self.splay) if self._started_once else self.splay
        edited = self._started_once
        for name, scorer in entries.items():
            if name in self._running:
                continue
            self._start(scorer, max_splay=max_splay, edited=edited)
            self._started_once = True
            if name not in stopped_names:
                log.info("started", extra={"scorer": name})
        # Only names that no entry has any more: a renamed entry may keep its score name.
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
                # A cycle and a write that began may end. A worker that is not there yet has none.
                running.worker.drain()
        _, late = await asyncio.wait(tasks, timeout=grace)
        for task in late:
            task.cancel()
        if late:
            log.info("cancelled %d workers that were still busy after %.1f s", len(late), grace)
            await asyncio.wait(late, timeout=STOP_SECONDS)
        self._running.clear()

    def _start(self, scorer: ScorerSummary, *, max_splay: float, edited: bool) -> None:
        self.metrics.of(scorer.score_name).names_source(scorer.source_ref)
        # Otherwise the first scores would come later than those of a scorer that only runs on.
        max_splay = min(max_splay, scorer.scoring_interval)
        splay = stable_fraction(self.cluster, scorer.score_name, "splay") * max_splay
        task = asyncio.create_task(
            self._guard(scorer, splay=splay, edited=edited), name=f"worker {scorer.name}"
        )
        self._running[scorer.name] = _Running(scorer=scorer, task=task)

    async def _guard(self, scorer: ScorerSummary, *, splay: float, edited: bool) -> None:
        """Runs a worker.

        If a bug ends it or prevents its creation, a new one follows after a pause.
        """
        running = self._running[scorer.name]
        while True:
            try:
                running.worker = self.make(scorer, edited=edited)
                await running.worker.run(splay=splay)
            except Exception:
                self.metrics.of(scorer.score_name).cycle_failed("score", Reason.INTERNAL)
                extra = {"scorer": scorer.name, "reason": Reason.INTERNAL.value}
                text = "the worker failed because of a bug in the agent, a new one starts in %.0f s"
                log.exception(text, RESTART_SECONDS, extra=extra)
                # The author of the edit no longer waits for its result, so its conditions are not
                # urgent.
                edited = False
                await asyncio.sleep(RESTART_SECONDS)
            else:
                return
