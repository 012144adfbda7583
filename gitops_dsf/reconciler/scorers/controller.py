"""The control loops of scorers: one probes scoring APIs, one writes what people see of every DynamicScorer:
its status, with an Event for each changed condition, and freshness as metrics and Events.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Pauses
from dsf_runtime.clock import monotonic
from gitops_dsf.hub.metadata import NOT_SAID, Condition, timestamp_of
from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.hub.resources import SCORERS
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.freshness import Assessment, named
from gitops_dsf.reconciler.hub.api import REFUSED
from gitops_dsf.reconciler.hub.kinds import placement_reference, scorer_reference
from gitops_dsf.reconciler.journal.flapping import SETTLED, FlappingReporter
from gitops_dsf.reconciler.loop import INTERVAL_SECONDS, run_controller
from gitops_dsf.reconciler.scan import Scan
from gitops_dsf.reconciler.scorers.probes import ConfigSync, Health, HealthStatus, Prober
from gitops_dsf.sync.fetch import Fetcher
from gitops_dsf.wording import shortened

_HEALTHY: Final = {
    HealthStatus.ACTIVE: "True",
    HealthStatus.INACTIVE: "False",
    HealthStatus.UNKNOWN: "Unknown",
}
_BY_SCORES: Final = {"True": HealthStatus.ACTIVE, "False": HealthStatus.INACTIVE}
MAX_MESSAGE: Final = 2048
"""Characters of a condition's message at most. The CRD allows 32,768."""
BUSY: Final = frozenset(
    {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)
"""The cause is the hub, and not one status."""
MAX_SERIES: Final = 1000
"""Series of score_not_fresh at most: thousands of clusters can be out at once, for each scorer."""
DEBOUNCE_SECONDS: Final = 1.0
"""From the first change of a scorer to the probe of all changed ones: a sync brings many."""


def desired_status(
    scorer: DynamicScorer,
    *,
    health: Health | None,
    config: ConfigSync | None,
    scores: Assessment | Condition,
    now: float,
    settled: Condition = NOT_SAID,
) -> dict[str, Any]:
    """The whole status. `health` is None for a scorer without a scoring API: then its scores tell whether it
    works. `config` is None for a scorer without configSyncMode Full, `settled` is NOT_SAID without a journal.
    `scores` is a Condition where the scores are not known now: then Scored stays what it was.
    """
    conditions = []
    if health is not None:
        conditions.append(("Healthy", _HEALTHY[health.status], health.reason, health.message))
    if config is not None:
        conditions.append(("ConfigSynced", config.status, config.reason, config.message))
    kept = isinstance(scores, Condition)
    judged = (
        ""
        if kept or health is not None
        else "; there is no scoring API, so healthStatus follows this condition"
    )
    conditions.append(("Scored", scores.status, scores.reason, f"{scores.message}{judged}"))
    if settled is not NOT_SAID:
        conditions.append((settled.type, settled.status, settled.reason, settled.message))
    status: dict[str, Any] = {
        "observedGeneration": scorer.metadata.generation,
        "healthStatus": str(
            health.status
            if health is not None
            else _BY_SCORES.get(scores.status, HealthStatus.UNKNOWN)
        ),
        "conditions": [
            _condition(
                scorer.condition(item[0]), *item, generation=scorer.metadata.generation, now=now
            )
            for item in conditions
        ],
    }
    if config is not None:
        # While /config is unreachable, the configuration that was read last stays.
        last = config.config if config.config is not None else scorer.status.get("lastSyncedConfig")
        if last:
            status["lastSyncedConfig"] = last
    return status


def patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON merge patch (RFC 7386) from one object to another; empty when they are equal."""
    change: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            inner = patch(old, value)
            if inner:
                change[key] = inner
        elif old != value:
            change[key] = value
    return change


def _condition(
    before: Condition,
    kind: str,
    status: str,
    reason: str,
    message: str,
    *,
    generation: int,
    now: float,
) -> dict[str, Any]:
    since = before.last_transition_time if before.status == status else None
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": shortened(message, most=MAX_MESSAGE),
        "lastTransitionTime": since or timestamp_of(now),
        "observedGeneration": generation,
    }


def _scored_before(item: DynamicScorer, outdated: str) -> Condition:
    """The condition Scored as it is on the hub; Unknown for a scorer that has none yet."""
    known = item.condition("Scored")
    if known is not NOT_SAID:
        return known
    return Condition(type="Scored", status="Unknown", reason="NotKnown", message=outdated)


LOG = logging.getLogger(__name__)


class StatusWriter:
    """Writes a status that the hub refused again after a pause."""

    def __init__(self, context: ControllerContext) -> None:
        self._api, self._events, self._metrics = context.api, context.events, context.metrics
        self._path = SCORERS.within(context.view.hub_namespace).path
        self._pauses = Pauses(REFUSED, clock=context.clock)
        """By scorer: the hub refused its status."""

    async def write(self, item: DynamicScorer, status: Mapping[str, Any]) -> None:
        """Raises ApiError when the hub takes no statuses now."""
        name = item.metadata.name
        change = patch(item.status, status)
        if not change or self._pauses.left(name):
            return
        try:
            # The UID makes the hub refuse the status of a scorer that was deleted and created again.
            await self._api.merge(
                f"{self._path}/{name}/status",
                {"metadata": {"uid": item.metadata.uid}, "status": change},
            )
        except ApiError as error:
            self._metrics.patch_failures.inc()
            if not error.status or error.status in BUSY:
                raise
            pause = self._pauses.failed(name)
            LOG.warning("status of scorer %s not written; next try in %g s: %s", name, pause, error)
            return
        self._pauses.worked(name)
        self._metrics.patches.inc()
        await self._announce(item, status)

    def keep_only(self, scorers: Mapping[str, DynamicScorer]) -> None:
        self._pauses.keep_only(scorers)

    async def _announce(self, before: DynamicScorer, status: Mapping[str, Any]) -> None:
        for item in status["conditions"]:
            known = before.condition(item["type"])
            bad = item["status"] == "False"
            # A condition that is new and good needs no Event.
            if (
                bad
                if known is NOT_SAID
                else (known.status, known.reason) != (item["status"], item["reason"])
            ):
                message = f"{item['type']} is {item['status']}: {item['message']}"
                self._events.record(scorer_reference(before), item["reason"], message, warning=bad)


class FreshnessReporter:
    def __init__(self, context: ControllerContext) -> None:
        self._view, self._events, self._metrics = context.view, context.events, context.metrics
        self._warned: dict[tuple[str, str], PlacementSummary] = {}
        """By Placement and resource: warnings that still hold."""

    async def report(self, scan: Scan) -> None:
        """Sets the metrics, and writes an Event on each Placement that began or ceased to count a cluster."""
        counts: dict[tuple[str, str], int] = {}
        rows: list[tuple[str, str, str]] = []
        for scorer, assessment in scan.assessments.items():
            counts[scorer, "fresh"] = assessment.fresh
            for state in ("expired", "missing", "expiring", "endless"):
                clusters: frozenset[str] = getattr(assessment, state)
                counts[scorer, state] = len(clusters)
                rows += [(cluster, scorer, state) for cluster in clusters]
        self._metrics.scored_clusters.set(counts)
        rows.sort()  # by cluster, so that one scorer does not take the place of all others
        self._metrics.not_fresh.set(
            {(name, cluster, state): 1 for cluster, name, state in rows[:MAX_SERIES]}
        )
        self._metrics.not_fresh_omitted.set(max(0, len(rows) - MAX_SERIES))
        labels = {resource: owner.item.name for resource, owner in scan.owners.items()}
        self._metrics.counted_as_zero.set(
            {
                (name, labels.get(each, each)): len(clusters)
                for (name, each), clusters in scan.zeros.items()
            }
        )
        placements = self._view.placements.items
        for (name, resource), clusters in sorted(scan.zeros.items(), key=lambda item: item[0]):
            item, before = placements.get(name), self._warned.get((name, resource))
            if clusters and item is not None and (before is None or before.uid != item.uid):
                self._warned[name, resource] = item
                message = (
                    f"ranks by {labels.get(resource, resource)}, and counts {named(clusters)} as 0: there is"
                    " no score, or it expired, or it lacks the dimension"
                )
                await self._record_event(name, item, "ScoresMissing", message)
        for name, resource in sorted(self._warned):
            if not scan.zeros.get((name, resource)):
                before, item = self._warned.pop((name, resource)), placements.get(name)
                if item is not None and item.uid == before.uid:
                    message = (
                        f"no cluster is counted as 0 any more for {labels.get(resource, resource)}"
                    )
                    await self._record_event(name, item, "ScoresComplete", message)

    async def _record_event(
        self, name: str, item: PlacementSummary, reason: str, message: str
    ) -> None:
        about = placement_reference(name, item, self._view.argocd_namespace)
        self._events.record(about, reason, message, warning=reason == "ScoresMissing")


class ScorerController:
    """Writes DynamicScorer.status, and Events, and nothing else."""

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
        self._view = view = context.view
        self._interval = interval
        self._next_round = 0.0
        """When all scorers are probed again, by the loop's time."""
        self._flapping = flapping
        self.prober = Prober(fetcher=fetcher, metrics=context.metrics, allowed=allowed)
        self._reporter, self._writer = FreshnessReporter(context), StatusWriter(context)
        self._sources = (view.scorers, view.scores, view.clusters, view.addons, view.masks)
        self._changed: set[str] = set()
        """Scorers that appeared or changed since they were probed."""
        self._outdated = ""
        """Why the last pass could not tell what is scored."""
        self._probe_now, self._status_now = asyncio.Event(), asyncio.Event()
        view.scorers.compare(self._on_scorer)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
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

    async def _probe(self) -> float:
        """Probes all scorers when it is time, and else those that changed."""
        now = monotonic()
        if now >= self._next_round:
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

    async def _status_loop(self) -> None:
        await run_controller(
            self.write_statuses,
            name="scorers",
            context=self._context,
            failing="statuses that are not written yet wait for the next pass",
            reads=self._sources,
            requires=(self._view.scorers,),
            wake=self._status_now,
        )

    async def write_statuses(self) -> float:
        """Writes statuses that differ. Returns the seconds until the next pass. Raises ApiError.

        What informers say that are known to be outdated is neither written nor reported: in them every score
        expires.
        """
        view = self._view
        outdated = view.stale_reason((view.scores, view.clusters, view.addons))
        if outdated and outdated != self._outdated:
            LOG.warning("the condition Scored of all scorers stays as it is: %s", outdated)
        self._outdated = outdated
        now = self._api.now()
        self._context.metrics.clock_offset.set(self._api.clock.offset or 0.0)
        scan = await self._context.scanner.scan()
        if not outdated:
            await self._reporter.report(scan)
        self._writer.keep_only(self._view.scorers.items)
        for name, item in list(self._view.scorers.items.items()):
            assessment, health = scan.assessments.get(name), self.prober.health.get(name)
            if assessment is not None and (health is not None or item.scored_by_query):
                words = scan.affected_placements(item.resource)
                scores = replace(
                    assessment, message=f"{assessment.message}{'. ' if words else ''}{words}"
                )
                status = desired_status(
                    item,
                    health=health,
                    config=self.prober.config(name),
                    scores=_scored_before(item, outdated) if outdated else scores,
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

    def _on_scorer(
        self, key: str, before: DynamicScorer | None, item: DynamicScorer | None
    ) -> None:
        seen, now = (
            None if each is None else (each.metadata.uid, each.metadata.generation)
            for each in (before, item)
        )
        if seen != now:  # not only the status
            self._changed.add(key)
            self._probe_now.set()
