"""All moves that the scores ask for, one admission after the other, for previews."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.pacing.admit import Situation, admit, move_of
from gitops_dsf.pacing.ledger import Ledger, Phase
from gitops_dsf.pacing.load import assume, shifts_of
from gitops_dsf.pacing.wishes import Wish
from gitops_dsf.simulator import HubState

MOST_WAVES: Final = 1000
"""Scores that contradict each other could ask for moves without end."""


def waves(situation: Situation, *, most: int = MOST_WAVES) -> Iterator[tuple[Wish, ...]]:
    """The moves in waves: each begins when the one before it is done and measured.

    Every move is assumed to succeed, and to change the scores by the demand that people wrote.
    """
    for _ in range(most):
        admission = admit(situation)
        if admission.moves:
            yield admission.moves
            situation = _done(situation, admission.moves)
            continue
        ends = [each.until for each in admission.waiting if each.until is not None]
        if not ends:
            return
        situation = replace(situation, pace_time=min(ends))


def _done(situation: Situation, moves: Iterable[Wish]) -> Situation:
    """The situation when these moves have ended and their load is measured."""
    found = [move_of(wish, situation.seconds) for wish in moves]
    ended = [each.entered(Phase.ENDED, situation.seconds) for each in found]
    shifts = [
        shift
        for move in found
        for shift in shifts_of(move, situation.paced[move.placement].ranking, now=situation.seconds)
    ]
    decided = {move.placement: (move.source, move.target) for move in found}
    rankings = [situation.paced[key].ranking for key in decided]
    after = max(situation.pace.settle(each.measured_after) for each in rankings)

    def later(state: HubState) -> HubState:
        return _following(state, decided).scoring(assume(state.scores, shifts))

    return replace(
        situation,
        hub=later(situation.hub),
        drained=None if situation.drained is None else later(situation.drained),
        ledger=Ledger((*situation.ledger.moves, *ended)),
        pace_time=situation.seconds + after,
    )


def _following(state: HubState, decided: Mapping[str, tuple[str, str]]) -> HubState:
    """The hub after OCM has followed: source and target by namespace/name."""
    kept = [
        item
        for item in state.decisions.values()
        if f"{item.metadata.namespace}/{item.placement}" not in decided
    ]
    for key, (source, target) in decided.items():
        namespace, _, name = key.partition("/")
        before = {
            cluster
            for page in state.decisions_of.get((namespace, name), ())
            for cluster in page.cluster_names
        }
        clusters = sorted(before - {source} | {target})
        kept.append(
            decision_of(namespace=namespace, name=f"{name}-decision-0", placement=name, clusters=clusters)
        )
    return state.deciding(kept)
