"""Deletes the old copy of a moved application when the new copy is healthy.

With the policies of these ApplicationSets Argo CD never deletes, so only this controller deletes
old copies. It remembers times only: when a decision changed, and when it deleted. A new leader
starts counting again, which makes it slower and nothing else.

Guaranteed: no copy is deleted while a source of the rules may be outdated, and `deletion` evaluates
everything again on the API server before a delete. Not guaranteed: that a copy goes soon. A
deletion that fails waits longer each time, and a cluster that OCM does not reach keeps its copy.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff
from gitops_dsf.hub.application_sets import ApplicationSet
from gitops_dsf.hub.applications import ArgoApplication
from gitops_dsf.hub.moves.reasons import MoveReason
from gitops_dsf.hub.pace import is_verified
from gitops_dsf.pacing.verification import unverified
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.decisions import DEBOUNCE_SECONDS
from gitops_dsf.reconciler.loop import INTERVAL_SECONDS, run_controller
from gitops_dsf.reconciler.moves.deletion import (
    DECISION_EMPTY,
    PLACEMENT_GONE,
    Blocked,
    Candidate,
    CopyDeleter,
)
from gitops_dsf.reconciler.moves.reachability import Reachability, ReachabilityTracker
from gitops_dsf.reconciler.moves.report import MoveReporter
from gitops_dsf.reconciler.moves.rules import (
    Action,
    CopyVerdict,
    MoveState,
    evaluate,
    keep,
    rank,
    wait,
)
from gitops_dsf.reconciler.moves.waits import WaitRecorder

PAUSE_SECONDS: Final = 0.5
"""Shortest time between two passes: Applications change every second."""
MAX_PER_MINUTE: Final = 10
"""Deletions for all ApplicationSets together."""
RETRIES: Final = Backoff(first=5.0, ceiling=60.0, jitter=0)
"""Pauses after failed attempts for one ApplicationSet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _NotBefore:
    """The time before which no deletion for an ApplicationSet is tried again, with the reason."""

    until: float
    reason: MoveReason
    message: str
    failures: int
    """Failed attempts in a row."""


class _BestRanks(NamedTuple):
    """The best rank of each old copy, by UID, since its decision holds."""

    since: float
    ranks: dict[str, int]


class MoveController:
    """Deletes Applications, and asks Argo CD to refresh those that stay.

    It also writes Events, and one key of the ConfigMap `gitops-dsf-moves`.
    """

    def __init__(self, context: ControllerContext, *, pause: float = PAUSE_SECONDS) -> None:
        self._context = context
        self._view = view = context.view
        self._decisions = context.tracker.decisions
        self._clock = context.clock
        self._reach = ReachabilityTracker(
            clusters=view.clusters, clock=context.clock, hub_time=context.api.now
        )
        self._deleter = CopyDeleter(
            api=context.api,
            hub_namespace=view.hub_namespace,
            argocd_namespace=view.argocd_namespace,
            reach=self._reach,
        )
        self._report = MoveReporter(context)
        self._waits = WaitRecorder(context)
        self._not_before: dict[str, _NotBefore] = {}
        """Earliest next deletions, by UID of the ApplicationSet.

        Losing them only means that the hub is asked more often.
        """
        self._deleted = deque[float](maxlen=MAX_PER_MINUTE)
        self._best: dict[str, _BestRanks] = {}
        """The best health that copies had, by UID of the ApplicationSet.

        A copy that is rolling out a change is not an unhealthy one.
        """
        self._complete: dict[str, tuple[object, ...]] = {}
        """The state, by name, of each ApplicationSet whose copies are all on decided clusters.

        As long as nothing of this changes, there is nothing to do for it.
        """
        self._silent = ""
        """The reason why the hub did not answer in this pass; empty if it did."""
        self._next = 0.0
        """The time at which the next pass is due at the latest."""
        self._pause = pause
        self._informers = (
            view.sets,
            view.applications,
            view.placements,
            view.clusters,
            view.decisions,
        )
        self._wake = context.changes_of_moves()

    async def run(self) -> None:
        await run_controller(
            self._reconcile,
            name="handover",
            context=self._context,
            failing="old copies stay",
            # Nothing is deleted by outdated informers either. But each copy shall show that as its
            # reason.
            reads=self._informers,
            wake=self._wake,
            min_interval=self._pause,
        )

    async def _reconcile(self) -> float:
        now = self._clock()
        # Time-outs end, and metrics count seconds.
        self._next = now + INTERVAL_SECONDS
        copies: dict[str, list[ArgoApplication]] = {}
        for copy in self._view.applications.items.values():
            copies.setdefault(copy.owner_uid, []).append(copy)
        reach = self._reach.of(self._view.clusters.items)
        sets: dict[str, ApplicationSet] = {}
        for name, application_set in self._view.sets.items.items():
            if application_set.handover is not None or application_set.obstacle:
                sets[name] = application_set
        self._forget(sets, now)
        self._silent = ""
        for name, application_set in sorted(sets.items()):
            copies_of_set = tuple(copies.get(application_set.uid, ()))
            decisions = tuple(
                self._decisions.get(placement) for placement in application_set.placements
            )
            seen = application_set, copies_of_set, decisions
            # A fleet has thousands of ApplicationSets, and Applications change every second.
            if self._complete.get(name) == seen:
                continue
            self._complete.pop(name, None)
            verdicts = await self._judge(application_set, copies_of_set, reach, now)
            if not verdicts:
                self._complete[name] = seen
            self._report.show(name, application_set.uid, verdicts, self._clock())
            self._waits.note(application_set, verdicts)
        self._report.publish(sets, self._clock())
        self._waits.keep_only(sets)
        await self._waits.write()
        return self._next - self._clock()

    def _forget(self, sets: Mapping[str, ApplicationSet], now: float) -> None:
        """Forgets what is remembered of other ApplicationSets, and failures of long ago."""
        for name in self._complete.keys() - sets.keys():
            del self._complete[name]
        uids = {application_set.uid for application_set in sets.values()}
        for uid in self._best.keys() - uids:
            del self._best[uid]
        for uid, not_before in tuple(self._not_before.items()):
            if uid not in uids or now >= not_before.until + RETRIES.ceiling:
                del self._not_before[uid]

    async def _judge(
        self,
        application_set: ApplicationSet,
        copies: tuple[ArgoApplication, ...],
        reach: Reachability,
        now: float,
    ) -> tuple[CopyVerdict, ...]:
        """The verdicts on the old copies of an ApplicationSet.

        If one of them is a deletion, it has been tried.
        """
        state = self._state_of(application_set, copies, reach, now)
        if not isinstance(state, MoveState):
            return state
        verdicts = evaluate(state)
        # One deletion for each ApplicationSet and pass. Afterwards the state is another one, and
        # the next pass judges what remains by that.
        chosen = next((verdict for verdict in verdicts if verdict.action is Action.DELETE), None)
        handover = application_set.handover
        if chosen is None or handover is None:
            return verdicts
        candidate = Candidate(
            application_set=application_set, handover=handover, state=state, verdict=chosen
        )
        outcome = await self._attempt(candidate)
        return tuple(outcome if verdict is chosen else verdict for verdict in verdicts)

    def _state_of(
        self,
        application_set: ApplicationSet,
        copies: tuple[ArgoApplication, ...],
        reach: Reachability,
        now: float,
    ) -> MoveState | tuple[CopyVerdict, ...]:
        """The state by the informers, or verdicts when it allows no deletion.

        There are no verdicts when no copy has left the decision.
        """
        # An ApplicationSet may follow several Placements. A copy leaves when none of them wants it.
        decided = self._decided_clusters(application_set.placements)
        leaving = [copy for copy in copies if copy.cluster not in decided]
        leaving.sort(key=lambda copy: copy.name)
        if not leaving:
            return ()
        handover = application_set.handover
        if handover is None:
            obstacle = application_set.obstacle
            return tuple(keep(copy, MoveReason.GENERATORS, obstacle) for copy in leaving)
        placement = self._view.placements.items.get(handover.placement)
        decision = self._decisions.get(handover.placement)
        if placement is None:
            return _all_wait(leaving, MoveReason.PLACEMENT_GONE, PLACEMENT_GONE)
        # OCM also empties a decision because of a mistake in the Placement (v1.2.1), and such a
        # mistake must not delete what runs.
        if decision is None or not decision.clusters:
            return _all_wait(leaving, MoveReason.DECISION_EMPTY, DECISION_EMPTY)
        best = self._best_ranks(application_set.uid, leaving, decision.since)
        # OCM writes a decision page by page: until then it may be half of one.
        debounced_at = decision.since + DEBOUNCE_SECONDS
        if now < debounced_at:
            self._requeue_at(debounced_at)
            message = f"the decision changed within the last {DEBOUNCE_SECONDS:g} s"
            return _all_wait(leaving, MoveReason.DECISION_UNSETTLED, message)
        overdue_at = debounced_at + handover.timeout
        if now < overdue_at:
            self._requeue_at(overdue_at)
        return MoveState(
            decided=decided,
            asked_for=placement.wanted,
            copies=copies,
            unreachable=reach.unreachable,
            returned=reach.returned,
            overdue=now >= overdue_at,
            best=best,
            name_on=handover.name_on,
            unverified=self._unverified(handover.placement, leaving, decided),
        )

    def _unverified(
        self, name: str, leaving: Iterable[ArgoApplication], decided: frozenset[str]
    ) -> dict[str, str]:
        """The clusters whose copy waits for the checks of its move, with the reason.

        By the ledger that this leader wrote last. A deletion reads it again.
        """
        placement = self._view.placements.items.get(name)
        if (
            placement is None
            or placement.paced is None
            or not is_verified(placement.paced.metadata)
        ):
            return {}
        key = f"{self._view.argocd_namespace}/{name}"
        return unverified(
            self._context.moves.of(key),
            key,
            (copy.cluster for copy in leaving),
            decided,
        )

    def _decided_clusters(self, placements: Iterable[str]) -> frozenset[str]:
        """The clusters of the decisions of these Placements."""
        clusters = set[str]()
        for placement in placements:
            decision = self._decisions.get(placement)
            if decision is not None:
                clusters |= decision.clusters
        return frozenset(clusters)

    def _best_ranks(
        self, uid: str, leaving: Iterable[ArgoApplication], since: float
    ) -> dict[str, int]:
        """The best rank of each old copy since the decision, which holds since then."""
        before = self._best.get(uid)
        ranks_before = before.ranks if before is not None and before.since == since else {}
        ranks: dict[str, int] = {}
        for copy in leaving:
            ranks[copy.uid] = max(rank(copy), ranks_before.get(copy.uid, 0))
        self._best[uid] = _BestRanks(since, ranks)
        return ranks

    async def _attempt(self, candidate: Candidate) -> CopyVerdict:
        """Deletes the copy. Returns its verdict, or one that waits, with the reason."""
        copy = candidate.verdict.copy
        uid = candidate.application_set.uid
        now = self._clock()
        before = self._not_before.get(uid)
        stale_reason = self._view.stale_reason(self._informers)
        if stale_reason:
            return wait(copy, MoveReason.INFORMER_BROKEN, stale_reason)
        if before is not None and now < before.until:
            self._requeue_at(before.until)
            return wait(copy, before.reason, before.message)
        if len(self._deleted) == MAX_PER_MINUTE and now < self._deleted[0] + 60:
            self._requeue_at(self._deleted[0] + 60)
            message = f"{MAX_PER_MINUTE} copies were deleted within the last minute"
            return wait(copy, MoveReason.RATE_LIMITED, message)
        if self._silent:
            # It would wait as long as the one before, and for nothing.
            return wait(copy, MoveReason.HUB_SILENT, self._silent)
        try:
            await self._deleter.delete(candidate)
        except Blocked as blocked:
            reason = blocked.reason
            message = blocked.message
        except ApiError as error:
            reason = MoveReason.REFUSED if error.status else MoveReason.HUB_SILENT
            message = str(error)
            self._silent = "" if error.status else message
        else:
            self._not_before.pop(uid, None)
            self._deleted.append(self._clock())
            self._report.deleted(candidate.application_set.name, uid, candidate.verdict)
            return candidate.verdict
        failures = 1 if before is None else before.failures + 1
        until = self._clock() + RETRIES.delay(failures)
        self._not_before[uid] = _NotBefore(
            until=until, reason=reason, message=message, failures=failures
        )
        self._requeue_at(until)
        return wait(copy, reason, message)

    def _requeue_at(self, moment: float) -> None:
        """Makes the next pass at this time at the latest."""
        self._next = min(self._next, moment)


def _all_wait(
    copies: Iterable[ArgoApplication], reason: MoveReason, message: str
) -> tuple[CopyVerdict, ...]:
    return tuple(wait(copy, reason, message) for copy in copies)
