"""What a change does to paced applications: moves in waves, and other refuges when a cluster fails."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from gitops_dsf.hub.placements import decided
from gitops_dsf.pacing.refuges import Refuges, by_lost_cluster, plan_refuges, published_refuges
from gitops_dsf.simulator import HubState
from gitops_dsf.views.preview.paced import (
    MOST_SIMULATED,
    PREVIEWED_WAVES,
    Wave,
    Waves,
    paced_placements,
    paced_waves,
)
from gitops_dsf.views.preview.transition import Transition
from gitops_dsf.views.preview.version import FleetVersion
from gitops_dsf.wording import plural


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
    """The paced moves that follow from where the change itself leads to. None without a pace, or if they stay
    equal.
    """
    base, head, ledger = change.base, change.head, change.ledger
    if head.resolved.repository.spec.pace is None:
        return None
    paced = paced_placements(head, change.after)
    most = min(PREVIEWED_WAVES, max(1, MOST_SIMULATED // max(1, len(paced))))
    after = paced_waves(head, change.after, ledger, now=change.now, most=most)
    read = {term.resource for item in paced.values() for term in item.ranking.terms if term.weight}
    unknown = tuple(sorted(name for name in read if change.scores.unknown.get(name)))
    before = Waves(under_way=(), waves=(), complete=True)
    if base is not None and change.first is not None and base.resolved.repository.spec.pace is not None:
        before = paced_waves(base, change.first, ledger, now=change.now, most=most)
    if not unknown and before.waves == after.waves:
        return None
    known = {(move.placement, move.source, move.target) for move in before.moves}
    same = sum((move.placement, move.source, move.target) in known for move in after.moves)
    return PacedChange(waves=after.waves, complete=after.complete, without_change=same, unknown=unknown)


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
    paces = [side.resolved.repository.spec.pace for side in (base, head) if side is not None]
    if not any(pace is not None and pace.refuges for pace in paces):
        return ()
    published = published_refuges(change.snapshot.scores)
    before: Refuges = {}
    if base is not None and change.first is not None:
        before = _planned(base, change.first.deciding(change.decisions), published, change.now)
    after = _planned(head, change.after, before or published, change.now)
    clusters = decided(change.after.decisions.values())
    lost = by_lost_cluster(before, decided(change.decisions))
    return tuple(_compared(lost, by_lost_cluster(after, clusters), clusters))


def _planned(fleet: FleetVersion, state: HubState, current: Refuges, now: datetime) -> Refuges:
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
