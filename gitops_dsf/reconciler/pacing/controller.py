"""The control loop of paced moves."""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from dsf_runtime.apiserver import ApiError
from gitops_dsf.hub.causes import by_pace, loss_of
from gitops_dsf.hub.names import MOVES_CONFIGMAP
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.pacing.admit import Admission, admit, move_of
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.pacing.ledger import Ledger, Move, Phase, advance, remembered
from gitops_dsf.pacing.maintenance import Effect, MaintenanceState, effect_of, state_of
from gitops_dsf.pacing.refuges import drawn_by, items_in, items_of, moving_in
from gitops_dsf.pacing.stored import ROOM, MovesError, Queue, StoredMoves, queue_of, read_moves
from gitops_dsf.reconciler.context import INTERVAL_SECONDS, ControllerContext, keep_looking
from gitops_dsf.reconciler.hub.api import OwnConfigMap
from gitops_dsf.reconciler.hub.kinds import placement_reference
from gitops_dsf.reconciler.hub.view import DEBOUNCE_SECONDS
from gitops_dsf.reconciler.maintenance import report_drains
from gitops_dsf.reconciler.moves.rules import is_good
from gitops_dsf.reconciler.pacing.publisher import ItemPublisher, Published
from gitops_dsf.reconciler.pacing.situation import (
    Inputs,
    RefugePlanner,
    SituationReader,
    holds_until,
    situation_of,
)
from gitops_dsf.repository.model.reconciler import Pace

PAUSE_SECONDS: Final = 1.0
"""Shortest time between two looks."""
PATIENCE_SECONDS: Final = 60.0
"""All moves wait for decisions that change, for so long. After it only those to the clusters that such a
decision names, because one Placement whose decision changes every few seconds must not stop all others.
"""
TIMEOUT_SECONDS: Final = 1800.0
"""An arrival that nobody admitted and whose copy does not become healthy counts as ended after this time."""

LOG = logging.getLogger(__name__)


class PaceController:
    """Writes the keys of `StoredMoves` in one ConfigMap, and the AddOnPlacementScores `gitops-dsf-moves`. The
    controller of moves writes another key of that ConfigMap, so now and then a write here is a conflict.
    """

    def __init__(self, context: ControllerContext, *, pace: Pace | None) -> None:
        """`pace` is None where moves are not paced: then what an earlier pace left is taken away."""
        self._pace = pace
        self._api, self._view, self._clock = context.api, context.view, context.clock
        self._decisions = context.tracker.decisions
        self._stored = OwnConfigMap(
            api=context.api, namespace=context.view.hub_namespace, name=MOVES_CONFIGMAP
        )
        self._reader = SituationReader(api=context.api, view=context.view)
        self._publisher = ItemPublisher(context.api)
        self._context = context
        self._refuges = RefugePlanner()
        self._wake = asyncio.Event()
        self._last: tuple[Inputs, Ledger, Admission] | None = None
        """The last admission, and what it depended on."""
        self._whole = self._fitted = StoredMoves()
        """What the last look knew, and what of it had room in the ConfigMap."""
        self._left_out = ""
        self._reported: Ledger | None = None
        """The last ledger whose moves were reported. A write without an answer may have taken effect, so the
        ledger that is read next is not always the last one that was reported.
        """
        self._waiting_since: float | None = None
        context.metrics.paced_moves_waiting_seconds.set_function(self._waiting_seconds)
        self._holds_until = 0.0
        """When time alone changes the last admission, in seconds since 1970."""
        self._changing_since: float | None = None
        """Since when there has always been a decision that changes."""
        self._changing: dict[str, frozenset[str]] = {}
        """The clusters that such decisions have named meanwhile, by Placement."""
        view = context.view
        self._informers = (view.placements, view.decisions, view.clusters, view.scores)
        for informer in (view.placements, view.clusters, view.applications, view.sets):
            informer.listen(lambda _key, _item: self._wake.set())
        context.tracker.listen(self._wake.set)

    async def run(self) -> None:
        await self._view.synced(
            *self._informers, self._view.applications, self._view.sets, self._view.maintenance
        )
        failing = "moves are not paced now"
        await keep_looking(self._look, wake=self._wake, pause=PAUSE_SECONDS, failing=failing)

    async def _look(self) -> float:
        if not self._api.clock.known:
            return INTERVAL_SECONDS
        if outdated := self._view.stale_reason(self._informers):
            raise ApiError(outdated)
        if not self._view.maintenance.trusted:
            msg = "the maintenance is not known now, and may freeze moves"
            raise ApiError(msg)
        now = self._api.now()
        item = await self._stored.read()
        try:
            stored = read_moves((item or {}).get("data"))
        except MovesError as error:
            # Nobody knows what is under way, so nothing may begin.
            raise ApiError(str(error)) from error
        published = self._published()
        if self._pace is None:
            if stored != StoredMoves():
                await self._stored.write(item, StoredMoves().data)
            await self._publisher.publish(published, {})
            return INTERVAL_SECONDS
        # What this leader left out for want of room, it still knows.
        before = (self._whole if stored == self._fitted else stored).not_after(now)
        refused = self._publisher.refused
        paced = self._reader.paced()
        decided, unsettled = self._decided(paced)
        ledger = advance(
            before.ledger,
            paced=paced.keys(),
            decided=decided,
            published=moving_in(published.items, before.ledger.under_way),
            finished=lambda move: self._finished(move, now),
            refused=refused,
            loss=lambda name: loss_of(name, self._view.clusters.items.get(name)),
            now=now,
        )
        kept = remembered(self._pace, (each.ranking for each in paced.values()))
        ledger = ledger.pruned(kept=kept, now=now)
        effect, maintenance = self._maintenance(paced, before.maintenance, now)
        inputs = await self._reader.read(
            paced, decided, now=now, maintenance=effect, refused=refused
        )
        if unsettled is None or ledger.omitted:
            # Nobody can count what was left out of the ledger. And before a decision has settled, OCM may
            # have sent something to the cluster that is best now, and the ledger does not say so yet.
            admission = Admission(
                moves=(), waiting=() if self._last is None else self._last[2].waiting
            )
        else:
            inputs = replace(inputs, unsettled=unsettled)
            admission = await self._admission(inputs, ledger, self._pace, now)
        ledger = ledger.adding(
            move_of(desired, now, drains=effect.drains) for desired in admission.moves
        )
        queue = queue_of(admission.waiting, before.queue, now=now)
        whole = StoredMoves(ledger=ledger, queue=queue, maintenance=maintenance)
        await self._store(item, stored, whole, kept=kept + TIMEOUT_SECONDS)
        earlier, self._reported = self._reported or before.ledger, ledger
        self._context.ledger = ledger
        self._waiting_since = min((each.since for each in queue.waiting), default=None)
        refuges = await self._refuges.plan(
            inputs, ledger, pace=self._pace, published=drawn_by(published.items), now=now
        )
        silent: ApiError | None = None
        try:
            await self._publisher.publish(published, items_of(ledger.under_way, refuges))
        except ApiError as error:
            silent = error
        self._context.metrics.paced_moves_refused.set(self._publisher.refusing)
        # What the ledger says has happened, whatever became of the items.
        await report(self._context, earlier, ledger, queue, refused=refused, now=now)
        await report_drains(self._context, before.maintenance, maintenance)
        if silent is not None:
            raise silent
        return INTERVAL_SECONDS

    def _waiting_seconds(self) -> float:
        """It goes on to count while looks fail, because nothing begins meanwhile."""
        return (
            0.0 if self._waiting_since is None else max(0.0, self._api.now() - self._waiting_since)
        )

    async def _store(
        self, item: dict[str, Any] | None, stored: StoredMoves, whole: StoredMoves, *, kept: float
    ) -> None:
        """Writes what has room, before any item: the write is the admission, and it fails if another leader
        wrote meanwhile. Raises ApiError.
        """
        after = whole.fitted(_room(item), kept=kept)
        if after != stored:
            await self._stored.write(item, after.data)
        self._whole, self._fitted = whole, after
        parts = {
            "ended moves": after.ledger.omitted > 0,
            "known decisions": bool(whole.ledger.decided) and not after.ledger.decided,
            "moves that wait": after.queue.omitted > 0,
            "windows and drains": after.maintenance.omitted > whole.maintenance.omitted,
            "names of Placements on drained clusters": after.maintenance != whole.maintenance,
        }
        left_out = ", ".join(name for name, is_left_out in parts.items() if is_left_out)
        if left_out and left_out != self._left_out:
            LOG.warning("ConfigMap %s has no room for all of these: %s", MOVES_CONFIGMAP, left_out)
        self._left_out = left_out

    def _published(self) -> Published:
        scores = self._view.scores
        return Published(items=items_in(scores.of(MOVES_SCORE)), versions=scores.versions_of_moves)

    def _maintenance(
        self, paced: Mapping[str, Paced], before: MaintenanceState, now: float
    ) -> tuple[Effect, MaintenanceState]:
        """What the windows that are open say, and how far drains are."""
        items, namespace = self._view.maintenance.current or (), self._view.argocd_namespace
        effect = effect_of(items, clusters=self._view.clusters.items, placements=paced, now=now)
        decided = {f"{namespace}/{name}": found.clusters for name, found in self._decisions.items()}
        return effect, state_of(
            items, effect, decided=decided, paced=paced.keys(), before=before, now=now
        )

    async def _admission(self, inputs: Inputs, ledger: Ledger, pace: Pace, now: float) -> Admission:
        """The admission, computed beside the event loop, or the last one if nothing has changed."""
        if self._last is not None and self._last[:2] == (inputs, ledger):
            admission = self._last[2]
            due = min(
                (each.until for each in admission.waiting if each.until is not None), default=None
            )
            if not admission.moves and (due is None or now < due) and now <= self._holds_until:
                return admission
        found, self._holds_until = await asyncio.to_thread(
            lambda: (
                admit(situation_of(inputs, ledger=ledger, pace=pace, now=now)),
                holds_until(inputs, ledger=ledger, now=now),
            )
        )
        self._last = inputs.without_scores(), ledger, found
        return found

    def _unsettled(self, changing: Mapping[str, frozenset[str]]) -> frozenset[str] | None:
        """The clusters that no move may go to, because a decision that keeps changing names them; None while
        no move may begin at all.
        """
        if not changing:
            self._changing_since, self._changing = None, {}
            return frozenset()
        now = self._clock()
        if self._changing_since is None:
            self._changing_since = now
        none = frozenset[str]()
        self._changing = {
            key: self._changing.get(key, none) | named for key, named in changing.items()
        }
        if now < self._changing_since + PATIENCE_SECONDS:
            return None
        return none.union(*self._changing.values())

    def _decided(
        self, paced: Mapping[str, Paced]
    ) -> tuple[dict[str, frozenset[str]], frozenset[str] | None]:
        """The complete decisions that have not changed for a while, and what follows from those that have
        (see _unsettled).
        """
        now, found, changing = (
            self._clock(),
            dict[str, frozenset[str]](),
            dict[str, frozenset[str]](),
        )
        for key, item in paced.items():
            decision = self._decisions.get(key.partition("/")[2])
            wanted = item.placement.spec.number_of_clusters
            if decision is None:
                continue
            if now < decision.since + DEBOUNCE_SECONDS:
                changing[key] = decision.clusters
            elif decision.clusters and len(decision.clusters) <= (wanted or 0):
                found[key] = decision.clusters
        return found, self._unsettled(changing)

    def _finished(self, move: Move, now: float) -> bool:
        """Whether the new copy is healthy and the old one is gone, for every ApplicationSet that follows."""
        if not move.admitted and now >= move.phase_since + TIMEOUT_SECONDS:
            return True
        name = move.placement.partition("/")[2]
        sets = [item for item in self._view.sets.items.values() if name in item.placements]
        unreachable = frozenset(
            cluster for cluster, item in self._view.clusters.items.items() if item.unreachable
        )
        for item in sets:
            copies = [
                each
                for each in self._view.applications.items.values()
                if each.owner_uid == item.uid
            ]
            if not any(
                is_good(each, unreachable) for each in copies if each.cluster == move.target
            ):
                return False
            stays = item.handover is not None and any(
                each.cluster == move.source for each in copies
            )
            if stays and move.source not in unreachable:
                return False
        return True


def _room(item: Mapping[str, Any] | None) -> int:
    """Bytes that the ConfigMap has for moves. Keys of others stay in it."""
    ours = StoredMoves().data.keys()
    others = {
        key: text for key, text in ((item or {}).get("data") or {}).items() if key not in ours
    }
    return ROOM - sum(len(key.encode()) + len(text.encode()) for key, text in others.items())


async def report(
    context: ControllerContext,
    before: Ledger,
    after: Ledger,
    queue: Queue,
    *,
    refused: Mapping[str, str],
    now: float,
) -> None:
    """Reports what was admitted, what ended, and what waits: the ledger before and after a look. `refused`
    says why a cluster or a Placement takes part in no move.
    """
    metrics = context.metrics
    metrics.paced_moves_waiting.set(Counter((each.reason,) for each in queue.waiting))
    metrics.paced_moves_under_way.set(sum(each.admitted for each in after.under_way))
    known = {(each.placement, each.target, each.since): each for each in before.moves}
    for move in after.moves:
        earlier = known.get((move.placement, move.target, move.since))
        if earlier is None and move.admitted:
            metrics.paced_moves_admitted.inc()
            await _record_event(
                context,
                move,
                "MoveAdmitted",
                f"{_way(move)}: {move.cause or by_pace(move.gain or 0.0)}",
            )
        elif earlier is None and move.cause is not None:
            await _record_event(
                context, move, "Moved", f"{_way(move)}: {move.cause}", warning=move.cause.warning
            )
        elif (
            earlier is not None
            and earlier.under_way
            and move.phase is Phase.ENDED
            and move.admitted
        ):
            metrics.paced_moves_duration.observe(now - move.since)
            await _record_event(
                context, move, "MoveEnded", f"{_way(move)}: {now - move.since:.0f} s"
            )
        elif (
            earlier is not None
            and move.phase is Phase.WITHDRAWN
            and earlier.phase is Phase.ADMITTED
        ):
            places = (move.target, move.source, move.placement)
            why = next((refused[name] for name in places if name in refused), None)
            words = f"OCM did not follow; is {move.target} eligible?" if why is None else why
            await _record_event(
                context, move, "MoveWithdrawn", f"{_way(move)}: {words}", warning=True
            )


async def _record_event(
    context: ControllerContext, move: Move, reason: str, message: str, *, warning: bool = False
) -> None:
    LOG.info("%s %s: %s", reason, move.placement, message)
    namespace, _, name = move.placement.partition("/")
    item = context.view.placements.items.get(name)
    if item is not None:
        about = placement_reference(name, item, namespace)
        context.events.record(about, reason, message, warning=warning)


def _way(move: Move) -> str:
    return f"{move.source} -> {move.target}"
