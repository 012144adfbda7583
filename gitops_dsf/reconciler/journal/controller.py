"""The control loops of the journal: one records changed decisions, one appends the records to the branch."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import happens_within
from gitops_dsf.errors import RepositoryError
from gitops_dsf.journal.record import Record, new_record
from gitops_dsf.journal.timeline import by_placement, values_at
from gitops_dsf.reconciler.git import Clone, GitError, work_folder
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.decisions import FORGET_SECONDS, DecisionTracker
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.journal.branch import JournalBranch
from gitops_dsf.reconciler.journal.buffer import JournalBuffer
from gitops_dsf.reconciler.journal.explaining import Values, filled
from gitops_dsf.reconciler.journal.facts import Facts, read_facts
from gitops_dsf.reconciler.journal.flapping import FlappingReporter
from gitops_dsf.reconciler.journal.observing import Due, Head, head_of, heads_of, observe
from gitops_dsf.reconciler.series import PREFIX
from gitops_dsf.reconciler.settings import GitSettings, JournalSettings
from gitops_dsf.simulator import SimulatorInputError

LOG = logging.getLogger(__name__)
RETRIES: Final = Backoff(first=10.0, ceiling=600.0, jitter=0)
"""Pauses after a failed push."""
RETRY_SECONDS: Final = 5.0
"""Pause after a request that the hub did not answer as it should."""
COUNT_SECONDS: Final = 600.0
"""Between two counts of moves back and forth, when nothing is recorded."""
AT_A_TIME: Final = 50
"""Records that are explained before they are saved. One outage can move a thousand applications."""
SETS_SECONDS: Final = 10.0
"""How long the first records wait for the list of ApplicationSets."""
MONTHS: Final = 2
"""Months of the branch that a new leader reads."""


class JournalMetrics:
    """Records that were made, and those that are not on the branch yet."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.records = Counter(
            f"{PREFIX}_journal_records", "Changes of decisions that were recorded.", registry=registry
        )
        self.dropped = Counter(
            f"{PREFIX}_journal_records_dropped",
            "Records that were dropped because the ConfigMap was full: the branch could not be pushed for"
            " long.",
            registry=registry,
        )
        self.pushes = Counter(
            f"{PREFIX}_journal_pushes", "Pushes by outcome: pushed or failed.", ["outcome"], registry=registry
        )
        self.pending = Gauge(
            f"{PREFIX}_journal_pending", "Records that are not on the branch yet.", registry=registry
        )
        self.pending_seconds = Gauge(
            f"{PREFIX}_journal_pending_seconds",
            "Age of the oldest record that is not on the branch yet; 0 when there is none.",
            registry=registry,
        )

    def clear(self) -> None:
        """Clears the gauges on losing leadership."""
        self.pending.set(0)
        self.pending_seconds.set(0)


class JournalController:
    """Writes one branch and one ConfigMap."""

    name = "journal"
    ready = True
    """Always, so that an unreachable repository does not make the reconciler unready."""

    def __init__(
        self,
        *,
        api: HubApi,
        view: HubView,
        git: GitSettings,
        settings: JournalSettings,
        metrics: JournalMetrics,
        tracker: DecisionTracker,
        flapping: FlappingReporter,
    ) -> None:
        self._api, self._view, self._git, self._settings, self._metrics = api, view, git, settings, metrics
        self._tracker, self._clock, self._flapping = tracker, tracker.clock, flapping
        self._wake, self._recorded, self._counted = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._started = 0.0
        self._values: dict[str, Values] = {}
        """Scores at the last record, by Placement."""
        self._recent: dict[str, frozenset[str]] = {}
        """Clusters of the last record, by Placement."""
        tracker.listen(self._wake.set)

    async def run(self) -> None:
        """Works until it is cancelled."""
        for source in (
            self._view.decisions,
            self._view.placements,
            self._view.clusters,
            self._view.scores,
        ):
            await source.synced.wait()
        # A hub without Argo CD has no ApplicationSets.
        await happens_within(self._view.sets.synced, seconds=SETS_SECONDS)
        self._started = self._clock()
        try:
            async with work_folder(self._git, "journal") as folder:
                branch = JournalBranch(
                    clone=Clone(settings=self._git, folder=folder), name=self._settings.branch
                )
                buffer = JournalBuffer(api=self._api, namespace=self._view.hub_namespace)
                await self._take_over(buffer, branch)
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._record_loop(buffer))
                    group.create_task(self._push_loop(buffer, branch))
                    group.create_task(self._count_loop())
        finally:
            self._metrics.clear()
            self._flapping.clear()

    async def _take_over(self, buffer: JournalBuffer, branch: JournalBranch) -> None:
        """Learns what was recorded last. The ConfigMap says it; where it does not, the branch must."""
        failures = 0
        while True:
            try:
                known = await buffer.load()
                break
            except ApiError as error:
                LOG.warning("the journal waits for its ConfigMap: %s", error)
                await asyncio.sleep(RETRY_SECONDS)
        while True:
            try:
                found = await branch.read(months=MONTHS)
            except (GitError, RepositoryError) as error:
                if known:
                    LOG.warning("the journal goes on without what its branch says: %s", error)
                    self._learn(buffer.held.pending)
                    return
                failures += 1
                wait = RETRIES.delay(failures)
                LOG.warning("the journal waits for its branch; next try in %g s: %s", wait, error)
                self._metrics.pushes.labels(outcome="failed").inc()
                await asyncio.sleep(wait)
                continue
            for bad in found.bad:
                LOG.warning("branch %s: %s", self._settings.branch, bad)
            break
        records = (*found.records, *buffer.held.pending)
        self._learn(records)
        if not known:
            await buffer.begin(heads_of(records))

    def _learn(self, records: Sequence[Record]) -> None:
        self._flapping.learn(records)
        for placement, each in by_placement(records).items():
            *_, self._values[placement] = values_at(each, start=self._values.get(placement, {}))
            if each[-1].to is not None:
                self._recent[placement] = frozenset(each[-1].to)

    async def _record_loop(self, buffer: JournalBuffer) -> None:
        while True:
            self._wake.clear()
            try:
                wait = await self._record(buffer)
            except (ApiError, SimulatorInputError) as error:
                wait = RETRY_SECONDS
                if isinstance(error, ApiError) and error.status == HTTPStatus.CONFLICT:
                    LOG.info("another replica wrote the journal's ConfigMap; reading it again")
                    await self._reload(buffer)
                else:
                    LOG.warning("changes of decisions are not saved yet: %s", error)
            await happens_within(self._wake, seconds=wait)

    async def _reload(self, buffer: JournalBuffer) -> None:
        try:
            await buffer.reload()
        except ApiError as error:
            LOG.warning("the journal's ConfigMap cannot be read: %s", error)
        else:
            # A write may have arrived though its answer did not.
            self._learn(buffer.held.pending)

    async def _record(self, buffer: JournalBuffer) -> float | None:
        """Records what is due. Returns when to look again. Raises ApiError and SimulatorInputError."""
        namespace = self._view.argocd_namespace
        found = observe(
            list(self._view.placements.items),
            namespace=namespace,
            decisions=self._tracker.decisions,
            placements=self._view.placements.items,
            heads=buffer.heads,
            recent=self._recent,
            started=self._started,
            now=self._clock(),
        )
        if found.due:
            facts = await read_facts([due.name for due in found.due], api=self._api, view=self._view)
            for first in range(0, len(found.due), AT_A_TIME):
                await self._add(buffer, found.due[first : first + AT_A_TIME], facts)
                await self._save(buffer)
        await self._save(buffer)
        await self._forget(buffer)
        self._show(buffer)
        return found.wait

    async def _add(self, buffer: JournalBuffer, due: Sequence[Due], facts: Facts) -> None:
        now = self._api.now()
        records: list[tuple[Record, Head]] = []
        for each in due:
            key = f"{self._view.argocd_namespace}/{each.name}"
            late = 0.0 if each.kind == "Later" else each.age
            plain = new_record(
                placement=key,
                number=each.number,
                time=datetime.fromtimestamp(now - late, tz=UTC),
                kind=each.kind,
                before=each.before,
                after=each.clusters,
                uid=each.uid,
                applications=self._followers(each.name),
            )
            # In a thread, because thousands of clusters take a while, and leadership must be renewed.
            record, self._values[key] = await asyncio.to_thread(
                filled,
                plain,
                before=each.before,
                after=each.clusters,
                facts=facts,
                known=self._values.get(key, {}),
            )
            self._recent[key] = each.clusters
            records.append((record, head_of(record, each.clusters)))
        buffer.stage(records)
        for record, _ in records:
            LOG.info(
                "recorded %s of %s: left %s, joined %s",
                record.kind,
                record.placement,
                ", ".join(record.left) or "-",
                ", ".join(record.joined) or "-",
            )
        self._flapping.learn(record for record, _ in records)

    async def _save(self, buffer: JournalBuffer) -> None:
        saved = await buffer.save()
        self._metrics.records.inc(saved.count)
        self._metrics.dropped.inc(saved.dropped)
        if saved.dropped:
            LOG.warning(
                "%d records of the journal were dropped, because the ConfigMap is full", saved.dropped
            )
        if saved.count:
            self._recorded.set()
            self._counted.set()

    def _followers(self, placement: str) -> Sequence[str]:
        return sorted(name for name, item in self._view.sets.items.items() if placement in item.placements)

    async def _forget(self, buffer: JournalBuffer) -> None:
        """Forgets Placements that were deleted."""
        gone = [
            key
            for key in buffer.held.heads
            if (name := key.partition("/")[2]) not in self._view.placements.items
            and self._clock() - self._started > FORGET_SECONDS
            and self._tracker.decisions.get(name) is None
        ]
        if gone:
            await buffer.forget(gone)
            for key in gone:
                self._values.pop(key, None)
                self._recent.pop(key, None)
            self._flapping.forget(gone)

    async def _count_loop(self) -> None:
        """Counts moves back and forth after each record, and as they grow old."""
        while True:
            self._counted.clear()
            await self._flapping.assess(now=self._api.now(), placements=self._view.placements.items)
            await happens_within(self._counted, seconds=COUNT_SECONDS)

    async def _push_loop(self, buffer: JournalBuffer, branch: JournalBranch) -> None:
        failures = 0
        while True:
            self._recorded.clear()
            wait: float | None = None
            if buffer.held.pending:
                try:
                    await self._push(buffer, branch)
                    failures, wait, outcome = 0, self._settings.interval, "pushed"
                except (ApiError, GitError, RepositoryError) as error:
                    failures += 1
                    wait, outcome = RETRIES.delay(failures), "failed"
                    LOG.warning(
                        "%d records are not on branch %s yet; next try in %g s: %s",
                        len(buffer.held.pending),
                        self._settings.branch,
                        wait,
                        error,
                    )
                    if isinstance(error, ApiError) and error.status == HTTPStatus.CONFLICT:
                        await self._reload(buffer)
                self._metrics.pushes.labels(outcome=outcome).inc()
                self._show(buffer)
            if wait is None:
                await self._recorded.wait()
            else:
                await asyncio.sleep(wait)

    async def _push(self, buffer: JournalBuffer, branch: JournalBranch) -> None:
        pending = buffer.held.pending
        at = datetime.fromtimestamp(int(self._api.now()), tz=UTC)
        count = await branch.append(pending, at=at)
        await buffer.remove({record.id for record in pending})
        LOG.info("%d records appended to branch %s", count, self._settings.branch)

    def _show(self, buffer: JournalBuffer) -> None:
        pending = buffer.held.pending
        self._metrics.pending.set(len(pending))
        oldest = min((record.time.timestamp() for record in pending), default=None)
        self._metrics.pending_seconds.set(0 if oldest is None else max(0.0, self._api.now() - oldest))
