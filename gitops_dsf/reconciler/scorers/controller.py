"""Probes scoring APIs, and writes the status of every DynamicScorer.

It also records an Event for each changed condition, and shows freshness as metrics and Events.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dsf_runtime.clock import monotonic
from gitops_dsf.hub.metadata import NO_CONDITION, ObjectCondition
from gitops_dsf.hub.scorers import DynamicScorer, ScorerSpec
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.journal.flapping import SETTLED_CONDITION, FlappingReporter
from gitops_dsf.reconciler.loop import INTERVAL_SECONDS, run_controller
from gitops_dsf.reconciler.scan import Scan
from gitops_dsf.reconciler.scorers.freshnessreport import FreshnessReporter
from gitops_dsf.reconciler.scorers.probes import Prober
from gitops_dsf.reconciler.scorers.status import StatusWriter, desired_status, scored_before
from gitops_dsf.reconciler.scorers.statusconfigmap import StatusConfigMap
from gitops_dsf.sync.fetch import Fetcher

DEBOUNCE_SECONDS: Final = 1.0
"""The time from the first change of a scorer to the probe of all changed ones: a sync brings many.
"""

LOG = logging.getLogger(__name__)


class ScorerController:
    """Writes DynamicScorer.status or a ConfigMap of statuses, and Events, and nothing else."""

    def __init__(
        self,
        context: ControllerContext,
        *,
        fetcher: Fetcher,
        interval: float,
        allowed: Sequence[str] = (),
        flapping: FlappingReporter | None = None,
    ) -> None:
        """`allowed` is spec.allowedTokenHosts. `flapping` is None without a journal."""
        self._context = context
        self._api = context.api
        self._view = context.view
        self._interval = interval
        self._flapping = flapping
        self.prober = Prober(fetcher=fetcher, metrics=context.metrics, allowed=allowed)
        self._reporter = FreshnessReporter(context)
        self._writer = StatusWriter(context)
        self._kept_apart: StatusConfigMap | None = None
        if not context.delivery.renders_crds:
            self._kept_apart = StatusConfigMap(context)
        self._next_round = 0.0
        """The time at which all scorers are probed again, by the loop's clock."""
        self._changed: set[str] = set()
        """Scorers that appeared or changed since they were probed."""
        self._outdated = ""
        """The reason why the last pass did not know what is scored; empty if it knew."""
        self._probe_now = asyncio.Event()
        self._status_now = asyncio.Event()
        context.view.scorers.compare(self._on_scorer)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            # Two loops: a round of probes takes at least one time limit while an API hangs, and
            # what is known of the scores shall not wait for it.
            for work in (self._probe_loop(), self._status_loop()):
                group.create_task(work)

    async def _probe_loop(self) -> None:
        await run_controller(
            self._probe,
            name="probes",
            context=self._context,
            failing="scoring APIs are not probed now",
            reads=(self._view.scorers,),
            wake=self._probe_now,
        )

    async def _status_loop(self) -> None:
        view = self._view
        await run_controller(
            self.write_statuses,
            name="scorers",
            context=self._context,
            failing="statuses that are not written yet wait for the next pass",
            reads=(view.scores, view.clusters, view.addons, view.masks),
            requires=(view.scorers,),
            wake=self._status_now,
        )

    async def _probe(self) -> float:
        """Probes all scorers when it is time, and else those that changed."""
        if monotonic() >= self._next_round:
            self._changed.clear()
            await self.prober.round(dict(self._view.scorers.items))
            self._next_round = monotonic() + self._interval
            self._status_now.set()
        elif self._changed:
            # A sync brings many changes. They are probed together, a moment after the first one.
            await asyncio.sleep(DEBOUNCE_SECONDS)
            changed = frozenset(self._changed)
            self._changed.clear()
            await self.prober.round(dict(self._view.scorers.items), only=changed)
            self._status_now.set()
        return self._next_round - monotonic()

    async def write_statuses(self) -> float:
        """Writes statuses that differ. Returns the seconds until the next pass. Raises ApiError.

        What informers say that are known to be outdated is neither written nor reported: in them
        every score expires.
        """
        view = self._view
        if self._kept_apart is not None:
            await self._kept_apart.read()
        outdated = view.stale_reason((view.scores, view.clusters, view.addons))
        if outdated and outdated != self._outdated:
            LOG.warning("the condition Scored of all scorers stays as it is: %s", outdated)
        self._outdated = outdated
        now = self._api.now()
        self._context.metrics.clock_offset.set(self._api.clock.offset or 0.0)
        scan = await self._context.scanner.scan()
        if not outdated:
            self._reporter.report(scan)
        self._writer.keep_only(view.scorers.items)
        # A copy: scorers come and go while this waits for the hub.
        for scorer in list(view.scorers.items.values()):
            await self._write_status(scorer, scan, outdated=outdated, now=now)
            await asyncio.sleep(0)
        if self._kept_apart is not None:
            statuses: dict[str, Mapping[str, Any]] = {}
            for name, scorer in view.scorers.items.items():
                statuses[name] = self._writer.kept_apart(scorer.status)
            await self._kept_apart.write(statuses)
        return INTERVAL_SECONDS

    async def _write_status(
        self, scorer: DynamicScorer, scan: Scan, *, outdated: str, now: float
    ) -> None:
        name = scorer.metadata.name
        assessment = scan.assessments.get(name)
        health = self.prober.health.get(name)
        if assessment is None or (health is None and not scorer.scored_by_query):
            # It is newer than the scan, or was not probed yet.
            return
        placements = scan.affected_placements(scorer.resource)
        if placements:
            assessment = replace(assessment, message=f"{assessment.message}. {placements}")
        status = desired_status(
            scorer,
            health=health,
            config=self.prober.config(name),
            scores=scored_before(scorer, outdated) if outdated else assessment,
            now=now,
            flapping=self._settled_condition(scorer),
        )
        await self._writer.write(scorer, status)

    def _settled_condition(self, scorer: DynamicScorer) -> ObjectCondition:
        """The condition Settled. Until the journal is read, the one of the leader before stays."""
        if self._flapping is None:
            return NO_CONDITION
        return self._flapping.settled_condition(scorer.resource) or scorer.condition(
            SETTLED_CONDITION
        )

    def _on_scorer(
        self, name: str, before: DynamicScorer | None, after: DynamicScorer | None
    ) -> None:
        # Not with the status, which this controller writes itself.
        if _probed(before) != _probed(after):
            self._changed.add(name)
            self._probe_now.set()


def _probed(scorer: DynamicScorer | None) -> tuple[str, int, ScorerSpec] | None:
    """The inputs of a probe."""
    if scorer is None:
        return None
    return scorer.identity, scorer.metadata.generation, scorer.spec
