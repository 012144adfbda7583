"""Which desired moves may begin now, and what the others wait for. Pure."""

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

from gitops_dsf.hub.causes import by_drain, by_pace
from gitops_dsf.hub.pace import PacedRanking
from gitops_dsf.hub.reasons import MoveReason
from gitops_dsf.pacing.assumptions import Shift, assume, shifts_of
from gitops_dsf.pacing.contenders import Contenders
from gitops_dsf.pacing.desired import DesiredMove, Paced
from gitops_dsf.pacing.ledger import Ledger, Move
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState
from gitops_dsf.simulator.prioritizers import MAX_SCORE
from gitops_dsf.wording import plural


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """Everything that an admission depends on."""

    hub: HubState
    """Published scores and decisions."""
    paced: Mapping[str, Paced]
    """By namespace/name."""
    ledger: Ledger
    pace: Pace
    now: datetime
    frozen: Mapping[str, str] = field(default_factory=dict)
    """The maintenance by which an application (namespace/name) or a cluster takes no part in moves."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Why an application (namespace/name) or a cluster gets no items of moves."""
    drained: HubState | None = None
    """The hub with a taint that forbids the clusters to be left; None while none is drained."""
    leaving: frozenset[str] = frozenset()
    """Clusters that are drained."""
    unsettled: frozenset[str] = frozenset()
    """Clusters that are named by decisions that keep changing. No move goes there."""
    only: Collection[str] | None = None
    """The Placements (namespace/name) that may move; None means all."""
    pace_time: float | None = None
    """Seconds since 1970 by which the pace counts; None: `now`. Previews of many moves run ahead."""

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
    move: DesiredMove
    reason: MoveReason
    message: str
    until: float | None = None
    """When the reason ends, if only time must pass."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Admission:
    """The moves that may begin, in order, and those that wait, the largest gain first."""

    moves: tuple[DesiredMove, ...]
    waiting: tuple[Waiting, ...]


class DesiredMoves(Protocol):
    """Who knows where the scores ask paced Placements to go."""

    def asking(self, shifts: Sequence[Shift]) -> Iterable[str]:
        """The Placements (namespace/name) that may ask for a move, in order."""

    def of(self, key: str, shifts: Sequence[Shift]) -> DesiredMove | None:
        """The move that one of them asks for, with the assumed load."""


def admit(situation: Situation, desired_moves: DesiredMoves | None = None) -> Admission:
    """Admits moves in order of gain while the pace allows. Each one sees the load of those before it.

    A desired move is computed again before it is admitted, because the moves admitted before it changed what the
    scores will say. By default the simulator computes it for the hub of the situation.
    """
    return _Round(situation, desired_moves or _Simulated(situation)).run()


class _Simulated:
    """The moves that are desired on the hub of a situation, by the simulator."""

    def __init__(self, situation: Situation) -> None:
        self._situation = situation
        self._base = situation.drained or situation.hub
        self._contenders = self._on(self._base)
        self._assumed = 0
        """How many shifts they assume."""

    def asking(self, shifts: Sequence[Shift]) -> Iterable[str]:  # noqa: ARG002 - only the simulator knows
        only = self._situation.only
        return sorted(self._situation.paced if only is None else only)

    def of(self, key: str, shifts: Sequence[Shift]) -> DesiredMove | None:
        if len(shifts) != self._assumed:
            scores = assume(self._base.scores, shifts)
            changed = {shift.resource for shift in shifts}
            self._contenders = self._on(self._base.scoring(scores, changed=changed))
            self._assumed = len(shifts)
        return self._contenders.desired(self._situation.paced[key])

    def _on(self, state: HubState) -> Contenders:
        return Contenders(state, now=self._situation.now, drained=self._situation.leaving)


class _Round:
    def __init__(self, situation: Situation, desired_moves: DesiredMoves) -> None:
        self._situation = situation
        self._desired_moves = desired_moves
        self._ledger = situation.ledger
        self._shifts = list(known_shifts(situation))
        """Those of moves that were admitted in this round are added at the end."""
        self._doubts = _doubts(self._shifts)
        """Without those moves: no score can show them yet."""
        self._version = 0
        """How many moves were admitted when a desired move was computed."""

    def run(self) -> Admission:
        moves: list[DesiredMove] = []
        waiting: list[Waiting] = []
        queue = [
            (*_order(desired), desired.placement, 0, desired)
            for desired in map(self._desired, self._desired_moves.asking(self._shifts))
            if desired is not None
        ]
        heapq.heapify(queue)
        while queue:
            *_, version, desired = heapq.heappop(queue)
            if version != self._version and not self._is_full():
                again = self._desired(desired.placement)
                if again is not None:
                    heapq.heappush(queue, (*_order(again), again.placement, self._version, again))
                continue
            obstacle = self._obstacle(desired)
            if obstacle is not None:
                waiting.append(obstacle)
                continue
            moves.append(desired)
            move = move_of(desired, self._situation.seconds)
            self._ledger = self._ledger.adding([move])
            ranking = self._situation.paced[desired.placement].ranking
            found = list(shifts_of(move, ranking, now=self._situation.seen))
            self._shifts += found
            self._version += bool(found)
        waiting.sort(key=lambda each: (*_order(each.move), each.move.placement))
        return Admission(moves=tuple(moves), waiting=tuple(waiting))

    def _desired(self, key: str) -> DesiredMove | None:
        return (
            None if self._ledger.of(key) is not None else self._desired_moves.of(key, self._shifts)
        )

    def _obstacle(self, desired: DesiredMove) -> Waiting | None:
        """What the move waits for; None if it may begin."""
        situation, pace, ledger = self._situation, self._situation.pace, self._ledger
        for name in (desired.placement, desired.source, desired.target):
            if name in situation.frozen:
                return Waiting(
                    move=desired, reason=MoveReason.FROZEN, message=situation.frozen[name]
                )
            if name in situation.refused:
                return Waiting(
                    move=desired, reason=MoveReason.REFUSED, message=situation.refused[name]
                )
        if desired.target in situation.unsettled:
            message = f"a decision that names {desired.target} keeps changing"
            return Waiting(move=desired, reason=MoveReason.UNSETTLED, message=message)
        if self._is_full():
            message = f"{plural(self._under_way(), 'move')} under way"
            return Waiting(move=desired, reason=MoveReason.CONCURRENT, message=message)
        ended = ledger.last_end(desired.placement)
        rest = max(pace.cooldown_seconds, self._settle(desired.placement))
        if ended is not None and not desired.drains and situation.seconds < ended + rest:
            until = ended + rest
            return Waiting(
                move=desired,
                reason=MoveReason.COOLDOWN,
                message="it moved a short time ago",
                until=until,
            )
        arrivals = [each for each in ledger.moves if each.target == desired.target]
        coming = sum(each.under_way for each in arrivals)
        if coming >= pace.arrivals_per_cluster:
            message = f"{desired.target} receives {coming} already"
            return Waiting(move=desired, reason=MoveReason.ARRIVALS, message=message)
        ends = [
            each.phase_since + self._settle(each.placement)
            for each in arrivals
            if not each.under_way
        ]
        unmeasured = sorted(end for end in ends if situation.seconds < end)
        if coming + len(unmeasured) >= pace.arrivals_per_cluster:
            until = unmeasured[coming + len(unmeasured) - pace.arrivals_per_cluster]
            message = f"the scores of {desired.target} have not measured its last arrival"
            return Waiting(move=desired, reason=MoveReason.SETTLE, message=message, until=until)
        if not desired.drains and not _is_sure(
            desired, situation.paced[desired.placement].ranking, self._doubts
        ):
            message = f"the scores of {desired.source} and {desired.target} may show their last moves already"
            return Waiting(
                move=desired,
                reason=MoveReason.MEASURING,
                message=message,
                until=self._measured(desired),
            )
        return None

    def _measured(self, desired: DesiredMove) -> float | None:
        """When the scores have surely measured the moves of these clusters; None if one is under way."""
        ends = []
        for move in self._ledger.moves:
            paced = self._situation.paced.get(move.placement)
            if paced is not None and not {move.source, move.target}.isdisjoint(
                (desired.source, desired.target)
            ):
                if move.under_way:
                    return None
                ends.append(move.phase_since + paced.ranking.measured_after)
        return max((end for end in ends if self._situation.seen < end), default=None)

    def _under_way(self) -> int:
        return sum(each.admitted for each in self._ledger.under_way)

    def _is_full(self) -> bool:
        return self._under_way() >= self._situation.pace.concurrent

    def _settle(self, placement: str) -> float:
        """Seconds until scores have measured a move of a Placement."""
        paced = self._situation.paced.get(placement)
        after = paced.ranking.measured_after if paced is not None else 0.0
        return self._situation.pace.settle(after)


_Doubts = Mapping[tuple[str, str, str, bool], float]
"""Points that scores may show already, by resource, dimension, cluster, and whether they raise the score."""


def _doubts(shifts: Iterable[Shift]) -> _Doubts:
    summed: dict[tuple[str, str, str, bool], float] = {}
    for shift in shifts:
        if shift.doubt:
            key = shift.resource, shift.dimension, shift.cluster, shift.points > 0
            summed[key] = summed.get(key, 0.0) + shift.doubt
    return summed


def _is_sure(desired: DesiredMove, ranking: PacedRanking, doubts: _Doubts) -> bool:
    """Whether OCM would make this move whatever the scores show of the last moves already.

    A load that a published score shows and that is assumed as well counts twice. Then the source of the move
    is better than it seems, if something arrived there, and the target is worse, if something left it. So an
    application would follow a move in the other direction, and another one follow it back, for ever.
    """
    doubt = 0.0
    for term in ranking.terms:
        is_better_raised = term.weight > 0
        arrived = doubts.get(
            (term.resource, term.dimension, desired.source, not is_better_raised), 0.0
        )
        left = doubts.get((term.resource, term.dimension, desired.target, is_better_raised), 0.0)
        doubt += abs(term.weight) * (arrived + left)
    if not doubt:
        return True
    lead = round(desired.points * ranking.total_weight) - doubt
    least = MAX_SCORE * ranking.steady
    if lead + least < 2 * ranking.load * ranking.total_weight:
        return False
    # Of equal sums OCM takes the first name.
    return lead > least or (lead == least and desired.target < desired.source)


def move_of(
    desired: DesiredMove, now: float, *, drains: Mapping[str, str] = MappingProxyType({})
) -> Move:
    """The move that is admitted. `drains`: the maintenance by drained cluster."""
    cause = (
        by_drain(desired.source, drains.get(desired.source, ""))
        if desired.drains
        else by_pace(desired.points)
    )
    return Move(
        placement=desired.placement,
        source=desired.source,
        target=desired.target,
        since=now,
        phase_since=now,
        gain=round(desired.points, 1),
        cause=cause,
    )


def known_shifts(situation: Situation) -> Iterable[Shift]:
    """The load of the moves of the ledger that the scores may not have measured yet."""
    for move in situation.ledger.moves:
        paced = situation.paced.get(move.placement)
        if paced is not None:
            yield from shifts_of(move, paced.ranking, now=situation.seen)


def _order(desired: DesiredMove) -> tuple[bool, float, float]:
    """Clusters that are drained first, then by gain, then by load: so fewer moves even a fleet out."""
    return (not desired.drains, -desired.points, -desired.load)
