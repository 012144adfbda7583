"""Paced moves that a repository leads to, in the order and pace in which the reconciler would admit them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final, Self

from msgspec import Struct

from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.hub.pace import PACE_ANNOTATION, paced_ranking
from gitops_dsf.hub.snapshot import Snapshot
from gitops_dsf.pacing.admit import Situation
from gitops_dsf.pacing.ledger import Ledger, Move
from gitops_dsf.pacing.maintenance import effect_of, tainted_by, without_drained
from gitops_dsf.pacing.pace import Pace
from gitops_dsf.pacing.stored import MovesError, StoredMoves, read_moves
from gitops_dsf.pacing.waves import MOST_WAVES, waves
from gitops_dsf.pacing.wishes import Paced, Wish, wish_of
from gitops_dsf.simulator import HubState, Verdict
from gitops_dsf.views.preview.version import FleetVersion

PREVIEWED_WAVES: Final = 50
MOST_SIMULATED: Final = 10_000
"""A comparison computes so many waves, and simulates about so many Placements in them."""


class PacedMove(Struct, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    """One application leaves a cluster for another."""

    placement: str
    """namespace/name."""
    source: str
    target: str

    @classmethod
    def of(cls, move: Wish | Move) -> Self:
        return cls(placement=move.placement, source=move.source, target=move.target)


class WishedMove(PacedMove, frozen=True, kw_only=True):
    """A move that the scores ask for."""

    points: float
    """By how many points of the weighted mean the target is better; 0 if the source is drained."""


class Wave(Struct, frozen=True, kw_only=True):
    """Moves that may be under way together."""

    moves: tuple[WishedMove, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Waves:
    undecided: tuple[str, ...] = ()
    """Paced Placements (namespace/name) without a decision, which OCM places at once."""
    under_way: tuple[PacedMove, ...]
    """What is under way on the hub; the waves begin when it is done."""
    waves: tuple[Wave, ...]
    complete: bool
    """Whether no move follows the last wave."""

    @property
    def moves(self) -> Iterator[WishedMove]:
        return (move for wave in self.waves for move in wave.moves)


class UnreadableMovesError(GitopsDsfError):
    """The hub's ledger of moves cannot be read."""


def paced_placements(fleet: FleetVersion, state: HubState) -> dict[str, Paced]:
    """The paced Placements of a repository by namespace/name, as they are in the state."""
    found = {}
    for key in fleet.placements:
        placement = state.placements.get(_names(key))
        ranking = None if placement is None else paced_ranking(placement)
        if placement is not None and ranking is not None:
            found[key] = Paced.of(placement, ranking)
    return found


def stored_moves(snapshot: Snapshot | None) -> StoredMoves:
    """The ledger and the queue of the hub. Raises UnreadableMovesError."""
    try:
        return read_moves(snapshot.moves if snapshot else None)
    except MovesError as error:
        raise UnreadableMovesError(str(error)) from error


def paced_waves(
    fleet: FleetVersion, state: HubState, ledger: Ledger, *, now: datetime, most: int = MOST_WAVES
) -> Waves:
    """At most so many waves, by the scores and decisions of `state`. None without spec.pace."""
    situation = situation_of(fleet, state, ledger, now=now)
    if situation is None:
        return Waves(under_way=(), waves=(), complete=True)
    found = tuple(Wave(moves=tuple(map(_wished, wave.moves))) for wave in islice(waves(situation), most + 1))
    return Waves(
        undecided=tuple(key for key in situation.paced if not state.decisions_of.get(_names(key))),
        under_way=tuple(map(PacedMove.of, ledger.under_way)),
        waves=found[:most],
        complete=len(found) <= most,
    )


def situation_of(
    fleet: FleetVersion, state: HubState, ledger: Ledger, *, now: datetime, at: float | None = None
) -> Situation | None:
    """What admits moves, now or at Unix seconds with the windows of then. None without spec.pace."""
    written = fleet.resolved.repository.spec.pace
    if written is None:
        return None
    paced = paced_placements(fleet, state)
    effect = effect_of(
        fleet.maintenance,
        clusters={item.metadata.name: item for item in state.clusters},
        placements=paced,
        now=now.timestamp() if at is None else at,
    )
    hub = tainted_by(state, effect)
    return Situation(
        hub=hub,
        paced=paced,
        ledger=ledger,
        pace=Pace.of(written),
        now=now,
        frozen=effect.frozen,
        drained=without_drained(hub, effect),
        leaving=frozenset(effect.drained),
        pace_time=at,
    )


def is_paced(fleet: FleetVersion, key: str) -> bool:
    metadata = fleet.placements.get(key, {}).get("metadata", {})
    return PACE_ANNOTATION in (metadata.get("annotations") or {})


def wished_move(verdict: Verdict) -> WishedMove | None:
    """Where OCM would move a paced Placement by the written weights; None if nowhere."""
    ranking = paced_ranking(verdict.source)
    if ranking is None:
        return None
    wish = wish_of(Paced.of(verdict.source, ranking), state=verdict.state, now=verdict.now)
    return None if wish is None else _wished(wish)


def wave_lines(found: Iterable[Wave]) -> Iterator[str]:
    """`1: web c1 -> c2, shop c1 -> c3`, one line for each wave."""
    for number, wave in enumerate(found, start=1):
        yield f"{number}: {', '.join(map(move_text, wave.moves))}"


def move_text(move: PacedMove) -> str:
    """`web c1 -> c2`."""
    return f"{move.placement.partition('/')[2]} {move.source or 'new'} -> {move.target}"


def _wished(wish: Wish) -> WishedMove:
    return WishedMove(
        placement=wish.placement, source=wish.source, target=wish.target, points=round(wish.points, 1)
    )


def _names(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name
