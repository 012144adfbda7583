"""Duty: health, /config and freshness of every DynamicScorer, in its status."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.freshness.judge import Scored
from gitops_dsf.reconciler.freshness.report import Report, Reporter
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.scorers.health import FAILURES, Health
from gitops_dsf.reconciler.scorers.prober import Prober
from gitops_dsf.reconciler.scorers.status import desired
from gitops_dsf.reconciler.scorers.writer import HubAwayError, StatusWriter
from gitops_dsf.sync.fetch import Fetcher

LOG = logging.getLogger(__name__)
STATUS_SECONDS: Final = 10.0
"""Between two looks at what expired."""
NEW_SCORER_SECONDS: Final = 1.0
"""After a scorer appeared or changed until it is probed: a sync brings many at once."""


class ScorerDuty:
    """Writes DynamicScorer.status, and Events, and nothing else."""

    name = "scorers"

    def __init__(
        self,
        *,
        api: HubApi,
        view: HubView,
        fetcher: Fetcher,
        metrics: Metrics,
        events: Events,
        interval: float,
    ) -> None:
        self._api, self._view, self._interval, self._metrics = api, view, interval, metrics
        self._prober = Prober(fetcher=fetcher, metrics=metrics.scorers)
        self._reporter = Reporter(view=view, events=events, metrics=metrics.freshness)
        self._writer = StatusWriter(
            api=api, events=events, metrics=metrics.scorers, namespace=view.hub_namespace
        )
        self._sources = (view.scorers, view.scores, view.clusters, view.addons, view.masks)
        self._seen: dict[str, tuple[str, int]] = {}
        self._changed: set[str] = set()
        """Scorers that appeared or changed since they were probed."""
        self._probe_now, self._status_now = asyncio.Event(), asyncio.Event()
        view.scorers.listen(self._on_scorer)

    @property
    def ready(self) -> bool:
        """Whether scorers, scores, and what says where they should be were read."""
        return all(source.synced.is_set() for source in self._sources)

    @property
    def health(self) -> Mapping[str, Health]:
        """The verdicts by scorer, now and as they change; each after at least one probe of this process."""
        return self._prober.verdicts

    @property
    def refused(self) -> tuple[str, ...]:
        """Scorers whose status the hub refused, by name, until it is written."""
        return self._writer.refused

    async def run(self) -> None:
        """Works until it is cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for work in (self._probe_loop(), self._status_loop()):
                    group.create_task(work)
        finally:
            # Another replica tells from now on; series that nobody renews would tell what was.
            self._metrics.scorers.forget_all()
            self._metrics.freshness.forget()

    async def once(self) -> int:
        """One complete pass; how many statuses were written. A verdict that needs several probes gets them.
        Raises ApiError.
        """
        for source in (*self._sources, self._view.placements, self._view.decisions):
            await source.refresh()
        for last in range(FAILURES):
            await self._prober.round(dict(self._view.scorers.items))
            if not self._prober.undecided or last == FAILURES - 1:
                break
            await asyncio.sleep(1)
        return await self._pass()

    async def _probe_loop(self) -> None:
        await self._view.scorers.synced.wait()
        while True:
            self._take_changed()
            await self._prober.round(dict(self._view.scorers.items))
            self._status_now.set()
            ends = asyncio.get_running_loop().time() + self._interval
            while await self._changes(ends):
                await self._prober.round(dict(self._view.scorers.items), only=self._take_changed())
                self._status_now.set()

    async def _changes(self, until: float) -> bool:
        """Whether scorers appeared, changed or went before this moment of the loop's time."""
        try:
            async with asyncio.timeout_at(until):
                await self._probe_now.wait()
                await asyncio.sleep(NEW_SCORER_SECONDS)
        except TimeoutError:
            return False
        return True

    def _take_changed(self) -> frozenset[str]:
        found = frozenset(self._changed)
        self._changed.clear()
        self._probe_now.clear()
        return found

    async def _status_loop(self) -> None:
        for source in self._sources:
            await source.synced.wait()
        while True:
            self._status_now.clear()
            try:
                await self._pass()
            except HubAwayError as error:
                LOG.warning("the rest of this pass is left for the next: %s", error)
            try:
                async with asyncio.timeout(STATUS_SECONDS):
                    await self._status_now.wait()
            except TimeoutError:
                continue

    async def _pass(self) -> int:
        """Judges everything and writes what differs; how many statuses. Raises HubAwayError."""
        now = self._api.now()
        self._metrics.clock_offset.set(self._api.clock.offset or 0.0)
        report = await self._reporter.look(now=now)
        await self._reporter.announce(report)
        self._writer.keep(self._view.scorers.items)
        written = 0
        for name, item in list(self._view.scorers.items.items()):
            scored, health = report.scored.get(name), self._prober.verdicts.get(name)
            if scored is not None and health is not None:
                latest = self._writer.latest(item)
                status = desired(
                    latest,
                    health=health,
                    config=self._prober.config(name),
                    scored=_hurting(scored, item, report),
                    now=now,
                )
                written += await self._writer.write(item, status)
            await asyncio.sleep(0)
        return written

    def _on_scorer(self, key: str, item: DynamicScorer | None) -> None:
        identity = None if item is None else (item.metadata.uid, item.metadata.generation)
        if self._seen.get(key) == identity:
            return  # our own status
        if identity is None:
            del self._seen[key]
            self._changed.discard(key)
        else:
            self._seen[key] = identity
            self._changed.add(key)
        self._probe_now.set()


def _hurting(scored: Scored, item: DynamicScorer, report: Report) -> Scored:
    words = report.hurt(item.resource)
    return replace(scored, message=f"{scored.message}. {words}") if words else scored
