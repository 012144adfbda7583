"""Duty: completes make-before-break moves (docs/reconciler.md#make-before-break): the old copy goes when the
new one is Healthy.

Argo CD never deletes with the policies that these ApplicationSets have, so nobody else deletes what this duty
deletes. All that it remembers are times: when a decision changed, and when it deleted. A new leader counts
them anew, which only makes it slower.
"""

import asyncio
from typing import Final

from dsf_runtime.apiserver import ApiError
from gitops_dsf.hub.applications import Application
from gitops_dsf.hub.applicationsets import ApplicationSet
from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.hub.api import HubApi, NotSentError
from gitops_dsf.reconciler.hub.fence import Refusal
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.moves.best import BestHealth
from gitops_dsf.reconciler.moves.decided import Doubt
from gitops_dsf.reconciler.moves.handover import Action, Situation, Verdict, judge
from gitops_dsf.reconciler.moves.pauses import Pause, Pauses
from gitops_dsf.reconciler.moves.reach import Reach, Reachability
from gitops_dsf.reconciler.moves.removal import Candidate, Removal
from gitops_dsf.reconciler.moves.report import Report
from gitops_dsf.reconciler.moves.unions import SETTLE_SECONDS
from gitops_dsf.reconciler.moves.watch import DecisionWatch

LOOK_SECONDS: Final = 10.0
"""At least so often everything is judged: time-outs end, and metrics count seconds."""
PACE_SECONDS: Final = 0.5
"""Between two looks: Applications change by the second."""
PER_LOOK: Final = 20
"""Attempts in one look, at about fifteen requests each."""


class HandoverDuty:
    """Deletes Applications, asks Argo CD to refresh those that stay, and writes Events."""

    name = "handover"

    def __init__(
        self,
        *,
        api: HubApi,
        view: HubView,
        metrics: Metrics,
        events: Events,
        watch: DecisionWatch,
        pace: float = PACE_SECONDS,
    ) -> None:
        self._view, self._unions, self._clock = view, watch.unions, watch.clock
        self._api = api
        self._reach = Reachability(clusters=view.clusters, clock=watch.clock, hub_time=api.now)
        self._removal = Removal(api=api, argocd_namespace=view.argocd_namespace, reach=self._reach)
        self._report = Report(events=events, metrics=metrics.moves, namespace=view.argocd_namespace)
        self._wake = asyncio.Event()
        self._pauses, self._best = Pauses(), BestHealth()
        self._attempts = 0
        """In this look."""
        self._next, self._pace = 0.0, pace
        self.looks = 0
        """How often everything was judged."""
        self._informers = (view.sets, view.applications, view.placements, view.clusters, view.decisions)
        for informer in self._informers[:-1]:
            informer.listen(lambda _key, _item: self._wake.set())
        watch.listen(self._wake.set)

    @property
    def ready(self) -> bool:
        """Whether everything that it judges by was read."""
        return all(informer.synced.is_set() for informer in self._informers)

    async def run(self) -> None:
        """Works until it is cancelled."""
        for informer in self._informers:
            await informer.synced.wait()
        try:
            while True:
                self._wake.clear()
                await self._look()
                self.looks += 1
                await asyncio.sleep(self._pace)
                try:
                    async with asyncio.timeout(max(0.0, self._next - self._clock())):
                        await self._wake.wait()
                except TimeoutError:
                    continue
        finally:
            # What a replica says that no longer leads is nobody's truth.
            self._report.keep_only(())

    async def _look(self) -> None:
        now = self._clock()
        self._next = now + LOOK_SECONDS
        copies: dict[str, list[Application]] = {}
        for copy in self._view.applications.items.values():
            copies.setdefault(copy.owner_uid, []).append(copy)
        reach = self._reach.of(self._view.clusters.items)
        followers = {
            name: item
            for name, item in self._view.sets.items.items()
            if item.handover is not None or item.obstacle
        }
        self._report.keep_only(followers)
        alive = {item.uid for item in followers.values()}
        self._pauses.keep_only(alive)
        self._best.keep_only(alive)
        self._attempts = 0
        for name, item in sorted(followers.items()):
            situation = self._situation(item, tuple(copies.get(item.uid, ())), reach, now)
            verdicts = judge(situation) if isinstance(situation, Situation) else situation
            chosen = next((verdict for verdict in verdicts if verdict.action is Action.REMOVE), None)
            if chosen is not None and isinstance(situation, Situation) and item.handover is not None:
                outcome = await self._try(
                    Candidate(
                        set_name=name,
                        set_uid=item.uid,
                        handover=item.handover,
                        situation=situation,
                        verdict=chosen,
                    )
                )
                verdicts = tuple(outcome if verdict is chosen else verdict for verdict in verdicts)
            await self._report.show(name, item.uid, verdicts, self._clock())

    def _situation(
        self, item: ApplicationSet, copies: tuple[Application, ...], reach: Reach, now: float
    ) -> Situation | tuple[Verdict, ...]:
        """What the informers say; verdicts where there is nothing to judge by, none where no copy left the
        decision.
        """
        decided = self._decided(item)
        leaving = [copy for copy in sorted(copies, key=lambda each: each.name) if copy.cluster not in decided]
        if not leaving:
            return ()
        if item.handover is None:
            return tuple(
                Verdict(copy=copy, action=Action.KEEP, reason="Generators", message=item.obstacle)
                for copy in leaving
            )
        placement, union = (
            self._view.placements.items.get(item.handover.placement),
            self._unions.get(item.handover.placement),
        )
        if placement is None:
            return _all_wait(
                leaving, "PlacementGone", "its Placement is deleted: a decision without one is nobody's"
            )
        if union is None or not union.clusters:
            return _all_wait(
                leaving, "DecisionEmpty", "the decision names no cluster, and an empty one removes nothing"
            )
        best = self._best.observe(item.uid, union.since, leaving)
        if now < union.since + SETTLE_SECONDS:
            self._at(union.since + SETTLE_SECONDS)
            return _all_wait(
                leaving, "DecisionUnsettled", f"the decision has not held still for {SETTLE_SECONDS:g} s"
            )
        ends = union.since + SETTLE_SECONDS + item.handover.timeout
        if now < ends:
            self._at(ends)
        return Situation(
            decided=decided,
            asked_for=placement.wanted,
            copies=copies,
            unreachable=reach.unreachable,
            returned=reach.returned,
            overdue=now >= ends,
            best=best,
            name_on=item.handover.name_on,
        )

    async def _try(self, candidate: Candidate) -> Verdict:
        """The verdict of the removal, or a wait with what speaks against it now."""
        copy, uid = candidate.verdict.copy, candidate.set_uid
        pause = self._unable() or self._pauses.now(uid, self._clock())
        if pause is None and self._attempts == PER_LOOK:
            pause = Pause(
                until=self._clock(),
                doubt=Doubt(reason="Queued", message="copies of other applications go first"),
            )
        if pause is None:
            self._attempts += 1
            try:
                doubt = await self._removal.attempt(candidate)
            except NotSentError as error:
                pause = self._refused(error.refusal)
            except ApiError as error:
                if error.status:
                    pause = self._pauses.failed(
                        uid, Doubt(reason="Refused", message=str(error)), self._clock()
                    )
                else:
                    pause = self._pauses.silent(Doubt(reason="HubSilent", message=str(error)), self._clock())
            else:
                if doubt is None:
                    self._pauses.deleted(uid, self._clock())
                    await self._report.removed(candidate.set_name, uid, candidate.verdict)
                    return candidate.verdict
                pause = self._pauses.failed(uid, doubt, self._clock())
        self._at(pause.until)
        return _waits(copy, pause.doubt)

    def _unable(self) -> Pause | None:
        """What speaks against every deletion now."""
        refusal = self._api.no_deletion() or self._view.untrusted(self._informers)
        return None if refusal is None else self._refused(refusal)

    def _refused(self, refusal: Refusal) -> Pause:
        return Pause(
            until=self._clock() + refusal.seconds, doubt=Doubt(reason=refusal.reason, message=refusal.message)
        )

    def _decided(self, item: ApplicationSet) -> frozenset[str]:
        unions = [self._unions.get(placement) for placement in item.placements]
        return frozenset(cluster for union in unions if union is not None for cluster in union.clusters)

    def _at(self, moment: float) -> None:
        """Looks again then, at the latest."""
        self._next = min(self._next, moment)


def _waits(copy: Application, doubt: Doubt) -> Verdict:
    return Verdict(copy=copy, action=Action.WAIT, reason=doubt.reason, message=doubt.message)


def _all_wait(copies: list[Application], reason: str, message: str) -> tuple[Verdict, ...]:
    return tuple(_waits(copy, Doubt(reason=reason, message=message)) for copy in copies)
