"""The moves of a preview: a table, the scores behind them, and what the reconciler would admit."""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import UNSET

from gitops_dsf.hub.intervals import Interval
from gitops_dsf.hub.points import mean_weight, points_of, points_range_text, points_text
from gitops_dsf.show.markdown import code
from gitops_dsf.show.preview.headline import nothing_moves_text
from gitops_dsf.show.preview.limits import PageLimits
from gitops_dsf.show.preview.lists import left_out, sentences
from gitops_dsf.show.preview.pace import failover_text, paced_change_text, wave_lines
from gitops_dsf.views.preview.build import Comparison
from gitops_dsf.views.preview.moves import (
    UNKNOWN,
    ClusterStanding,
    DecisionMove,
    StandingTerm,
    Unknown,
)
from gitops_dsf.wording import choice_text, names_text, plural, prioritizer_text


class _Weight(NamedTuple):
    """A prioritizer with its weight in one of the two revisions."""

    name: str
    weight: int


def move_section(comparison: Comparison, evidence: str, limits: PageLimits) -> Iterator[str]:
    """Who moves, by which data, and what follows by the pace. `evidence` names the data."""
    yield "\n#### Moves\n"
    if comparison.moves is None:
        yield limits.plain(f"unknown: {evidence}")
        return
    yield f"Data: {limits.plain(evidence)}.\n"
    if comparison.moves:
        yield from _table(comparison.moves, limits)
        yield from _standings(comparison.moves, limits)
    else:
        sentence = nothing_moves_text(comparison)
        yield f"{sentence[0].upper()}{sentence[1:]}."
    yield from _paced(comparison, limits)
    if comparison.pending:
        names = limits.plain(names_text(comparison.pending, most=limits.names))
        yield f"\nWould move without this change too: {names}"


def _table(moves: tuple[DecisionMove, ...], limits: PageLimits) -> Iterator[str]:
    yield "| application | from | to | reason |"
    yield "|---|---|---|---|"
    for move in moves[: limits.moves]:
        yield _row(move, limits)
    yield from left_out(moves, "move", limits, prefix="\n", rows=limits.moves)


def _row(move: DecisionMove, limits: PageLimits) -> str:
    """The Placement, and the applications that follow it unless that is one of the same name."""
    title = move.application
    if move.followers and move.followers != (title.partition("/")[2],):
        title += f" ({names_text(move.followers, most=limits.names)})"
    origin = names_text(move.origin, most=limits.names) or "nowhere"
    if move.target != UNKNOWN:
        target = names_text(move.target, most=limits.names) or "nowhere"
    else:
        choice = choice_text(move.possible, move.open_places or 0)
        target = choice if choice and move.is_bounded else UNKNOWN
    reason = limits.plain(move.reason[: 2 * limits.width])
    return f"| {code(title)} | {limits.plain(origin)} | {limits.plain(target)} | {reason} |"


def _standings(moves: tuple[DecisionMove, ...], limits: PageLimits) -> Iterator[str]:
    yield "\n<details><summary>Scores before and after</summary>\n"
    visible = moves[: min(limits.moves, limits.standings)]
    for move in visible:
        yield f"- {code(move.application)}"
        # The clusters that it leaves, and those that it moves to.
        for standing in move.standings[: 2 * limits.names]:
            yield f"  - {limits.plain(_standing(standing))}"
    yield from left_out(moves, "move", limits, prefix="- ", rows=len(visible))
    yield ""
    yield "</details>"


def _standing(standing: ClusterStanding) -> str:
    """`eu-1: 100 points -> 60 points (cpu x5: 80 -> 40, Steady x1: 100 -> 100)`."""
    # Each side has weights of its own: sums of different weights cannot be compared, points can.
    weights_before = [_Weight(term.name, term.weight_before or 0) for term in standing.terms]
    weights_after = [_Weight(term.name, term.weight_after or 0) for term in standing.terms]
    before = _points(standing.before, mean_weight(weights_before))
    after = _points(standing.after, mean_weight(weights_after))
    if standing.after_low is not None and standing.after_high is not None:
        bounds = Interval(standing.after_low, standing.after_high)
        after = f"{points_range_text(bounds, mean_weight(weights_after))} points"
    ranked = (term for term in standing.terms if (term.before, term.after) != (None, None))
    terms = ", ".join(map(_term, ranked))
    if not terms:
        return f"{standing.cluster}: {before} -> {after}"
    return f"{standing.cluster}: {before} -> {after} ({terms})"


def _term(term: StandingTerm) -> str:
    """`cpu x5: 80 -> 40`, `cpu x5: 80 -> 39 to 41`, or `cpu x5->x3: 80 -> unknown (...)`."""
    before = _score(term.before)
    after = _score(term.after)
    if term.after_low is not None:
        after = f"{term.after_low} to {term.after_high}"
    if term.unknown_because:
        after += f" ({term.unknown_because})"
    return f"{prioritizer_text(term.name)} {_weight(term)}: {before} -> {after}"


def _weight(term: StandingTerm) -> str:
    """`x5`, `x5->x3`, or `x5->out` of a prioritizer that is no longer there."""
    if term.weight_before is None or term.weight_before == term.weight_after:
        return f"x{term.weight_after}"
    if term.weight_after is None:
        return f"x{term.weight_before}->out"
    return f"x{term.weight_before}->x{term.weight_after}"


def _score(score: int | Unknown | None) -> str:
    return "-" if score is None else str(score)


def _points(weighted_sum: int | Unknown | None, weight: int) -> str:
    """A sum of weighted scores in points of their mean."""
    if weighted_sum is None:
        return "not ranked"
    if weighted_sum == UNKNOWN:
        return UNKNOWN
    return plural(points_text(points_of(weighted_sum, weight)), "point")


def _paced(comparison: Comparison, limits: PageLimits) -> Iterator[str]:
    """The waves of paced moves, and refuges that change."""
    paced = comparison.paced
    if paced is not UNSET:
        ending = ":" if paced.waves else "."
        yield f"\nThe pace: {limits.plain(paced_change_text(paced))}{ending}\n"
        yield from sentences(wave_lines(paced.waves), paced.waves, "wave", limits)
    refuges = comparison.refuges
    if refuges is not UNSET:
        yield "\nRefuges would be:\n"
        yield from sentences(map(failover_text, refuges), refuges, "cluster", limits)
