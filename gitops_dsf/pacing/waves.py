"""All moves that the scores ask for, one admission after the other, for previews."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import msgspec

from gitops_dsf.hub.placements import decision_of
from gitops_dsf.hub.reasons import MoveReason
from gitops_dsf.pacing.admit import Situation, admit, move_of
from gitops_dsf.pacing.desired import DesiredMove
from gitops_dsf.pacing.ledger import Ledger, Move, Phase
from gitops_dsf.simulator import HubState

MOST_WAVES: Final = 1000
"""Scores that contradict each other could ask for moves without end."""


class Wave(NamedTuple):
    """Moves that may be under way together."""

    at: float
    """When it may begin at the earliest, in seconds since 1970: handovers take no time."""
    moves: tuple[DesiredMove, ...]


def waves(situation: Situation, *, most: int = MOST_WAVES, measured: bool = True) -> Iterator[Wave]:
    """The moves in waves: each begins when the one before it is done and measured. Without `measured`, only
    the moves away from drained clusters: each begins when the one before it is done.

    Every move is assumed to succeed, those of the ledger at once. What the moves change about the scores is
    the demand that people wrote.
    """
    situation = _caught_up(situation)
    for _ in range(most):
        admission = admit(situation if measured else replace(situation, only=staying(situation)))
        if admission.moves:
            yield Wave(situation.seconds, admission.moves)
            situation = _done(situation, admission.moves, measured=measured)
            continue
        ends = [
            each.until
            for each in admission.waiting
            # The scores stay as they are, so what they may show already stays in doubt.
            if each.until is not None and each.reason is not MoveReason.MEASURING
        ]
        if not ends:
            return
        situation = replace(situation, pace_time=min(ends))


def staying(situation: Situation) -> frozenset[str]:
    """The paced Placements (namespace/name) that are on a cluster that is drained."""
    return frozenset(
        key
        for page in situation.hub.decisions.values()
        if (key := f"{page.metadata.namespace}/{page.placement}") in situation.paced
        and not situation.leaving.isdisjoint(page.cluster_names)
    )


def _caught_up(situation: Situation) -> Situation:
    """The situation when the moves under way have ended. Those that are withdrawn did not happen."""
    kept = [each for each in situation.ledger.moves if each.phase is not Phase.WITHDRAWN]
    following = {each.placement: each for each in kept if each.phase is Phase.ADMITTED}
    # OCM has not followed these, so no score can show them yet.
    current = [
        msgspec.structs.replace(each, since=situation.seen)
        if each.phase is Phase.ADMITTED
        else each
        for each in kept
    ]
    ledger = Ledger(
        tuple(
            each.entered(Phase.ENDED, situation.seen) if each.under_way else each
            for each in current
        )
    )
    return _after(situation, ledger, following)


def _done(situation: Situation, moves: Iterable[DesiredMove], *, measured: bool) -> Situation:
    """The situation when these moves have ended, or also their load is measured. The scores stay as they were
    published, so the load of these moves is still assumed.
    """
    found = [move_of(desired, situation.seconds) for desired in moves]
    ended = [each.entered(Phase.ENDED, situation.seconds) for each in found]
    rankings = [situation.paced[each.placement].ranking for each in found]
    after = (
        max(situation.pace.settle(each.measured_after) for each in rankings) if measured else 0.0
    )
    ledger = Ledger((*situation.ledger.moves, *ended))
    later = _after(situation, ledger, {each.placement: each for each in found})
    return replace(later, pace_time=situation.seconds + after)


def _after(situation: Situation, ledger: Ledger, following: Mapping[str, Move]) -> Situation:
    """The situation with another ledger, after OCM has followed these moves (by namespace/name)."""
    drained = situation.drained
    return replace(
        situation,
        hub=_following(situation.hub, following),
        drained=None if drained is None else _following(drained, following),
        ledger=ledger,
    )


def _following(state: HubState, moves: Mapping[str, Move]) -> HubState:
    kept = [
        item
        for item in state.decisions.values()
        if f"{item.metadata.namespace}/{item.placement}" not in moves
    ]
    for key, move in moves.items():
        namespace, _, name = key.partition("/")
        before = {
            cluster
            for page in state.decisions_of.get((namespace, name), ())
            for cluster in page.cluster_names
        }
        clusters = sorted(before - {move.source} | {move.target})
        kept.append(decision_of(namespace=namespace, placement=name, clusters=clusters))
    return state.deciding(kept)
