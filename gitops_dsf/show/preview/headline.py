"""The first sentence of a preview: how many applications move, now and later.

The rest of the preview may not contradict it. So it counts what follows by the pace, and who leaves
when a maintenance window opens, which are no moves of a decision yet.
"""

from msgspec import UNSET

from gitops_dsf.views.preview.build import Comparison
from gitops_dsf.views.preview.moves import UNKNOWN, DecisionMove
from gitops_dsf.wording import and_text, plural, verb


def headline(comparison: Comparison, missing: str | None) -> str:
    """What a reader wants to know first. `missing` says why moves are not known."""
    if comparison.moves is None:
        return f"which applications move is unknown: {missing}"
    return "; ".join((_moves_sentence(comparison), *later_clauses(comparison)))


def nothing_moves_text(comparison: Comparison) -> str:
    """That no decision changes, which does not mean that nothing moves later."""
    return "no application moves at once" if later_clauses(comparison) else "no application moves"


def later_clauses(comparison: Comparison) -> list[str]:
    """What moves without a change of a decision: by the pace, and for maintenance."""
    clauses = []
    paced = comparison.paced
    if paced is not UNSET and paced.count > paced.without_change:
        least = "" if paced.complete else "at least "
        count = plural(paced.count - paced.without_change, "move")
        clauses.append(f"the pace would admit {least}{count}")
    windows = () if comparison.maintenance is UNSET else comparison.maintenance
    # Of a window that is open, the waves of the pace have the moves.
    waiting = [window for window in windows if paced is UNSET or window.state != "open"]
    # A set, because an application that two windows concern leaves once.
    leaving: set[str] = set()
    for window in waiting:
        for wave in window.waves:
            leaving.update(move.placement for move in wave.moves)
    if leaving:
        least = "" if all(window.complete for window in waiting) else "at least "
        count = plural(len(leaving), "application")
        clauses.append(f"{least}{count} would leave for maintenance")
    return clauses


def _moves_sentence(comparison: Comparison) -> str:
    moves = comparison.moves or ()
    if not moves:
        return nothing_moves_text(comparison)
    applications = 0
    starting = 0
    others = 0
    open_applications = 0
    bounded = True
    for move in moves:
        if move.target == UNKNOWN:
            # A decision that no application follows may move, too.
            open_applications += max(1, len(move.followers))
            bounded = bounded and move.is_bounded
            continue
        others += not move.followers
        if _starts(move):
            starting += len(move.followers)
        else:
            applications += len(move.followers)
    return moves_text(
        applications=applications,
        starting=starting,
        others=others,
        open_applications=open_applications,
        bounded=bounded,
    )


def _starts(move: DecisionMove) -> bool:
    """Whether it is on no cluster before the change, such as a new application."""
    return not move.origin and not move.stays


def moves_text(
    *, applications: int, starting: int = 0, others: int, open_applications: int, bounded: bool
) -> str:
    """How many applications move and may move, in one sentence.

    `starting` applications get their first cluster. `others` are decisions that no application
    follows. `bounded`: whether the new scores of all that may move are known between bounds.
    """
    clauses = []
    if applications:
        clauses.append(f"{plural(applications, 'application')} {verb(applications, 'move')}")
    if starting:
        count = str(starting) if clauses else plural(starting, "application")
        clauses.append(f"{count} {verb(starting, 'start')}")
    if others:
        clauses.append(f"{plural(others, 'decision')} for other consumers {verb(others, 'change')}")
    if open_applications and clauses:
        clauses.append(f"{open_applications} more may move")
    elif open_applications:
        clauses.append(f"{plural(open_applications, 'application')} may move")
    if not clauses:
        return "no application moves"
    sentence = and_text(clauses)
    if open_applications and not bounded:
        return f"{sentence}; that is known once the changed scorers have run"
    return sentence
