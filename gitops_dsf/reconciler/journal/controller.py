"""Records changed decisions, and appends the records to the branch of the journal.

The last record of each Placement is on the branch; records that are not pushed yet are in memory. A
leader that is killed loses those; the next one compares all decisions with the branch.

Not guaranteed: a record of each change. When several changes happen while no reconciler looks, or
while too many records wait for a push, there is one record, from the last known decision to the
present one.
"""

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

import msgspec

from dsf_runtime.clock import happens_within, monotonic
from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.hub.times import moment_of
from gitops_dsf.journal.lines import encode
from gitops_dsf.journal.record import Record, order_record
from gitops_dsf.journal.timeline import ScoreValues, by_placement, values_at
from gitops_dsf.pacing.ledger import LedgerMove
from gitops_dsf.reconciler.context import ControllerContext, WrittenList
from gitops_dsf.reconciler.git.clone import working_clone
from gitops_dsf.reconciler.git.pushing import RETRIES, counting_failures
from gitops_dsf.reconciler.hub.decisions import FORGET_SECONDS
from gitops_dsf.reconciler.hub.kinds import placement_reference
from gitops_dsf.reconciler.journal.branch import ChangedDecision, JournalClone, observe
from gitops_dsf.reconciler.journal.explaining import Facts, explain_record, read_facts
from gitops_dsf.reconciler.journal.flapping import FlappingReporter
from gitops_dsf.reconciler.journal.verifications import KnownVerifications, verification_records
from gitops_dsf.reconciler.loop import NotReady, run_controller
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.repository.model import reconciler as model
from gitops_dsf.simulator import SimulatorInputError
from gitops_dsf.wording import names_text

COUNT_SECONDS: Final = 600.0
"""The time between two counts of moves back and forth while nothing is recorded."""
AT_A_TIME: Final = 50
"""Records that are explained before the loop goes on.

One outage can move a thousand applications.
"""
SETS_SECONDS: Final = 10.0
"""The time for which the first records wait for the list of ApplicationSets."""
EDIT_SECONDS: Final = 60.0
"""A decision that changes within this time after its Placement changed in git did so for that.

OCM decides again within a second of the change, and a busy hub within some.
"""
SLACK_SECONDS: Final = 5.0
"""The informers show a Placement and its decision in any order."""
MAX_PENDING: Final = 4000
"""Records that are not on the branch yet.

What became of more changes is recorded when there is room.
"""
MAX_PENDING_BYTES: Final = 32 << 20
"""Bytes of these records on the branch.

One can have 64 KiB, so 4,000 would take a quarter of a GB.
"""

LOG = logging.getLogger(__name__)


class JournalController:
    """Writes one branch."""

    def __init__(
        self,
        context: ControllerContext,
        *,
        git: GitSettings,
        settings: model.JournalBranch,
        flapping: FlappingReporter,
    ) -> None:
        self._context = context
        self._api = context.api
        self._view = context.view
        self._metrics = context.metrics
        self._tracker = context.tracker
        self._clock = context.clock
        self._git = git
        self._settings = settings
        self._flapping = flapping
        self._wake = asyncio.Event()
        self._learned = asyncio.Event()
        """Set when it is known what the branch holds."""
        self._recorded = asyncio.Event()
        self._next_push = 0.0
        """The time at which records may be pushed again, by the loop's clock."""
        self._started = 0.0
        self._pending: list[Record] = []
        """Records that are not on the branch yet."""
        self._pending_bytes = 0
        self._unnamed: dict[str, frozenset[str]] = {}
        """Decisions that are too large to be named, by the id of their record."""
        self._values: dict[str, ScoreValues] = {}
        """Scores at the last record, by Placement."""
        self._verifications = KnownVerifications()
        self._edited: dict[str, float] = {}
        """The time of the last change of each Placement that this process saw, by the hub's clock.
        """
        context.view.placements.compare(self._note_edit)
        context.tracker.listen(self._wake.set)
        context.verification_decided = self._wake.set
        context.order_written = self._wake.set

    async def run(self) -> None:
        view = self._view
        for informer in (view.decisions, view.placements, view.clusters, view.scores):
            await informer.synced.wait()
        # A hub without Argo CD has no ApplicationSets.
        await happens_within(view.sets.synced, seconds=SETS_SECONDS)
        # After a bug this begins again, and the branch may have moved meanwhile.
        self._learned.clear()
        self._next_push = 0.0
        async with working_clone(self._git, "journal", may_push=self._api.check_leads) as clone:
            branch = JournalClone(clone=clone, name=self._settings.branch)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._record_loop(branch))
                group.create_task(self._push_loop(branch))

    async def _learn_from(self, branch: JournalClone) -> Sequence[Record]:
        """The records of the branch. Raises GitError and RepositoryError."""
        namespace = self._view.argocd_namespace
        followed = {f"{namespace}/{name}" for name in self._view.placements.items}
        journal = await branch.read_newest(followed.union(self._context.ordering()))
        for bad in journal.bad:
            LOG.warning("branch %s: %s", self._settings.branch, bad)
        self._flapping.learn(journal.records)
        self._verifications.learn(journal.records)
        for placement, records in by_placement(journal.records).items():
            *_, self._values[placement] = values_at(records, start=self._values.get(placement, {}))
        return journal.records

    async def _record_loop(self, branch: JournalClone) -> None:
        """Records changes, and counts moves back and forth.

        It counts after each record, and now and then, because moves grow old.
        """
        await self._learned.wait()
        await run_controller(
            partial(self._record_and_count, branch),
            name="journal",
            context=self._context,
            failing="changes of decisions are not recorded yet",
            wake=self._wake,
        )

    async def _record_and_count(self, branch: JournalClone) -> float:
        try:
            wait = await self._record(branch)
        except SimulatorInputError as error:
            raise NotReady(str(error)) from error
        finally:
            placements = self._view.placements.items
            await self._flapping.assess(now=self._api.now(), placements=placements)
        return COUNT_SECONDS if wait is None else wait

    async def _push_loop(self, branch: JournalClone) -> None:
        await run_controller(
            partial(self._push, branch),
            name="journal-push",
            context=self._context,
            failing=f"branch {self._settings.branch} is not up to date",
            wake=self._recorded,
            backoff=RETRIES,
        )

    async def _record(self, branch: JournalClone) -> float | None:
        """Records what is due.

        Returns when to look again. Raises ApiError and SimulatorInputError.
        """
        # The decisions stay as they are on the hub, so they are compared again when there is room.
        if self._is_full:
            return None
        observed = observe(
            self._view.placements.items,
            namespace=self._view.argocd_namespace,
            decisions=self._tracker.decisions,
            last=self._last(branch),
            unnamed=self._unnamed,
            started=self._started,
            now=self._clock(),
            hub_time=self._api.now(),
        )
        changed = observed.changed
        if changed:
            names = [decision.record.key[1] for decision in changed]
            facts = await read_facts(names, api=self._api, view=self._view)
            for first in range(0, len(changed), AT_A_TIME):
                if self._is_full:
                    LOG.warning(
                        "changes of decisions are not recorded until the branch can be pushed again"
                    )
                    break
                await self._add(changed[first : first + AT_A_TIME], facts)
        self._add_verifications(branch)
        self._add_orders(branch)
        self._forget(branch)
        self._show()
        return observed.wait

    async def _add(self, moves: Sequence[ChangedDecision], facts: Facts) -> None:
        records: list[Record] = []
        for move in moves:
            key = move.record.placement
            name = move.record.key[1]
            followers = self._followers(name)
            admitted = self._admitted(move.record)
            # In a thread, because thousands of clusters take a while, and leadership must be
            # renewed.
            explained = await asyncio.to_thread(
                explain_record,
                msgspec.structs.replace(move.record, applications=followers),
                before=move.before,
                after=move.after,
                facts=facts,
                known=self._values.get(key, {}),
                admitted=admitted,
                edited=self._is_edited(name, move.record),
            )
            record = explained.record
            self._values[key] = explained.scores
            if record.to is None:
                self._unnamed[record.id] = move.after
            if admitted is not None:
                admitted_at = datetime.fromtimestamp(int(admitted.since), tz=UTC)
                record = msgspec.structs.replace(record, admitted=admitted_at, gain=admitted.gain)
            records.append(record)
            if record.cause is not None:
                self._context.causes[key] = record.cause
            self._record_event(record)
            LOG.info(
                "recorded %s of %s: left %s, joined %s",
                record.kind,
                record.placement,
                ", ".join(record.left) or "-",
                ", ".join(record.joined) or "-",
            )
        self._keep(records)

    def _add_verifications(self, branch: JournalClone) -> None:
        """Records how the moves of the ledger were verified, each one once.

        The ledger remembers a move for a while after its end, so a new leader records what the last
        one could not.
        """
        if self._is_full:
            return
        last = self._last(branch)
        records = verification_records(
            self._context.ledger.moves,
            known=self._verifications,
            last=last,
            followers=self._followers,
        )
        added = list(records)
        for record in added:
            self._take_over_unnamed(record, last[record.placement])
        if added:
            self._keep(added)

    def _add_orders(self, branch: JournalClone) -> None:
        """Records the lists that were written for Kueue.

        What a leader that is killed had not recorded is lost: only the last list is on the hub.
        """
        last = self._last(branch)
        records: list[Record] = []
        while self._context.orders and not self._is_full and len(records) < AT_A_TIME:
            written = self._context.orders.popleft()
            before = last.get(written.placement)
            record = order_record(
                before,
                written.order,
                placement=written.placement,
                uid=written.uid,
                at=moment_of(written.at),
            )
            if before is not None:
                self._take_over_unnamed(record, before)
            last[written.placement] = record
            records.append(record)
        if records:
            self._keep(records)
        if self._context.orders:
            self._wake.set()

    def _take_over_unnamed(self, record: Record, before: Record) -> None:
        """Keeps the clusters of a record whose decision is that of the record before.

        It may be too large to be named.
        """
        clusters = self._unnamed.get(before.id)
        if record.to is None and clusters is not None:
            self._unnamed[record.id] = clusters

    def _last(self, branch: JournalClone) -> dict[str, Record]:
        """The last record of each Placement, on the branch or on its way there."""
        return {**branch.last, **{record.placement: record for record in self._pending}}

    def _keep(self, records: Sequence[Record]) -> None:
        """Keeps records until they are pushed."""
        self._pending += records
        self._pending_bytes += _encoded_bytes(records)
        self._metrics.journal_records.inc(len(records))
        self._flapping.learn(records)
        self._verifications.learn(records)
        self._recorded.set()

    def _followers(self, placement: str) -> tuple[str, ...]:
        """The ApplicationSets that follow a Placement, in order of name."""
        sets = self._view.sets.items
        return tuple(sorted(name for name in sets if placement in sets[name].placements))

    def _admitted(self, record: Record) -> LedgerMove | None:
        """The admitted move that led to this change; None if OCM moved by itself."""
        move = self._context.move_under_way(record.placement)
        return move if move is not None and move.admitted and move.target in record.joined else None

    def _note_edit(
        self, name: str, before: PlacementSummary | None, after: PlacementSummary | None
    ) -> None:
        if after is None:
            self._edited.pop(name, None)
        # The digest does not change with the status, which OCM writes at each decision.
        elif before is not None and before.digest != after.digest:
            self._edited[name] = self._api.now()

    def _is_edited(self, name: str, record: Record) -> bool:
        """Whether the Placement was changed just before its decision. OCM decides again at once."""
        edited_at = self._edited.get(name)
        return (
            edited_at is not None
            and -EDIT_SECONDS <= edited_at - record.time.timestamp() <= SLACK_SECONDS
        )

    def _record_event(self, record: Record) -> None:
        """An Event with the cause. Of a paced Placement the controller of paced moves says it."""
        name = record.key[1]
        placement = self._view.placements.items.get(name)
        if record.cause is None or placement is None or placement.paced is not None:
            return
        source = names_text(record.left) or "nowhere"
        target = names_text(record.joined) or "nowhere"
        about = placement_reference(name, placement, self._view.argocd_namespace)
        message = f"{source} -> {target}: {record.cause}"
        self._context.events.record(about, "Moved", message, warning=record.cause.warning)

    def _forget(self, branch: JournalClone) -> None:
        """Forgets Placements that were deleted."""
        if self._clock() - self._started <= FORGET_SECONDS:
            return
        gone = set[str]()
        # A push whose answer was lost may have brought the records to the branch. Then only the
        # last record there shows that they are not new.
        pending = {record.placement for record in self._pending}
        for key in branch.last:
            if key in pending:
                continue
            namespace, _, name = key.partition("/")
            if namespace != self._view.argocd_namespace:
                # It orders clusters for Kueue. There are few of them.
                continue
            has_decision = self._tracker.decisions.get(name) is not None
            if name not in self._view.placements.items and not has_decision:
                gone.add(key)
        if gone:
            branch.last = {key: record for key, record in branch.last.items() if key not in gone}
            for key in gone:
                self._values.pop(key, None)
                self._context.causes.pop(key, None)
            self._flapping.forget(gone)

    async def _push(self, branch: JournalClone) -> float | None:
        """Learns what was recorded last, and then appends records as they come.

        Only the branch says what was recorded last.

        Returns when the next push may be. Raises NotReady when git fails.
        """
        outcomes = self._metrics.journal_pushes
        with counting_failures(outcomes):
            if not self._learned.is_set():
                self._started = self._clock()
                await self._learn_from(branch)
                self._learned.set()
            if not self._pending:
                return None
            wait = self._next_push - monotonic()
            if wait > 0:
                return wait
            await self._append_pending(branch)
        outcomes.labels(outcome="pushed").inc()
        self._next_push = monotonic() + self._settings.interval_seconds
        return self._settings.interval_seconds

    async def _append_pending(self, branch: JournalClone) -> None:
        """Raises ApiError, GitError and RepositoryError."""
        self._show()
        pending = tuple(self._pending)
        was_full = self._is_full
        commit_time = datetime.fromtimestamp(int(self._api.now()), tz=UTC)
        refused = await branch.append(pending, at=commit_time)
        del self._pending[: len(pending)]
        self._pending_bytes -= _encoded_bytes(pending)
        # Only the last record of a Placement is compared with its decision, so of older ones the
        # clusters are needed no more.
        last_ids = set[str]()
        for record in (*branch.last.values(), *self._pending):
            last_ids.add(record.id)
        for record_id in self._unnamed.keys() - last_ids:
            del self._unnamed[record_id]
        if was_full:
            # Changes were not looked at for a while, so what is found now may have happened before.
            self._started = self._clock()
        self._wake.set()
        LOG.info(
            "%d records appended to branch %s", len(pending) - len(refused), self._settings.branch
        )
        if refused:
            LOG.info("another replica recorded %d of %d changes", len(refused), len(pending))
            self._flapping.forget({record.placement for record in refused})
            on_branch = await self._learn_from(branch)
            # Afterwards: while the branch is read, nothing that is there may look unknown.
            self._verifications.forget(refused, without=on_branch)
            for record in reversed(refused):
                # It was written, whatever the branch had in the place of its record.
                if record.order is not None:
                    self._context.orders.appendleft(
                        WrittenList(
                            placement=record.placement,
                            uid=record.uid,
                            at=record.time.timestamp(),
                            order=record.order,
                        )
                    )
        self._show()

    @property
    def _is_full(self) -> bool:
        return len(self._pending) >= MAX_PENDING or self._pending_bytes >= MAX_PENDING_BYTES

    def _show(self) -> None:
        self._metrics.journal_pending.set(len(self._pending))
        oldest = min((record.time.timestamp() for record in self._pending), default=None)
        self._metrics.journal_pending_seconds.set(
            0 if oldest is None else max(0.0, self._api.now() - oldest)
        )


def _encoded_bytes(records: Sequence[Record]) -> int:
    """The number of bytes that these records take on the branch."""
    return sum(len(encode(record)) for record in records)
