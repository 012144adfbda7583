"""The control loops of scorers: one probes scoring APIs, one writes the status of every DynamicScorer."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gitops_dsf.hub.metadata import NOT_SAID, Condition
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.journal.flapping import SETTLED, FlappingReporter
from gitops_dsf.reconciler.scorers.probes import Prober
from gitops_dsf.reconciler.scorers.status import FreshnessReporter, StatusWriter, desired_status
from gitops_dsf.reconciler.shared import INTERVAL_SECONDS, Shared, keep_looking
from gitops_dsf.sync.fetch import Fetcher

LOG = logging.getLogger(__name__)
DEBOUNCE_SECONDS: Final = 1.0
"""From the first change of a scorer to the probe of all changed ones: a sync brings many."""


class ScorerController:
    """Writes DynamicScorer.status, and Events, and nothing else."""

    def __init__(
        self,
        shared: Shared,
        *,
        fetcher: Fetcher,
        interval: float,
        allowed: Sequence[str] = (),
        flapping: FlappingReporter | None = None,
    ) -> None:
        """`allowed` is spec.allowedTokenHosts. `flapping` is None without a journal."""
        self._api, self._scanner, self._metrics = shared.api, shared.scanner, shared.metrics
        self._view = view = shared.view
        self._interval, self._flapping = interval, flapping
        self.prober = Prober(fetcher=fetcher, metrics=shared.metrics, allowed=allowed)
        self._reporter, self._writer = FreshnessReporter(shared), StatusWriter(shared)
        self._sources = (view.scorers, view.scores, view.clusters, view.addons, view.masks)
        self._changed: set[str] = set()
        """Scorers that appeared or changed since they were probed."""
        self._probe_now, self._status_now = asyncio.Event(), asyncio.Event()
        view.scorers.compare(self._on_scorer)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for work in (self._probe_loop(), self._status_loop()):
                group.create_task(work)

    async def _probe_loop(self) -> None:
        await self._view.scorers.synced.wait()
        while True:
            self._take_changed()
            await self.prober.round(dict(self._view.scorers.items))
            self._status_now.set()
            ends = asyncio.get_running_loop().time() + self._interval
            while await self._changes(ends):
                await self.prober.round(dict(self._view.scorers.items), only=self._take_changed())
                self._status_now.set()

    async def _changes(self, until: float) -> bool:
        """Waits until a scorer appears, changes or is deleted. False when none did until this loop time."""
        try:
            async with asyncio.timeout_at(until):
                await self._probe_now.wait()
                await asyncio.sleep(DEBOUNCE_SECONDS)
        except TimeoutError:
            return False
        return True

    def _take_changed(self) -> frozenset[str]:
        found = frozenset(self._changed)
        self._changed.clear()
        self._probe_now.clear()
        return found

    async def _status_loop(self) -> None:
        await self._view.synced(*self._sources)
        failing = "statuses that are not written yet wait for the next pass"
        await keep_looking(self.write, wake=self._status_now, failing=failing)

    async def write(self) -> float:
        """Writes statuses that differ. Returns the seconds until the next pass. Raises ApiError."""
        now = self._api.now()
        self._metrics.clock_offset.set(self._api.clock.offset or 0.0)
        scan = await self._scanner.scan()
        await self._reporter.report(scan)
        self._writer.keep_only(self._view.scorers.items)
        for name, item in list(self._view.scorers.items.items()):
            assessment, health = scan.assessments.get(name), self.prober.health.get(name)
            if assessment is not None and (health is not None or item.scored_by_query):
                words = scan.affected_placements(item.resource)
                status = desired_status(
                    item,
                    health=health,
                    config=self.prober.config(name),
                    scores=replace(assessment, message=f"{assessment.message}{'. ' if words else ''}{words}"),
                    now=now,
                    settled=self._settled(item),
                )
                await self._writer.write(item, status)
            await asyncio.sleep(0)
        return INTERVAL_SECONDS

    def _settled(self, item: DynamicScorer) -> Condition:
        """Until the journal is read, what the leader before wrote stays."""
        if self._flapping is None:
            return NOT_SAID
        return self._flapping.settled(item.resource) or item.condition(SETTLED)

    def _on_scorer(self, key: str, before: DynamicScorer | None, item: DynamicScorer | None) -> None:
        seen, now = (
            None if each is None else (each.metadata.uid, each.metadata.generation) for each in (before, item)
        )
        if seen != now:  # not only the status
            self._changed.add(key)
            self._probe_now.set()
