"""Admission of paced moves: which desired moves may begin now, and why others wait. Pure.

Moves are admitted in order of gain, each one with the load of those before it. A move is refused
whenever it could be wrong: when another application may arrive at the target, when the scores have
not measured the last arrival, and when it would be a loss if the scores show the last moves
already.

Not guaranteed: that every desired move begins at last. While the scores change faster than they are
measured, some wait without end.
"""

import heapq
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, Protocol

from gitops_dsf.hub.moves.causes import by_drain, by_pace
from gitops_dsf.hub.moves.reasons import MoveReason
from gitops_dsf.hub.pace import PacedRanking
from gitops_dsf.pacing.assumptions import AssumedShift, assume, shifts_of
from gitops_dsf.pacing.contenders import Contenders
from gitops_dsf.pacing.desired import DesiredMove, Paced
from gitops_dsf.pacing.holds import held_targets
from gitops_dsf.pacing.ledger import Ledger, LedgerMove
from gitops_dsf.pacing.ledgerindex import LedgerIndex
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState
from gitops_dsf.simulator.prioritizers import MAX_SCORE
from gitops_dsf.wording import plural

_Doubts = Mapping[tuple[str, str, str, bool], float]
"""Points that scores may show already.

By resource, dimension, cluster, and whether they raise the score.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """Everything that an admission depends on."""

    hub: HubState
    """The clusters with their taints, the sets, Placements, decisions and published scores.

    Cordoned clusters have their taint here before they have it on the hub.
    """
    paced: Mapping[str, Paced]
    """Paced Placements by namespace/name."""
    ledger: Ledger
    pace: Pace
    now: datetime
    frozen: Mapping[str, str] = field(default_factory=dict)
    """The maintenance by which an application (namespace/name) or a cluster does not move."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """The reasons why applications (namespace/name) and clusters get no items of moves."""
    drained: HubState | None = None
    """The hub with a taint that forbids the clusters to be left; None while none is drained."""
    leaving: frozenset[str] = frozenset()
    """Clusters that are drained."""
    changing_targets: frozenset[str] = frozenset()
    """Clusters that are named by decisions that keep changing. No move goes there."""
    only: Collection[str] | None = None
    """The Placements (namespace/name) that may move; None means all."""
    pace_time: float | None = None
    """Seconds since 1970 by which the pace counts; None means `now`.

    Previews of many moves run ahead of the scores.
    """

    @property
    def seconds(self) -> float:
        """Seconds since 1970 by which the pace counts."""
        return self.seen if self.pace_time is None else self.pace_time

    @property
    def seen(self) -> float:
        """Seconds since 1970 up to which the scores have measured moves."""
        return self.now.timestamp()


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """A desired move that may not begin now."""

    move: DesiredMove
    reason: MoveReason
    message: str
    until: float | None = None
    """The time when the reason ends, if only time must pass."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Admission:
    """The moves that may begin, in order, and those that wait, the largest gain first."""

    moves: tuple[DesiredMove, ...]
    waiting: tuple[Waiting, ...]


class DesiredMoves(Protocol):
    """The moves that the scores ask for, computed for one paced Placement at a time."""

    def asking(self, shifts: Sequence[AssumedShift]) -> Iterable[str]:
        """The Placements (namespace/name) that may ask for a move, in order."""

    def of(
        self, key: str, shifts: Sequence[AssumedShift], *, held: Collection[str] = frozenset()
    ) -> DesiredMove | None:
        """The move that one of them asks for, with the assumed load.

        `held` are clusters to which it does not go now.
        """


def admit(situation: Situation, desired_moves: DesiredMoves | None = None) -> Admission:
    """Admits moves in order of gain while the pace allows it.

    Each one sees the load of those before it. A desired move is computed again before it is
    admitted, because the moves admitted before it changed what the scores will say. By default the
    simulator computes it for the hub of the situation.
    """
    return _AdmissionRun(situation, desired_moves or _Simulated(situation)).run()


class _Simulated:
    """The moves that are desired on the hub of a situation, by the simulator."""

    def __init__(self, situation: Situation) -> None:
        self._situation = situation
        # With the taint, the simulator also moves what a drain must move.
        self._base = situation.drained or situation.hub
        self._contenders = self._on(self._base)
        self._assumed = 0
        """The number of shifts that the contenders assume."""

    def asking(self, shifts: Sequence[AssumedShift]) -> Iterable[str]:  # noqa: ARG002 - asks for all
        only = self._situation.only
        return sorted(self._situation.paced if only is None else only)

    def of(
        self, key: str, shifts: Sequence[AssumedShift], *, held: Collection[str] = frozenset()
    ) -> DesiredMove | None:
        if len(shifts) != self._assumed:
            scores = assume(self._base.scores, shifts)
            changed = {shift.resource for shift in shifts}
            self._contenders = self._on(self._base.scoring(scores, changed=changed))
            self._assumed = len(shifts)
        return self._contenders.desired(self._situation.paced[key], held=held)

    def _on(self, state: HubState) -> Contenders:
        return Contenders(state, now=self._situation.now, drained=self._situation.leaving)


class _Queued(NamedTuple):
    """A desired move in a heap, the best one first.

    No two have the same Placement, so the moves themselves are never compared.
    """

    order: tuple[bool, float, float]
    placement: str
    version: int
    """The number of admitted moves when it was computed."""
    move: DesiredMove


class _Arrivals(NamedTuple):
    """The arrivals at one cluster."""

    coming: int
    """Moves to it that are under way."""
    unmeasured: Sequence[float]
    """The times at which the scores have measured the moves that ended, in order.

    Only future ones.
    """


class _AdmissionRun:
    """One admission, from the largest gain to the smallest."""

    def __init__(self, situation: Situation, desired_moves: DesiredMoves) -> None:
        self._situation = situation
        self._desired_moves = desired_moves
        self._moves = LedgerIndex(situation.ledger.moves)
        """The moves of the ledger. Moves that are admitted in this run are added at the end."""
        self._arrivals_at: dict[str, _Arrivals] = {}
        """Arrivals by cluster. Often many Placements ask for the same one."""
        self._measured_ends: dict[str, float] = {}
        """Answers of `_measured_end`, by cluster."""
        self._shifts = list(known_shifts(situation))
        """The assumed shifts. Those of moves that are admitted in this run are added at the end."""
        self._doubts = _doubts(self._shifts)
        """The doubts without the moves of this run: no score can show them yet."""
        self._version = 0
        """The number of admitted moves when a desired move was computed."""
        self._held = held_targets(situation.ledger.holds, situation.seconds)
        """The holds by Placement and cluster."""

    def run(self) -> Admission:
        moves: list[DesiredMove] = []
        waiting: list[Waiting] = []
        queue: list[_Queued] = []
        for key in self._desired_moves.asking(self._shifts):
            desired = self._desired(key)
            if desired is not None:
                queue.append(_Queued(_order(desired), desired.placement, 0, desired))
        heapq.heapify(queue)
        while queue:
            *_, version, desired = heapq.heappop(queue)
            # Only the first of the queue is computed again: all of them after each admission would
            # be slow for a large fleet. When nothing may begin any more, the order of those that
            # wait is good enough.
            if version != self._version and not self._is_full():
                again = self._desired(desired.placement)
                if again is not None:
                    queued = _Queued(_order(again), again.placement, self._version, again)
                    heapq.heappush(queue, queued)
                continue
            obstacle = self._obstacle(desired)
            if obstacle is not None:
                waiting.append(obstacle)
                continue
            moves.append(desired)
            self._note_admitted(desired)
        waiting.sort(key=lambda held: (*_order(held.move), held.move.placement))
        return Admission(moves=tuple(moves), waiting=tuple(waiting))

    def _note_admitted(self, desired: DesiredMove) -> None:
        move = move_of(desired, self._situation.seconds)
        self._moves.add(move)
        for cluster in (move.source, move.target):
            self._arrivals_at.pop(cluster, None)
            self._measured_ends.pop(cluster, None)
        ranking = self._situation.paced[desired.placement].ranking
        shifts = list(shifts_of(move, ranking, now=self._situation.seen))
        self._shifts += shifts
        # Without a demand a move changes no score, so what was computed before it still holds.
        self._version += bool(shifts)

    def _desired(self, key: str) -> DesiredMove | None:
        if self._moves.under_way(key) is not None:
            # One application moves once at a time.
            return None
        held = self._held.get(key)
        if held is None:
            return self._desired_moves.of(key, self._shifts)
        desired = self._desired_moves.of(key, self._shifts, held=held)
        if desired is not None:
            return desired
        # If it may go nowhere else, people see that the hold keeps it where it is.
        without_holds = self._desired_moves.of(key, self._shifts)
        if without_holds is None or without_holds.target not in held:
            return None
        return without_holds

    def _obstacle(self, desired: DesiredMove) -> Waiting | None:
        """The first reason why the move waits; None if it may begin.

        What people or the hub must end comes first, then what ends by itself.
        """
        situation = self._situation
        if situation.ledger.stopped_since:
            message = "too many moves came back, and nobody has acknowledged it"
            return Waiting(move=desired, reason=MoveReason.STOPPED, message=message)
        hold = self._held.get(desired.placement, {}).get(desired.target)
        if hold is not None:
            message = f"it came back from {hold.target}: {hold.detail}"
            return Waiting(move=desired, reason=MoveReason.HELD, message=message, until=hold.until)
        for name in (desired.placement, desired.source, desired.target):
            if name in situation.frozen:
                return Waiting(
                    move=desired, reason=MoveReason.FROZEN, message=situation.frozen[name]
                )
            if name in situation.refused:
                return Waiting(
                    move=desired, reason=MoveReason.REFUSED, message=situation.refused[name]
                )
        # OCM may be about to send something there, which the ledger does not have yet.
        if desired.target in situation.changing_targets:
            message = f"a decision that names {desired.target} keeps changing"
            return Waiting(move=desired, reason=MoveReason.UNSETTLED, message=message)
        if self._is_full():
            message = f"{plural(self._under_way(), 'move')} under way"
            return Waiting(move=desired, reason=MoveReason.CONCURRENT, message=message)
        return self._rests(desired) or self._arrivals(desired) or self._doubtful(desired)

    def _rests(self, desired: DesiredMove) -> Waiting | None:
        """The cooldown of the application. It does not hold one on a cluster that is drained."""
        ended = self._moves.last_end(desired.placement)
        # Before the scores have measured the last move, another one of the same application would
        # follow numbers that still show it on the old cluster.
        rest = max(self._situation.pace.cooldown_seconds, self._measured_after(desired.placement))
        if ended is None or desired.drains or self._situation.seconds >= ended + rest:
            return None
        return Waiting(
            move=desired,
            reason=MoveReason.COOLDOWN,
            message="it moved a short time ago",
            until=ended + rest,
        )

    def _arrivals(self, desired: DesiredMove) -> Waiting | None:
        """The arrivals at the target, including those that its scores have not measured yet."""
        limit = self._situation.pace.arrivals_per_cluster
        if desired.target not in self._arrivals_at:
            self._arrivals_at[desired.target] = self._arrivals_of(desired.target)
        coming, unmeasured = self._arrivals_at[desired.target]
        if coming >= limit:
            message = f"{desired.target} receives {coming} already"
            return Waiting(move=desired, reason=MoveReason.ARRIVALS, message=message)
        if coming + len(unmeasured) < limit:
            return None
        # Places become free one after another, in the order in which arrivals are measured.
        message = f"the scores of {desired.target} have not measured its last arrival"
        until = unmeasured[coming + len(unmeasured) - limit]
        return Waiting(move=desired, reason=MoveReason.SETTLE, message=message, until=until)

    def _arrivals_of(self, cluster: str) -> _Arrivals:
        coming = 0
        unmeasured: list[float] = []
        # Arrivals that were not admitted are in the ledger as well: their load is just as real.
        for move in self._moves.arrivals(cluster):
            if move.under_way:
                coming += 1
                continue
            measured_at = move.phase_since + self._measured_after(move.placement)
            if self._situation.seconds < measured_at:
                unmeasured.append(measured_at)
        return _Arrivals(coming, sorted(unmeasured))

    def _doubtful(self, desired: DesiredMove) -> Waiting | None:
        """Whether the move may be a loss, because the scores may show the last moves already."""
        ranking = self._situation.paced[desired.placement].ranking
        # A drain is not made for the scores, so it may be a loss by them.
        if desired.drains or _is_sure(desired, ranking, self._doubts):
            return None
        message = (
            f"the scores of {desired.source} and {desired.target} may show their last moves already"
        )
        until = self._measured_at(desired)
        return Waiting(move=desired, reason=MoveReason.MEASURING, message=message, until=until)

    def _measured_at(self, desired: DesiredMove) -> float | None:
        """The time when the scores have surely measured the last moves of both clusters.

        It is None if one of these moves is under way, because its end is unknown.
        """
        last = max(self._measured_end(desired.source), self._measured_end(desired.target))
        return last if self._situation.seen < last < math.inf else None

    def _measured_end(self, cluster: str) -> float:
        """The time when the scores have measured the last move of a cluster.

        It is infinite while a move is under way, and -inf without any.
        """
        if cluster not in self._measured_ends:
            last = -math.inf
            for move in self._moves.touching(cluster):
                paced = self._situation.paced.get(move.placement)
                if paced is None:
                    continue
                end = math.inf
                if not move.under_way:
                    end = move.phase_since + paced.ranking.measured_after
                last = max(last, end)
            self._measured_ends[cluster] = last
        return self._measured_ends[cluster]

    def _under_way(self) -> int:
        """Moves that count against `concurrent`."""
        # A move that OCM made by itself does not count: it could not have been held back.
        return self._moves.admitted_under_way

    def _is_full(self) -> bool:
        """Whether the pace allows no further move."""
        return self._under_way() >= self._situation.pace.concurrent

    def _measured_after(self, placement: str) -> float:
        """Seconds until scores have measured a move of a Placement."""
        paced = self._situation.paced.get(placement)
        by_scorers = paced.ranking.measured_after if paced is not None else 0.0
        return self._situation.pace.measured_after(by_scorers)


def _doubts(shifts: Iterable[AssumedShift]) -> _Doubts:
    points: dict[tuple[str, str, str, bool], float] = {}
    for shift in shifts:
        if shift.doubt:
            key = shift.resource, shift.dimension, shift.cluster, shift.points > 0
            points[key] = points.get(key, 0.0) + shift.doubt
    return points


def _is_sure(desired: DesiredMove, ranking: PacedRanking, doubts: _Doubts) -> bool:
    """Whether OCM would make this move whatever the scores show of the last moves already.

    A load that a published score shows and that is assumed as well counts twice. Then the source of
    the move is better than it seems, if something arrived there, and the target is worse, if
    something left it. So an application would follow a move in the other direction, and another one
    follow it back, for ever.
    """
    doubt = 0.0
    for term in ranking.terms:
        higher_is_better = term.weight > 0
        arrival = (term.resource, term.dimension, desired.source, not higher_is_better)
        departure = (term.resource, term.dimension, desired.target, higher_is_better)
        doubt += abs(term.weight) * (doubts.get(arrival, 0.0) + doubts.get(departure, 0.0))
    if not doubt:
        return True
    lead = round(desired.points * ranking.total_weight) - doubt
    least = MAX_SCORE * ranking.steady
    if lead + least < 2 * ranking.load * ranking.total_weight:
        return False
    # If sums are equal, OCM takes the first name.
    return lead > least or (lead == least and desired.target < desired.source)


def move_of(
    desired: DesiredMove, now: float, *, drains: Mapping[str, str] = MappingProxyType({})
) -> LedgerMove:
    """The move that is admitted. `drains`: the maintenance by drained cluster."""
    if desired.drains:
        cause = by_drain(desired.source, drains.get(desired.source, ""))
    else:
        cause = by_pace(desired.points)
    return LedgerMove(
        placement=desired.placement,
        source=desired.source,
        target=desired.target,
        since=now,
        phase_since=now,
        gain=round(desired.points, 1),
        cause=cause,
    )


def known_shifts(situation: Situation) -> Iterable[AssumedShift]:
    """The load of the moves of the ledger that the scores may not have measured yet."""
    for move in situation.ledger.moves:
        paced = situation.paced.get(move.placement)
        if paced is not None:
            yield from shifts_of(move, paced.ranking, now=situation.seen)


def _order(desired: DesiredMove) -> tuple[bool, float, float]:
    """Drained clusters come first, then the largest gain, then the largest load.

    With the largest loads first, fewer moves even a fleet out.
    """
    return (not desired.drains, -desired.points, -desired.load)
