"""Paced moves in words: waves, the effect of a change on them, and the targets of applications."""

from collections.abc import Iterable, Iterator
from math import ceil

from msgspec import UNSET

from gitops_dsf.hub.pace import PacedRanking
from gitops_dsf.hub.points import points_text
from gitops_dsf.show.movechecks import verification_text
from gitops_dsf.views.preview.failover import Failover
from gitops_dsf.views.preview.paced import (
    DesiredPacedMove,
    PacedMove,
    PacedWave,
    VerificationTime,
)
from gitops_dsf.views.preview.pacedchange import PacedChange
from gitops_dsf.wording import plural, prioritizer_text


def move_text(move: PacedMove) -> str:
    """Formats `web c1 -> c2`."""
    return f"{move.placement.partition('/')[2]} {move.source or 'new'} -> {move.target}"


def verification_time_text(time: VerificationTime) -> str:
    """Formats `22 to 60 min`, or `30 min` where both are the same."""
    # Rounded up: a verdict never comes earlier than it says.
    earliest = ceil(time.after / 60)
    latest = ceil(time.until / 60)
    return f"{latest} min" if earliest == latest else f"{earliest} to {latest} min"


def desired_move_text(move: DesiredPacedMove) -> str:
    """Formats `web c1 -> c2 (verified for 22 to 60 min)`."""
    if move.verified is UNSET:
        return move_text(move)
    return f"{move_text(move)} (verified for {verification_time_text(move.verified)})"


def paced_ranking_text(ranking: PacedRanking) -> str:
    """Formats `ranked by cpu x5 (demand 10), cost x1, stickiness 20 points`.

    Behind it comes what must hold after a move.
    """
    terms = []
    for term in ranking.terms:
        demand = f" (demand {term.demand})" if term.demand else ""
        name = prioritizer_text(f"AddOn/{term.resource}/{term.dimension}")
        terms.append(f"{name} x{term.weight}{demand}")
    stickiness = plural(points_text(ranking.stickiness), "point")
    clauses = [f"ranked by {', '.join(terms)}", f"stickiness {stickiness}"]
    if ranking.refuges:
        clauses.append("with refuges")
    if ranking.verification is not None:
        clauses.append(f"verified by {verification_text(ranking.verification)}")
    return ", ".join(clauses)


def wave_lines(waves: Iterable[PacedWave]) -> Iterator[str]:
    """Yields `1: web c1 -> c2, shop c1 -> c3`, one line for each wave."""
    for number, wave in enumerate(waves, start=1):
        yield f"{number}: {', '.join(map(desired_move_text, wave.moves))}"


def paced_change_text(paced: PacedChange) -> str:
    """Formats `6 moves in 4 waves; 2 of them would happen anyway`."""
    clauses = [_count_text(paced)]
    if paced.count and paced.without_change == paced.count:
        clauses.append("it would happen anyway" if paced.count == 1 else "they would happen anyway")
    elif paced.without_change:
        clauses.append(f"{paced.without_change} of them would happen anyway")
    # The queue needs one number for each score, so with open ones its order is only a guess.
    if paced.bounded:
        names = ", ".join(paced.bounded)
        clauses.append(f"the new scores of {names} are between bounds, so the middle counts")
    others = [name for name in paced.unknown if name not in paced.bounded]
    if others:
        names = ", ".join(others)
        clauses.append(f"the new scores of {names} are unknown, so the present ones count")
    return "; ".join(clauses)


def _count_text(paced: PacedChange) -> str:
    if not paced.count:
        return "no paced move would follow"
    moves = plural(paced.count, "move")
    waves = plural(len(paced.waves), "wave")
    return f"{moves} in {waves}" if paced.complete else f"at least {moves} in {waves}"


def failover_text(failover: Failover) -> str:
    """Formats `if eu-1 fails: app-03 -> us-1, app-11 -> ap-1 instead of us-1`."""
    moves = []
    for refuge in failover.moves:
        name = refuge.placement.partition("/")[2]
        target = refuge.target or "by the scores"
        if refuge.before:
            moves.append(f"{name} -> {target} instead of {refuge.before}")
        else:
            moves.append(f"{name} -> {target}")
    return f"if {failover.cluster} fails: {', '.join(moves)}"
