"""The paced moves that follow a change, in waves, and how many of them follow without it."""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from gitops_dsf.pacing.desired import Paced
from gitops_dsf.views.preview.paced import (
    DesiredPacedMove,
    PacedWave,
    PacedWaves,
    paced_placements,
    paced_waves,
)
from gitops_dsf.views.preview.transition import Transition

MAX_WAVES: Final = 50
"""Waves of one preview."""
MAX_SIMULATED: Final = 10_000
"""Placements that a preview simulates for waves. Each wave simulates every paced Placement."""


class PacedChange(Struct, frozen=True, kw_only=True, rename="camel"):
    """The paced moves that follow a change."""

    waves: tuple[PacedWave, ...]
    complete: bool
    without_change: int
    """The number of these moves that would happen without the change as well."""
    unknown: tuple[str, ...]
    """Scores of paced Placements that are unknown until the changed scorers run.

    Placeholders stand in for them.
    """
    bounded: tuple[str, ...] = ()
    """The unknown scores with known bounds.

    The waves take the middle of the bounds, and the present value of other unknown scores.
    """

    @property
    def count(self) -> int:
        """Moves in all waves."""
        moves = 0
        for wave in self.waves:
            moves += len(wave.moves)
        return moves

    @property
    def moves(self) -> Iterator[DesiredPacedMove]:
        """The moves of all waves, in order."""
        for wave in self.waves:
            yield from wave.moves


def paced_change(transition: Transition) -> PacedChange | None:
    """The paced moves that follow the change itself. None without a pace, or if they stay equal."""
    head = transition.head
    if head.repository.spec.pace is None:
        return None
    paced = paced_placements(head, transition.after)
    # Each wave simulates all of them, so a large fleet sees fewer waves.
    max_waves = min(MAX_WAVES, max(1, MAX_SIMULATED // max(1, len(paced))))
    ledger = transition.ledger
    after = paced_waves(head, transition.after, ledger, now=transition.now, max_waves=max_waves)
    before = _waves_of_base(transition, max_waves)
    unknown = _unknown_resources(transition, paced.values())
    # With unknown scores equal waves are only a guess, and people should see that.
    if not unknown and before.waves == after.waves:
        return None
    # A move is the same one also if it gains other points, or comes in another wave.
    moves_before = set(map(_identity, before.moves))
    without_change = 0
    for move in after.moves:
        without_change += _identity(move) in moves_before
    return PacedChange(
        waves=after.waves,
        complete=after.complete,
        without_change=without_change,
        unknown=unknown,
        bounded=tuple(name for name in unknown if transition.scores.is_bounded(name)),
    )


def _waves_of_base(transition: Transition, max_waves: int) -> PacedWaves:
    """The moves that follow without the change; none without a base or its pace."""
    base = transition.base
    state = transition.base_state
    if base is None or state is None or base.repository.spec.pace is None:
        return PacedWaves()
    return paced_waves(base, state, transition.ledger, now=transition.now, max_waves=max_waves)


def _unknown_resources(transition: Transition, placements: Iterable[Paced]) -> tuple[str, ...]:
    """AddOnPlacementScores that paced Placements rank by and that are unknown somewhere, sorted."""
    unknown = transition.scores.unknown
    ranked_by = set()
    for placement in placements:
        for term in placement.ranking.terms:
            if term.weight and unknown.get(term.resource):
                ranked_by.add(term.resource)
    return tuple(sorted(ranked_by))


def _identity(move: DesiredPacedMove) -> tuple[str, str, str]:
    """The identity of a move, whatever it gains."""
    return move.placement, move.source, move.target
