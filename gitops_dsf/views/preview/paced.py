"""Paced moves as the reconciler would admit them, and what a change does to them and to refuges."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final, Self

from msgspec import Struct

from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.pace import PACE_ANNOTATION, paced_ranking
from gitops_dsf.pacing.admit import Situation
from gitops_dsf.pacing.desired import DesiredMove, Paced, desired_move
from gitops_dsf.pacing.ledger import Ledger, LedgerMove
from gitops_dsf.pacing.maintenance import effect_of, tainted_by, without_drained
from gitops_dsf.pacing.refuges import Refuges, by_lost_cluster, plan_refuges, published_refuges
from gitops_dsf.pacing.waves import MAX_WAVES, waves
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.simulator import HubState, Verdict
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.transition import Transition
from gitops_dsf.wording import plural

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
    def of(cls, move: DesiredMove | LedgerMove) -> Self:
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


def paced_placements(fleet: CheckedFleet, state: HubState) -> dict[str, Paced]:
    """The paced Placements of a repository by namespace/name, as they are in the state."""
    found = {}
    for key in applied(fleet).placements:
        placement = state.placements.get(_names(key))
        ranking = None if placement is None else paced_ranking(placement)
        if placement is not None and ranking is not None:
            found[key] = Paced.of(placement, ranking)
    return found


def paced_waves(
    fleet: CheckedFleet, state: HubState, ledger: Ledger, *, now: datetime, most: int = MAX_WAVES
) -> Waves:
    """At most so many waves, by the scores and decisions of `state`. None without spec.pace."""
    situation = situation_of(fleet, state, ledger, now=now)
    if situation is None:
        return Waves(under_way=(), waves=(), complete=True)
    found = tuple(
        Wave(moves=tuple(map(_wished, wave.moves))) for wave in islice(waves(situation), most + 1)
    )
    return Waves(
        undecided=tuple(key for key in situation.paced if not state.decisions_of.get(_names(key))),
        under_way=tuple(map(PacedMove.of, ledger.under_way)),
        waves=found[:most],
        complete=len(found) <= most,
    )


def situation_of(
    fleet: CheckedFleet, state: HubState, ledger: Ledger, *, now: datetime, at: float | None = None
) -> Situation | None:
    """What admits moves, now or at Unix seconds with the windows of then. None without spec.pace."""
    written = fleet.repository.spec.pace
    if written is None:
        return None
    paced = paced_placements(fleet, state)
    effect = effect_of(
        fleet.maintenance_on_hub,
        clusters={item.metadata.name: item for item in state.clusters},
        placements=paced,
        now=now.timestamp() if at is None else at,
    )
    hub = tainted_by(state, effect)
    return Situation(
        hub=hub,
        paced=paced,
        ledger=ledger,
        pace=written,
        now=now,
        frozen=effect.frozen,
        drained=without_drained(hub, effect),
        leaving=frozenset(effect.drained),
        pace_time=at,
    )


def is_paced(fleet: CheckedFleet, key: str) -> bool:
    metadata = applied(fleet).placements.get(key, {}).get("metadata", {})
    return PACE_ANNOTATION in (metadata.get("annotations") or {})


def wished_move(verdict: Verdict) -> WishedMove | None:
    """Where OCM would move a paced Placement by the written weights; None if nowhere."""
    ranking = paced_ranking(verdict.source)
    if ranking is None:
        return None
    desired = desired_move(Paced.of(verdict.source, ranking), state=verdict.state, now=verdict.now)
    return None if desired is None else _wished(desired)


def wave_lines(found: Iterable[Wave]) -> Iterator[str]:
    """`1: web c1 -> c2, shop c1 -> c3`, one line for each wave."""
    for number, wave in enumerate(found, start=1):
        yield f"{number}: {', '.join(map(move_text, wave.moves))}"


def move_text(move: PacedMove) -> str:
    """`web c1 -> c2`."""
    return f"{move.placement.partition('/')[2]} {move.source or 'new'} -> {move.target}"


def _wished(desired: DesiredMove) -> WishedMove:
    return WishedMove(
        placement=desired.placement,
        source=desired.source,
        target=desired.target,
        points=round(desired.points, 1),
    )


def _names(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name


class PacedChange(Struct, frozen=True, kw_only=True, rename="camel"):
    """The paced moves that follow a change."""

    waves: tuple[Wave, ...]
    complete: bool
    without_change: int
    """How many of these moves would follow without the change, too."""
    unknown: tuple[str, ...]
    """Scores of paced Placements that only the changed scorers will tell; the waves take the present ones."""

    @property
    def count(self) -> int:
        return sum(len(wave.moves) for wave in self.waves)


def paced_change(change: Transition) -> PacedChange | None:
    """The paced moves that follow the change itself. None without a pace, or if they stay equal."""
    base, head, ledger = change.base, change.head, change.ledger
    if head.repository.spec.pace is None:
        return None
    paced = paced_placements(head, change.after)
    most = min(PREVIEWED_WAVES, max(1, MOST_SIMULATED // max(1, len(paced))))
    after = paced_waves(head, change.after, ledger, now=change.now, most=most)
    read = {term.resource for item in paced.values() for term in item.ranking.terms if term.weight}
    unknown = tuple(sorted(name for name in read if change.scores.unknown.get(name)))
    before = Waves(under_way=(), waves=(), complete=True)
    if base is not None and change.base_state is not None and base.repository.spec.pace is not None:
        before = paced_waves(base, change.base_state, ledger, now=change.now, most=most)
    if not unknown and before.waves == after.waves:
        return None
    known = {(move.placement, move.source, move.target) for move in before.moves}
    same = sum((move.placement, move.source, move.target) in known for move in after.moves)
    return PacedChange(
        waves=after.waves, complete=after.complete, without_change=same, unknown=unknown
    )


def paced_text(found: PacedChange) -> str:
    """The change in one sentence, without the waves."""
    least = "" if found.complete else "at least "
    if not found.count:
        words = "no paced move would follow"
    else:
        moves, waves = plural(found.count, "move"), plural(len(found.waves), "wave")
        words = f"{least}{moves} would be admitted in {waves}"
        if found.without_change:
            words += f", {found.without_change} of them without this change, too"
    if found.unknown:
        words += f" by the present scores; new ones of {', '.join(found.unknown)} are unknown"
    return words


class RefugeChange(Struct, frozen=True, kw_only=True, rename={"target": "to"}):
    """Another refuge of one application."""

    placement: str
    before: str | None
    """None if it had none, or was on another cluster."""
    target: str | None
    """None if it has none any more."""


class Failover(Struct, frozen=True, kw_only=True):
    """Where applications would go when a cluster fails, if that is somewhere else than before."""

    cluster: str
    moves: tuple[RefugeChange, ...]


def failover_changes(change: Transition) -> tuple[Failover, ...]:
    """Refuges that differ after a change. Scores that are not known yet count as they are now."""
    base, head = change.base, change.head
    paces = [side.repository.spec.pace for side in (base, head) if side is not None]
    if not any(pace is not None and pace.refuges for pace in paces):
        return ()
    published = published_refuges(change.snapshot.scores)
    before: Refuges = {}
    if base is not None and change.base_state is not None:
        before = _planned(
            base, change.base_state.deciding(change.settled_base.decisions), published, change.now
        )
    after = _planned(head, change.after, before or published, change.now)
    clusters = decided(change.after.decisions.values())
    lost = by_lost_cluster(before, decided(change.settled_base.decisions))
    return tuple(_compared(lost, by_lost_cluster(after, clusters), clusters))


def _planned(fleet: CheckedFleet, state: HubState, current: Refuges, now: datetime) -> Refuges:
    return plan_refuges(paced_placements(fleet, state), state=state, now=now, current=current)


def _compared(
    before: Mapping[str, Mapping[str, str]],
    after: Mapping[str, Mapping[str, str]],
    decided_for: Mapping[str, frozenset[str]],
) -> Iterator[Failover]:
    """Applications that the change itself moves away from a cluster no longer leave it when it fails."""
    for cluster in sorted({*before, *after}):
        old, new = before.get(cluster, {}), after.get(cluster, {})
        moves = tuple(
            RefugeChange(placement=key, before=old.get(key), target=new.get(key))
            for key in sorted({*old, *new})
            if old.get(key) != new.get(key) and cluster in decided_for.get(key, ())
        )
        if moves:
            yield Failover(cluster=cluster, moves=moves)


def failover_text(found: Failover) -> str:
    """`if eu-1 fails: app-03 -> us-1, app-11 -> ap-1 instead of us-1`."""
    ways = (
        f"{each.placement.partition('/')[2]} -> {each.target or 'by the scores'}"
        + (f" instead of {each.before}" if each.before else "")
        for each in found.moves
    )
    return f"if {found.cluster} fails: {', '.join(ways)}"
