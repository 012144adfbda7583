"""All moves that the scores ask for, one admission after the other, for previews. Pure.

Not guaranteed: that the moves happen like this. Scores change while moves are under way, and a wave
here takes no time but that of its verification. The waves show in which order the pace would admit
the moves by the present scores.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import msgspec

from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.moves.reasons import MoveReason
from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.pacing.admit import Situation, admit, move_of
from gitops_dsf.pacing.desired import DesiredMove
from gitops_dsf.pacing.ledger import Ledger, LedgerMove, Phase
from gitops_dsf.simulator import HubState

MAX_WAVES: Final = 1000
"""Scores that contradict each other could ask for moves without end."""


class AdmittedWave(NamedTuple):
    """Moves that may be under way together."""

    at: float
    """The earliest time when it may begin, in seconds since 1970.

    Handovers take no time, and verified moves pass as early as they can.
    """
    moves: tuple[DesiredMove, ...]


def waves(
    situation: Situation, *, max_waves: int = MAX_WAVES, measured: bool = True
) -> Iterator[AdmittedWave]:
    """The moves in waves. Each begins when the one before it is done and measured.

    Without `measured`, only the moves away from drained clusters are given, and each wave begins
    when the one before it is done.

    Every move is assumed to succeed, those of the ledger at once. What the moves change about the
    scores is the demand that people wrote.
    """
    situation = _caught_up(situation)
    for _ in range(max_waves):
        admission = admit(situation if measured else replace(situation, only=staying(situation)))
        if admission.moves:
            yield AdmittedWave(situation.seconds, admission.moves)
            situation = _done(situation, admission.moves, measured=measured)
            continue
        ends: list[float] = []
        for waiting in admission.waiting:
            # In a preview the scores stay as they are, so what they may show of the last moves
            # already stays in doubt, however much time passes.
            if waiting.until is not None and waiting.reason is not MoveReason.MEASURING:
                ends.append(waiting.until)
        if not ends:
            return
        situation = replace(situation, pace_time=min(ends))


def staying(situation: Situation) -> frozenset[str]:
    """The paced Placements (namespace/name) that are on a cluster that is drained."""
    keys = set[str]()
    for page in situation.hub.decisions.values():
        key = f"{page.metadata.namespace}/{page.placement}"
        if key in situation.paced and not situation.leaving.isdisjoint(page.cluster_names):
            keys.add(key)
    return frozenset(keys)


def _caught_up(situation: Situation) -> Situation:
    """The situation when the moves under way have ended. Withdrawn moves did not happen."""
    following: dict[str, LedgerMove] = {}
    ended: list[LedgerMove] = []
    for move in situation.ledger.moves:
        if move.phase is Phase.WITHDRAWN:
            continue
        after = move
        if move.phase is Phase.ADMITTED:
            following[move.placement] = move
            # OCM has not followed it, so no score can show it yet.
            after = msgspec.structs.replace(after, since=situation.seen)
        if move.under_way:
            after = after.entered(Phase.ENDED, situation.seen)
        ended.append(after)
    ledger = situation.ledger
    # Holds go on, and a fleet that has stopped stays so.
    known = Ledger(
        tuple(ended),
        holds=ledger.holds,
        returns=ledger.returns,
        stopped_since=ledger.stopped_since,
    )
    return _after(situation, known, following)


def _done(situation: Situation, moves: Iterable[DesiredMove], *, measured: bool) -> Situation:
    """The situation when these moves have ended; with `measured`, when also their load is measured.

    A move that is verified ends when its checks can have passed at the earliest. The scores stay
    as they were published, so the load of these moves is still assumed.
    """
    now = situation.seconds
    following: dict[str, LedgerMove] = {}
    ended: list[LedgerMove] = []
    done = now
    for desired in moves:
        move = move_of(desired, now)
        following[move.placement] = move
        ranking = situation.paced[move.placement].ranking
        end = now
        if ranking.verification is not None:
            end += ranking.verification.passes_after
        ended.append(move.entered(Phase.ENDED, end))
        if measured:
            end += situation.pace.measured_after(ranking.measured_after)
        done = max(done, end)
    ledger = msgspec.structs.replace(situation.ledger, moves=(*situation.ledger.moves, *ended))
    later = _after(situation, ledger, following)
    return replace(later, pace_time=done)


def _after(situation: Situation, ledger: Ledger, following: Mapping[str, LedgerMove]) -> Situation:
    """The situation with another ledger, after OCM has followed these moves (by namespace/name)."""
    drained = situation.drained
    return replace(
        situation,
        hub=_following(situation.hub, following),
        drained=None if drained is None else _following(drained, following),
        ledger=ledger,
    )


def _following(state: HubState, moves: Mapping[str, LedgerMove]) -> HubState:
    """The hub after OCM has followed these moves (by namespace/name)."""
    pages: list[PlacementDecision] = []
    for page in state.decisions.values():
        if f"{page.metadata.namespace}/{page.placement}" not in moves:
            pages.append(page)
    for key, move in moves.items():
        namespace, _, name = key.partition("/")
        before = set[str]()
        for page in state.decisions_of.get((namespace, name), ()):
            before.update(page.cluster_names)
        clusters = sorted(before - {move.source} | {move.target})
        pages.append(decision_of(namespace=namespace, placement=name, clusters=clusters))
    return state.deciding(pages)
