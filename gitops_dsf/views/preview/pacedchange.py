"""What a change does to paced moves: nothing at once, and waves that follow."""

from msgspec import Struct

from gitops_dsf.views.preview.paced import (
    MOST_SIMULATED,
    PREVIEWED_WAVES,
    Wave,
    Waves,
    paced_placements,
    paced_waves,
)
from gitops_dsf.views.preview.transition import Transition
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


def paced_change(change: Transition) -> PacedChange | None:
    """The paced moves that follow a change; None if the head paces nothing, or they are the same as before.

    They begin where the change itself leads to: where OCM places new applications, and those that it moves
    at once.
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
