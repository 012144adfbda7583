"""The first sentence of a preview: how many applications move, now and later.

The rest of the preview may not contradict it. So it counts the moves that follow by the pace, and
those when a maintenance window opens, which are not moves of a decision yet.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import UNSET

from gitops_dsf.views.preview.build import Comparison
from gitops_dsf.views.preview.moves import DecisionMove, MoveKind
from gitops_dsf.wording import and_text, plural


class _Predicate(NamedTuple):
    """The verb for a number of applications: `1 application moves`, `2 applications move`."""

    singular: str
    plural: str


_PREDICATES: Final[Mapping[MoveKind, _Predicate]] = {
    MoveKind.HOMELESS: _Predicate("is left without a cluster", "are left without a cluster"),
    MoveKind.MOVE: _Predicate("moves", "move"),
    MoveKind.NEW: _Predicate("starts", "start"),
    MoveKind.GROW: _Predicate("gets more clusters", "get more clusters"),
    MoveKind.SHRINK: _Predicate("loses clusters", "lose clusters"),
    MoveKind.REMOVE: _Predicate("is removed", "are removed"),
    MoveKind.FOLLOW: _Predicate("follows another Placement", "follow another Placement"),
}
"""Verbs in the order of the sentence: the most important ones for a reviewer come first."""


class MoveCounts(NamedTuple):
    """The number of applications for each kind of move."""

    by_kind: Mapping[MoveKind, int]
    """Applications; `NEW` has all that start, and `OPEN` is apart."""
    others: int = 0
    """Decisions that change and that no application follows."""
    open_applications: int = 0
    """Applications that move or not by scores that are not known yet."""
    is_bounded: bool = True
    """Whether the bounds of all those scores are known."""


def headline(comparison: Comparison, missing: str | None) -> str:
    """The fact that a reader wants to know first. `missing` is the reason why moves are unknown."""
    if comparison.moves is None:
        return f"Which applications move is unknown: {missing}"
    later = _later_clauses(comparison)
    now = counts_text(counts_of(comparison.moves))
    if not now:
        now = "no application moves at once" if later else "no application moves"
    sentence = "; ".join((now, *later))
    return f"{sentence[0].upper()}{sentence[1:]}"


def _later_clauses(comparison: Comparison) -> list[str]:
    """Moves without a change of a decision: by the pace, and for maintenance."""
    clauses = []
    windows = () if comparison.maintenance is UNSET else comparison.maintenance
    # A set, because an application that two windows concern leaves a cluster once.
    leaving: set[tuple[str, str]] = set()
    for window in windows:
        for departure in window.moves:
            leaving.add((departure.placement, departure.source))
    paced = comparison.paced
    if paced is not UNSET:
        # If a window is open, the waves of the pace have its moves as well.
        moves = 0
        for move in paced.moves:
            moves += (move.placement, move.source) not in leaving
        if moves > paced.without_change:
            count = plural(moves - paced.without_change, "move")
            if paced.complete:
                clauses.append(f"the pace would admit {count}")
            else:
                clauses.append(f"the pace would admit at least {count}")
    if leaving:
        # Not every wave of a large fleet is computed, so the number may be too small.
        count = plural(len({placement for placement, _ in leaving}), "application")
        if all(window.complete for window in windows):
            clauses.append(f"{count} would leave for maintenance")
        else:
            clauses.append(f"at least {count} would leave for maintenance")
    return clauses


def counts_of(moves: tuple[DecisionMove, ...]) -> MoveCounts:
    """Counts the applications that follow the decisions."""
    by_kind: Counter[MoveKind] = Counter()
    others = 0
    open_applications = 0
    is_bounded = True
    for move in moves:
        # A new application starts for certain. Only where is open.
        if move.kind is MoveKind.OPEN and not starts_somewhere(move):
            # A decision that no application follows may move, too.
            open_applications += max(1, len(move.followers))
            is_bounded = is_bounded and move.bounded
            continue
        others += not move.followers
        # An application that had no cluster starts, whether it is new or was waiting for one.
        kind = move.kind
        if kind in {MoveKind.START, MoveKind.OPEN}:
            kind = MoveKind.NEW
        by_kind[kind] += len(move.followers)
    return MoveCounts(by_kind, others, open_applications, is_bounded)


def starts_somewhere(move: DecisionMove) -> bool:
    """Whether a Placement without a cluster gets one, while it is open which one."""
    return move.kind is MoveKind.OPEN and bool(move.open_places) and not (move.origin or move.stays)


def counts_text(counts: MoveCounts) -> str:
    """The number of applications for each kind of move, in one sentence; empty if none moves."""
    clauses: list[str] = []
    for kind, predicate in _PREDICATES.items():
        count = counts.by_kind.get(kind, 0)
        if count:
            # The noun stands in the first clause only: `1 application moves and 2 start`.
            subject = str(count) if clauses else plural(count, "application")
            clauses.append(f"{subject} {predicate.singular if count == 1 else predicate.plural}")
    if counts.others == 1:
        clauses.append("1 decision for other consumers changes")
    elif counts.others:
        clauses.append(f"{counts.others} decisions for other consumers change")
    if counts.open_applications and clauses:
        clauses.append(f"{counts.open_applications} more may move")
    elif counts.open_applications:
        clauses.append(f"{plural(counts.open_applications, 'application')} may move")
    sentence = and_text(clauses)
    if counts.open_applications and not counts.is_bounded:
        return f"{sentence}; that is known once the scorers have run"
    return sentence
