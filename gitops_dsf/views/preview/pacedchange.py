"""What a change does to paced moves: nothing at once, and waves that follow."""

from msgspec import Struct

from gitops_dsf.hub.snapshot import HubData
from gitops_dsf.views.preview.nextscores import next_scores
from gitops_dsf.views.preview.paced import (
    MOST_SIMULATED,
    PREVIEWED_WAVES,
    Wave,
    Waves,
    paced_placements,
    paced_waves,
    stored_moves,
)
from gitops_dsf.views.preview.passes import decided_by, settled
from gitops_dsf.views.preview.version import FleetVersion
from gitops_dsf.wording import plural


class PacedChange(Struct, frozen=True, kw_only=True, rename="camel"):
    """The paced moves that follow a change."""

    waves: tuple[Wave, ...]
    complete: bool
    """Whether no move follows the last wave."""
    without_change: int
    """How many of these moves would follow without the change, too."""
    unknown: tuple[str, ...]
    """Scores that paced Placements rank by and that are not known before the changed scorers have run; the
    waves are computed with the present ones.
    """

    @property
    def count(self) -> int:
        """The number of moves."""
        return sum(len(wave.moves) for wave in self.waves)


def paced_change(base: FleetVersion | None, head: FleetVersion, hub: HubData) -> PacedChange | None:
    """The paced moves that follow a change; None if the head paces nothing, or they are the same as before.

    They begin where the change itself leads to: where OCM places new applications, and those that it moves
    at once.
    """
    snapshot = hub.snapshot
    if snapshot is None or head.resolved.repository.spec.pace is None:
        return None
    ledger = stored_moves(snapshot).ledger
    first, _, decisions = settled(base, snapshot, now=hub.now)
    second = decided_by(base, head, snapshot, decisions, now=hub.now)
    paced = paced_placements(head, second)
    most = min(PREVIEWED_WAVES, max(1, MOST_SIMULATED // max(1, len(paced))))
    after = paced_waves(head, second, ledger, now=hub.now, most=most)
    read = {term.resource for item in paced.values() for term in item.ranking.terms if term.weight}
    changed = next_scores(base, head, snapshot).unknown
    unknown = tuple(sorted(name for name in read if changed.get(name)))
    before = Waves(under_way=(), waves=(), complete=True)
    if base is not None and first is not None and base.resolved.repository.spec.pace is not None:
        before = paced_waves(base, first, ledger, now=hub.now, most=most)
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
