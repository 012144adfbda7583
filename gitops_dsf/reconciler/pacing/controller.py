"""The controller of paced moves.

Each pass observes the hub, plans, commits the plan by one write of the ledger, reports it, and
publishes the items that carry the moves out. The order is what keeps the pace:

- The ledger is written before any item, with the resourceVersion that was read. The write is the
  admission: of two leaders that would admit at the same time, the API server refuses one.
- Items are published after it, and again in each pass until they are as the ledger says. So a
  leader that dies in between leaves a move that is counted and not carried out yet, and never one
  that is not counted.

`gitops_dsf.pacing` describes the life of a move.

Not guaranteed: that a move begins as soon as the pace allows it. While a source may be outdated, or
the ledger cannot be read or has no room, nothing begins.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from gitops_dsf.hub.inventory_digests import read_inventory_digests
from gitops_dsf.hub.moves.causes import MoveCause, loss_of
from gitops_dsf.hub.names import (
    ACKNOWLEDGED_STOP_ANNOTATION,
    INVENTORY_KEY,
    MAINTENANCE_CONFIGMAP,
    MOVES_CONFIGMAP,
)
from gitops_dsf.hub.pace import MOVES_SCORE, Verification, VerifiedBy
from gitops_dsf.pacing.admit import Admission, move_of
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.pacing.fleetstop import acknowledged
from gitops_dsf.pacing.items import drawn_by, items_in, items_of, moving_in
from gitops_dsf.pacing.ledger import Ledger, LedgerMove, remembered
from gitops_dsf.pacing.maintenance import (
    CORDON,
    MaintenanceState,
    OpenWindows,
    effect_of,
    state_of,
    tainted,
)
from gitops_dsf.pacing.progress import advance
from gitops_dsf.pacing.stored import (
    MAX_CONFIGMAP_BYTES,
    MovesError,
    StoredMoves,
    queue_of,
    read_moves,
)
from gitops_dsf.pacing.verifier import NOT_VERIFIED, Evidence, begun_by
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.configmaps import POLL_SECONDS, ConfigMapPoll, OwnConfigMap
from gitops_dsf.reconciler.loop import INTERVAL_SECONDS, NotReady, run_controller
from gitops_dsf.reconciler.maintenance import report_drains
from gitops_dsf.reconciler.pacing.admission import CachedAdmission
from gitops_dsf.reconciler.pacing.debounce import DebouncedDecisions, DecisionDebounce
from gitops_dsf.reconciler.pacing.handovers import TIMEOUT_SECONDS, Handovers
from gitops_dsf.reconciler.pacing.publisher import ItemPublisher, ShownItems
from gitops_dsf.reconciler.pacing.refugeplanner import RefugePlanner
from gitops_dsf.reconciler.pacing.report import report_moves
from gitops_dsf.reconciler.pacing.situation import Inputs, SituationReader, could_decide
from gitops_dsf.reconciler.pacing.verifiedscores import VerifiedScores
from gitops_dsf.repository.model.reconciler import Pace

PAUSE_SECONDS: Final = 1.0
"""Shortest time between two passes."""

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Observed:
    """The state of the hub at the beginning of a pass."""

    now: float
    """The hub's time, in seconds since 1970."""
    config_map: dict[str, Any] | None
    stored: StoredMoves
    """The moves that the ConfigMap has."""
    known: StoredMoves
    """The same with what had no room in it, as far as this leader knows."""
    published: ShownItems
    paced: Mapping[str, Paced]
    """The paced Placements, by namespace/name."""
    decisions: DebouncedDecisions
    refused: Mapping[str, str]
    """The reason why a cluster or a Placement takes part in no move: the hub refuses its items."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """The moves that are under way or waiting after a pass, with the inputs of the plan."""

    moves: StoredMoves
    inputs: Inputs
    kept_seconds: float
    """The time for which a move matters after its last change."""
    verifications: Mapping[str, Verification]
    """The verifications by namespace/name of the Placement."""


class PaceController:
    """Writes one ConfigMap, and the AddOnPlacementScores `gitops-dsf-moves`.

    Of the ConfigMap it writes the keys of `StoredMoves`. The controller of moves writes another
    key, so now and then a write here is a conflict.
    """

    def __init__(self, context: ControllerContext, *, pace: Pace | None) -> None:
        """`pace` is None where moves are not paced.

        Then what an earlier pace left is taken away.
        """
        self._context = context
        self._pace = pace
        self._api = context.api
        self._view = view = context.view
        self._config_map = OwnConfigMap(
            api=context.api, namespace=view.hub_namespace, name=MOVES_CONFIGMAP
        )
        self._decisions = DecisionDebounce(context.tracker.decisions, clock=context.clock)
        self._reader = SituationReader(api=context.api, view=view)
        self._admission = CachedAdmission()
        self._refuges = RefugePlanner()
        self._publisher = ItemPublisher(context.api)
        self._inventory = ConfigMapPoll(
            api=context.api,
            namespace=view.hub_namespace,
            name=MAINTENANCE_CONFIGMAP,
            key=INVENTORY_KEY,
            read=read_inventory_digests,
        )
        self._next_inventory = 0.0
        """The time at which the digests of the inventory are read again, by the clock of this
        process.
        """
        self._whole = StoredMoves()
        """The moves that the last pass knew."""
        self._fitted = StoredMoves()
        """The part of them that had room in the ConfigMap."""
        self._left_out = ""
        self._unreadable_time = ""
        """The last acknowledgement of a stop that is not a time. It is logged once."""
        self._reported: Ledger | None = None
        """The last ledger whose moves were reported.

        A write without an answer may have taken effect, so the ledger that is read next is not
        always the last one that was reported.
        """
        self._waiting_since: float | None = None
        context.metrics.paced_moves_waiting_seconds.set_function(self._waiting_seconds)
        self._wake = context.changes_of_moves()
        self._verified_scores = VerifiedScores(
            view.scores, now=context.api.now, wake=self._wake.set
        )

    async def run(self) -> None:
        view = self._view
        await run_controller(
            self._reconcile,
            name="pace",
            context=self._context,
            failing="moves are not paced now",
            reads=(view.applications, view.sets),
            # A maintenance that is not known may freeze moves.
            requires=(
                view.placements,
                view.decisions,
                view.clusters,
                view.scores,
                view.maintenance,
            ),
            needs_clock=True,
            wake=self._wake,
            min_interval=PAUSE_SECONDS,
        )

    async def _reconcile(self) -> float:
        observed = await self._observe()
        if self._pace is None:
            await self._take_away(observed)
            return INTERVAL_SECONDS
        plan = await self._plan(observed, self._pace)
        # The ledger is written before the items. Otherwise the items of a leader that dies in
        # between would carry out a move that is not counted.
        await self._commit(observed, plan)
        self._verified_scores.seen(_watched(plan))
        self._report(observed, plan)
        await self._publish(observed, plan, self._pace)
        return INTERVAL_SECONDS

    async def _observe(self) -> _Observed:
        """Reads the hub. Raises ApiError, and NotReady while the moves under way are unknown."""
        now = self._api.now()
        config_map = await self._config_map.read()
        try:
            stored = read_moves((config_map or {}).get("data"))
        except MovesError as error:
            # Nothing begins while the moves under way cannot be counted.
            raise NotReady(str(error)) from error
        # This leader still knows the moves that had no room in the ConfigMap.
        whole_moves = (self._whole if stored == self._fitted else stored).not_after(now)
        scores = self._view.scores
        published = ShownItems(
            items=items_in(scores.of(MOVES_SCORE)), versions=scores.versions_of_moves
        )
        paced = self._reader.paced()
        return _Observed(
            now=now,
            config_map=config_map,
            stored=stored,
            known=whole_moves,
            published=published,
            paced=paced,
            decisions=self._decisions.of(paced),
            refused=self._publisher.refused,
        )

    async def _take_away(self, observed: _Observed) -> None:
        """Takes away what an earlier pace left."""
        nothing = StoredMoves()
        # The items have no validUntil, so they would stay for ever.
        if observed.stored != nothing:
            await self._config_map.write(observed.config_map, nothing.data)
        await self._publisher.publish(observed.published, {})

    async def _plan(self, observed: _Observed, pace: Pace) -> _Plan:
        """The moves that are under way and those that may begin, without any write."""
        now = observed.now
        effect, maintenance = self._maintenance(observed)
        inputs = await self._reader.read(
            observed.paced,
            observed.decisions.decided,
            now=now,
            maintenance=effect,
            refused=observed.refused,
        )
        view = self._view
        handovers = Handovers(
            sets=view.sets.items,
            applications=view.applications.items,
            clusters=view.clusters.items,
            now=now,
        )
        evidence = await self._evidence(observed, inputs, handovers)
        ledger = self._advanced(observed, evidence, handovers, pace)
        kept = remembered(pace, (placement.ranking for placement in observed.paced.values()))
        ledger = ledger.pruned(kept=kept, now=now)
        changing_targets = observed.decisions.changing_targets
        if changing_targets is None or ledger.omitted:
            # Moves that were left out of the ledger cannot be counted. And while a decision
            # changes, OCM may have sent something to the cluster that is best now, and the ledger
            # does not say so yet.
            admission = Admission(moves=(), waiting=self._admission.waiting)
        else:
            inputs = replace(inputs, changing_targets=changing_targets)
            admission = await self._admission.admit(inputs, ledger, pace, now)
        admitted: list[LedgerMove] = []
        for desired in admission.moves:
            move = move_of(desired, now, drains=effect.drains)
            # Now, because the score of the old copy counts as it was before the move.
            admitted.append(begun_by(evidence, move))
        moves = StoredMoves(
            ledger=ledger.adding(admitted),
            queue=queue_of(admission.waiting, observed.known.queue, now=now),
            maintenance=maintenance,
        )
        return _Plan(
            moves=moves,
            inputs=inputs,
            kept_seconds=kept + TIMEOUT_SECONDS,
            verifications=evidence.verifications,
        )

    async def _commit(self, observed: _Observed, plan: _Plan) -> None:
        """Writes the part that has room, before any item.

        Raises ApiError, with 409 if the ConfigMap was written meanwhile.
        """
        moves = plan.moves
        fitted = moves.fitted(_room(observed.config_map), kept=plan.kept_seconds)
        # A pass that changes nothing writes nothing: each write is a conflict for the controller of
        # moves, which writes the same object.
        if fitted != observed.stored:
            await self._config_map.write(observed.config_map, fitted.data)
        self._whole = moves
        self._fitted = fitted
        self._context.ledger = moves.ledger
        self._waiting_since = min((queued.since for queued in moves.queue.waiting), default=None)
        left_out = ", ".join(_left_out(moves, fitted))
        if left_out and left_out != self._left_out:
            LOG.warning("ConfigMap %s has no room for all of these: %s", MOVES_CONFIGMAP, left_out)
        self._left_out = left_out

    def _report(self, observed: _Observed, plan: _Plan) -> None:
        """Reports what the ledger says has happened, whatever becomes of the items."""
        earlier = self._reported or observed.known.ledger
        self._reported = plan.moves.ledger
        report_moves(
            self._context,
            earlier,
            plan.moves.ledger,
            plan.moves.queue,
            refused=observed.refused,
            verifications=plan.verifications,
            now=observed.now,
        )
        report_drains(self._context, observed.known.maintenance, plan.moves.maintenance)

    async def _publish(self, observed: _Observed, plan: _Plan, pace: Pace) -> None:
        """Raises ApiError when the hub does not answer. A refusal by one cluster is no error."""
        ledger = plan.moves.ledger
        refuges = await self._refuges.plan(
            plan.inputs,
            ledger,
            pace=pace,
            published=drawn_by(observed.published.items),
            now=observed.now,
        )
        try:
            await self._publisher.publish(observed.published, items_of(ledger.under_way, refuges))
        finally:
            self._context.metrics.paced_moves_refused.set(self._publisher.refusing)

    async def _evidence(
        self, observed: _Observed, inputs: Inputs, handovers: Handovers
    ) -> Evidence:
        """The evidence by which verified moves are judged; empty if no application asks for it."""
        verifications: dict[str, Verification] = {}
        for key, paced in observed.paced.items():
            if paced.ranking.verification is not None:
                verifications[key] = paced.ranking.verification
        if not verifications:
            return NOT_VERIFIED
        now = self._context.clock()
        if now >= self._next_inventory:
            self._next_inventory = now + POLL_SECONDS
            await self._inventory.refresh()

        def can_return(placement: str, cluster: str) -> bool:
            # In `inputs` clusters that refuse items are closed, too. A refusal may pass, and the
            # move back waits for that.
            clusters = tainted(
                self._view.clusters.items, inputs.maintenance.cordoned, effect=CORDON
            )
            open_inputs = replace(inputs, clusters=clusters)
            return could_decide(open_inputs, placement, cluster, now=observed.now)

        return Evidence(
            verifications=verifications,
            read=self._verified_scores.read,
            arrived=handovers.has_arrived,
            can_return=can_return,
            old_copies=handovers.clusters_with_copies,
            inventory=self._inventory.current or {},
        )

    def _advanced(
        self, observed: _Observed, evidence: Evidence, handovers: Handovers, pace: Pace
    ) -> Ledger:
        """The ledger by what the hub shows."""
        view = self._view
        ledger = observed.known.ledger
        for moment in self._acknowledgements(observed.config_map, pace):
            ledger = acknowledged(ledger, moment, now=observed.now)

        def loss(cluster: str) -> MoveCause | None:
            return loss_of(cluster, view.clusters.items.get(cluster))

        return advance(
            ledger,
            paced=observed.paced.keys(),
            decided=observed.decisions.decided,
            published=moving_in(observed.published.items, ledger.under_way),
            finished=handovers.is_done,
            refused=observed.refused,
            loss=loss,
            evidence=evidence,
            pace=pace,
            now=observed.now,
        )

    def _acknowledgements(
        self, config_map: Mapping[str, Any] | None, pace: Pace
    ) -> Iterator[float]:
        """The stops that people acknowledged, in git and on the ledger: seconds since 1970."""
        metadata = (config_map or {}).get("metadata") or {}
        on_ledger = (metadata.get("annotations") or {}).get(ACKNOWLEDGED_STOP_ANNOTATION, "")
        for text in filter(None, (pace.acknowledged_stop, on_ledger)):
            moment = _time_of(text)
            if moment is not None:
                yield moment
            elif text != self._unreadable_time:
                self._unreadable_time = text
                LOG.warning(
                    "annotation %s of ConfigMap %s: %s is not a valid time; write one such as"
                    " 2026-11-24T20:00:00Z",
                    ACKNOWLEDGED_STOP_ANNOTATION,
                    MOVES_CONFIGMAP,
                    text,
                )

    def _maintenance(self, observed: _Observed) -> tuple[OpenWindows, MaintenanceState]:
        """The consequences of the open windows, and the progress of drains."""
        view = self._view
        windows = view.maintenance.current or ()
        effect = effect_of(
            windows, clusters=view.clusters.items, placements=observed.paced, now=observed.now
        )
        decided: dict[str, frozenset[str]] = {}
        for name, decision in self._context.tracker.decisions.items():
            decided[f"{view.argocd_namespace}/{name}"] = decision.clusters
        state = state_of(
            windows,
            effect,
            decided=decided,
            paced=observed.paced.keys(),
            before=observed.known.maintenance,
            now=observed.now,
        )
        return effect, state

    def _waiting_seconds(self) -> float:
        """It goes on to count while passes fail, because nothing begins meanwhile."""
        if self._waiting_since is None:
            return 0.0
        return max(0.0, self._api.now() - self._waiting_since)


def _watched(plan: _Plan) -> Iterator[tuple[VerifiedBy, str]]:
    """The checks whose scores a later pass judges, with their cluster."""
    for move in plan.moves.ledger.under_way:
        verification = plan.verifications.get(move.placement)
        if verification is None or not move.verified or move.passed_at:
            continue
        for check in verification.checks:
            yield check, move.target


def _time_of(text: str) -> float | None:
    """Seconds since 1970 of an RFC 3339 time; None if it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Without an offset it would be a time of the machine where this runs.
    return None if moment.tzinfo is None else moment.timestamp()


def _room(config_map: Mapping[str, Any] | None) -> int:
    """Bytes that the ConfigMap has for moves. Keys of others stay in it."""
    ours = StoredMoves().data.keys()
    room = MAX_CONFIGMAP_BYTES
    for key, text in ((config_map or {}).get("data") or {}).items():
        if key not in ours:
            room -= len(key.encode()) + len(text.encode())
    return room


def _left_out(whole: StoredMoves, fitted: StoredMoves) -> list[str]:
    """The parts that have no room."""
    parts = []
    if fitted.ledger.omitted > 0:
        parts.append("ended moves")
    if whole.ledger.decided and not fitted.ledger.decided:
        parts.append("known decisions")
    if fitted.queue.omitted > 0:
        parts.append("moves that wait")
    if fitted.maintenance.omitted > whole.maintenance.omitted:
        parts.append("windows and drains")
    if fitted.maintenance != whole.maintenance:
        parts.append("names of Placements on drained clusters")
    return parts
