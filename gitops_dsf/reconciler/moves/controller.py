"""The control loop of moves: deletes the old copy of a moved application when the new copy is healthy.

With the policies of these ApplicationSets Argo CD never deletes, so nobody else deletes the copies that this
controller deletes. It remembers times only: when a decision changed, and when it deleted. A new leader starts
counting again, which makes it slower and nothing else.
"""

import asyncio
import collections
import logging
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff
from gitops_dsf.hub.applications import Application, ApplicationSet
from gitops_dsf.reconciler.context import INTERVAL_SECONDS, ControllerContext, keep_looking
from gitops_dsf.reconciler.hub.kinds import application_set_reference
from gitops_dsf.reconciler.hub.view import DEBOUNCE_SECONDS
from gitops_dsf.reconciler.moves.deletion import (
    DECISION_EMPTY,
    PLACEMENT_GONE,
    Blocked,
    Candidate,
    CopyDeleter,
)
from gitops_dsf.reconciler.moves.rules import (
    Action,
    CopyVerdict,
    MoveState,
    Reachability,
    ReachabilityTracker,
    evaluate,
    rank,
    wait,
)
from gitops_dsf.reconciler.moves.waits import WaitRecorder

PAUSE_SECONDS: Final = 0.5
"""Shortest time between two passes: Applications change every second."""
PER_MINUTE: Final = 10
"""Deletions for all ApplicationSets together."""
RETRIES: Final = Backoff(first=5.0, ceiling=60.0, jitter=0)
"""Pauses after failed attempts for one ApplicationSet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _NotBefore:
    """When a deletion for an ApplicationSet may be tried again, and why not now."""

    until: float
    why: tuple[str, str]
    times: int
    """Failed attempts in a row."""


class MoveController:
    """Deletes Applications, asks Argo CD to refresh those that stay, and writes Events and one key of the
    ConfigMap `gitops-dsf-moves`.
    """

    def __init__(self, context: ControllerContext, *, pause: float = PAUSE_SECONDS) -> None:
        self._view = view = context.view
        self._decisions, self._clock = context.tracker.decisions, context.clock
        self._reach = ReachabilityTracker(
            clusters=view.clusters, clock=context.clock, hub_time=context.api.now
        )
        self._deleter = CopyDeleter(
            api=context.api, argocd_namespace=view.argocd_namespace, reach=self._reach
        )
        self._report, self._waits = MoveReporter(context), WaitRecorder(context)
        self._wake = asyncio.Event()
        self._not_before: dict[str, _NotBefore] = {}
        """By UID of the ApplicationSet. Losing it only means that the hub is asked more often."""
        self._deleted = deque[float](maxlen=PER_MINUTE)
        self._best: dict[str, tuple[float, dict[str, int]]] = {}
        """By UID of the ApplicationSet: since when its decision holds, and the best rank of each old copy
        since then, by UID. A copy that is rolling out a change is not an unhealthy one.
        """
        self._complete: dict[str, tuple[object, ...]] = {}
        """By name: what was seen of an ApplicationSet none of whose copies has left its decision. As long as
        nothing of this changes, there is nothing to do for it.
        """
        self._silent = ""
        """Why the hub did not answer in this pass."""
        self._next, self._pause = 0.0, pause
        self._informers = (
            view.sets,
            view.applications,
            view.placements,
            view.clusters,
            view.decisions,
        )
        for informer in self._informers[:-1]:
            informer.listen(lambda _key, _item: self._wake.set())
        context.tracker.listen(self._wake.set)

    async def run(self) -> None:
        await self._view.synced(*self._informers)
        await keep_looking(self._look, wake=self._wake, pause=self._pause)

    async def _look(self) -> float:
        now = self._clock()
        # Time-outs end, and metrics count seconds.
        self._next = now + INTERVAL_SECONDS
        copies: dict[str, list[Application]] = {}
        for copy in self._view.applications.items.values():
            copies.setdefault(copy.owner_uid, []).append(copy)
        reach = self._reach.of(self._view.clusters.items)
        sets = {
            name: item
            for name, item in self._view.sets.items.items()
            if item.handover is not None or item.obstacle
        }
        alive = {item.uid for item in sets.values()}
        self._best = {uid: best for uid, best in self._best.items() if uid in alive}
        self._not_before = {
            uid: item
            for uid, item in self._not_before.items()
            if uid in alive and now < item.until + RETRIES.ceiling
        }
        self._silent = ""
        self._complete = {name: seen for name, seen in self._complete.items() if name in sets}
        for name, item in sorted(sets.items()):
            decisions = tuple(self._decisions.get(placement) for placement in item.placements)
            seen = item, tuple(copies.get(item.uid, ())), decisions
            if self._complete.get(name) == seen:
                continue
            state = self._state_of(item, seen[1], reach, now)
            verdicts = evaluate(state) if isinstance(state, MoveState) else state
            chosen = next(
                (verdict for verdict in verdicts if verdict.action is Action.DELETE), None
            )
            if chosen is not None and isinstance(state, MoveState) and item.handover is not None:
                outcome = await self._attempt(
                    Candidate(item=item, handover=item.handover, state=state, verdict=chosen)
                )
                verdicts = tuple(outcome if verdict is chosen else verdict for verdict in verdicts)
            await self._report.show(name, item.uid, verdicts, self._clock())
            self._waits.note(item, verdicts)
            self._complete.pop(name, None)
            if not verdicts:
                self._complete[name] = seen
        self._report.publish(sets, self._clock())
        self._waits.keep_only(sets)
        await self._waits.write()
        return self._next - self._clock()

    def _state_of(
        self, item: ApplicationSet, copies: tuple[Application, ...], reach: Reachability, now: float
    ) -> MoveState | tuple[CopyVerdict, ...]:
        """The state by the informers, or verdicts when it allows no deletion; none when no copy left."""
        decisions = (self._decisions.get(placement) for placement in item.placements)
        decided = frozenset(
            name for each in decisions if each is not None for name in each.clusters
        )
        leaving = [
            copy
            for copy in sorted(copies, key=lambda each: each.name)
            if copy.cluster not in decided
        ]
        if not leaving:
            return ()
        if item.handover is None:
            return tuple(
                CopyVerdict(
                    copy=copy, action=Action.KEEP, reason="Generators", message=item.obstacle
                )
                for copy in leaving
            )
        name = item.handover.placement
        placement, decision = self._view.placements.items.get(name), self._decisions.get(name)
        if placement is None:
            return _all_wait(leaving, PLACEMENT_GONE)
        if decision is None or not decision.clusters:
            return _all_wait(leaving, DECISION_EMPTY)
        since, best = self._best.get(item.uid, (decision.since, {}))
        known = best if since == decision.since else {}
        best = {copy.uid: max(rank(copy), known.get(copy.uid, 0)) for copy in leaving}
        self._best[item.uid] = (decision.since, best)
        if now < decision.since + DEBOUNCE_SECONDS:
            self._at(decision.since + DEBOUNCE_SECONDS)
            message = f"the decision changed within the last {DEBOUNCE_SECONDS:g} s"
            return _all_wait(leaving, ("DecisionUnsettled", message))
        ends = decision.since + DEBOUNCE_SECONDS + item.handover.timeout
        if now < ends:
            self._at(ends)
        return MoveState(
            decided=decided,
            asked_for=placement.wanted,
            copies=copies,
            unreachable=reach.unreachable,
            returned=reach.returned,
            overdue=now >= ends,
            best=best,
            name_on=item.handover.name_on,
        )

    async def _attempt(self, candidate: Candidate) -> CopyVerdict:
        """Deletes the copy. Returns its verdict, or one that waits, with the reason."""
        copy, uid, now = candidate.verdict.copy, candidate.item.uid, self._clock()
        before = self._not_before.get(uid)
        if outdated := self._view.stale_reason(self._informers):
            return wait(copy, "InformerBroken", outdated)
        if before is not None and now < before.until:
            self._at(before.until)
            return wait(copy, *before.why)
        if len(self._deleted) == PER_MINUTE and now < self._deleted[0] + 60:
            self._at(self._deleted[0] + 60)
            message = f"{PER_MINUTE} copies were deleted within the last minute"
            return wait(copy, "RateLimited", message)
        if self._silent:
            # It would wait as long as the one before, and for nothing.
            return wait(copy, "HubSilent", self._silent)
        try:
            await self._deleter.delete(candidate)
        except Blocked as blocked:
            why = blocked.reason, blocked.message
        except ApiError as error:
            why = "Refused" if error.status else "HubSilent", str(error)
            self._silent = "" if error.status else str(error)
        else:
            self._not_before.pop(uid, None)
            self._deleted.append(self._clock())
            await self._report.deleted(candidate.item.name, uid, candidate.verdict)
            return candidate.verdict
        times = 1 if before is None else before.times + 1
        until = self._clock() + RETRIES.delay(times)
        self._not_before[uid] = _NotBefore(until=until, why=why, times=times)
        self._at(until)
        return wait(copy, *why)

    def _at(self, moment: float) -> None:
        """Makes the next pass at this time at the latest."""
        self._next = min(self._next, moment)


def _all_wait(copies: list[Application], why: tuple[str, str]) -> tuple[CopyVerdict, ...]:
    return tuple(wait(copy, *why) for copy in copies)


LOG = logging.getLogger(__name__)
NEWS_SECONDS: Final = 10.0
"""A reason becomes an Event after this time: most new copies are Healthy by then."""
PASSING: Final = frozenset(
    {"Queued", "RateLimited", "Gone", "Changed", "Conflict", "DecisionUnsettled", "HubSilent"}
)
"""Reasons that pass by themselves. They never become Events."""
TROUBLE: Final = frozenset(
    {"TimedOut", "WorkloadWouldStay", "DecisionForeign", "Generators", "Refused", "Unreadable"}
    | {"InformerBroken"}
)
"""Reasons that become Warnings: somebody should look at them."""


@dataclass(kw_only=True)
class _Wait:
    since: float | None = None
    """When a copy began to wait; None while none waits."""
    reason: str = ""
    """Of what is announced, and since when."""
    reason_since: float = 0.0
    announced: str = ""
    reasons: collections.Counter[str] = field(default_factory=collections.Counter)


class MoveReporter:
    """Remembers since when each ApplicationSet waits, as far as this process has seen."""

    def __init__(self, context: ControllerContext) -> None:
        self._events, self._metrics = context.events, context.metrics
        self._namespace = context.view.argocd_namespace
        self._waits: dict[str, _Wait] = {}

    async def show(self, name: str, uid: str, verdicts: Iterable[CopyVerdict], now: float) -> None:
        """Reports the verdicts on the copies of one ApplicationSet; none when no copy waits."""
        listed = [verdict for verdict in verdicts if verdict.action is not Action.DELETE]
        known = self._waits.setdefault(name, _Wait())
        known.reasons = collections.Counter(verdict.reason for verdict in listed)
        waits = any(verdict.action is Action.WAIT for verdict in listed)
        known.since = (now if known.since is None else known.since) if waits else None
        # Copies that wait come before copies that are kept for good.
        lasting = sorted(
            (verdict for verdict in listed if verdict.reason not in PASSING),
            key=lambda verdict: (verdict.action is Action.KEEP, verdict.copy.name),
        )
        if not lasting:
            known.reason = known.reason if listed else ""
            return
        first, where = lasting[0], lasting[0].copy.cluster or "an unknown cluster"
        message = f"{first.copy.name} on {where} is still there: {first.message} ({first.reason})"
        if first.reason != known.reason:
            known.reason, known.reason_since, known.announced = first.reason, now, ""
        if message != known.announced and now - known.reason_since >= NEWS_SECONDS:
            known.announced = message
            about = application_set_reference(name, uid, self._namespace)
            self._events.record(about, "MoveWaits", message, warning=first.reason in TROUBLE)

    async def deleted(self, name: str, uid: str, verdict: CopyVerdict) -> None:
        self._metrics.copies_removed.labels(applicationset=name).inc()
        copy = verdict.copy
        LOG.info("Application %s deleted from %s: %s", copy.name, copy.cluster, verdict.message)
        self._events.record(
            application_set_reference(name, uid, self._namespace),
            "CopyRemoved",
            f"{copy.name} on {copy.cluster} is deleted: {verdict.message}",
        )

    def publish(self, names: Collection[str], now: float) -> None:
        self._waits = {name: known for name, known in self._waits.items() if name in names}
        self._metrics.moves_waiting.set(
            {
                (name, reason): n
                for name, known in self._waits.items()
                for reason, n in known.reasons.items()
            }
        )
        self._metrics.moves_waiting_seconds.set(
            {
                (name,): now - known.since
                for name, known in self._waits.items()
                if known.since is not None
            }
        )
