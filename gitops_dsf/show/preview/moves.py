"""The moves of a preview: a line each, the scores behind them, and those of the pace."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import UNSET

from gitops_dsf.hub.intervals import Interval
from gitops_dsf.hub.points import mean_weight, points_of, points_range_text, points_text
from gitops_dsf.show.markdown import code
from gitops_dsf.show.preview.headline import starts_somewhere
from gitops_dsf.show.preview.limits import PageLimits
from gitops_dsf.show.preview.lists import folded, left_out, sentences
from gitops_dsf.show.preview.pace import failover_text, paced_change_text, wave_lines
from gitops_dsf.show.preview.reasons import reason_text
from gitops_dsf.views.preview.build import Comparison
from gitops_dsf.views.preview.moves import (
    UNKNOWN,
    ClusterStanding,
    DecisionMove,
    MoveKind,
    StandingTerm,
    Unknown,
    WrittenPlacement,
)
from gitops_dsf.views.preview.pacedchange import PacedChange
from gitops_dsf.views.preview.reasons import MAX_CHOICE
from gitops_dsf.wording import and_text, choice_text, names_text, plural, prioritizer_text

MAX_LISTED: Final = 5
"""Moves on the first screen, where each is a line or two."""
# The first have no points before the change, the others none after it.
_NEW: Final = frozenset({MoveKind.NEW, MoveKind.START})
_GONE: Final = frozenset({MoveKind.REMOVE, MoveKind.FOLLOW})


class _Weight(NamedTuple):
    """A prioritizer with its weight in one of the two revisions."""

    name: str
    weight: int


def move_line(move: DecisionMove, limits: PageLimits) -> str:
    """One line: who, from where, whereto and why."""
    title = code(_title(move, limits))
    reason = limits.plain(reason_text(move.reason.value)[: 2 * limits.width])
    return f"{title} {_route(move, limits)}: {reason}"


def _route(move: DecisionMove, limits: PageLimits) -> str:
    origin = limits.plain(names_text(move.origin, max_names=limits.names)) or "no cluster"
    target = limits.plain(names_text(_known(move), max_names=limits.names)) or "nowhere"
    if move.kind is MoveKind.OPEN:
        target = limits.plain(_open_target(move))
        if not starts_somewhere(move):
            return f"may move, **{origin} → {target}**"
    if starts_somewhere(move) and move.written is UNSET:
        return f"starts on **{target}**"
    # A reviewer of a new application sees what it asks for without opening its file.
    if move.written is not UNSET:
        asked_for = limits.plain(written_text(move.written))
        return f"is new and starts on **{target}** ({asked_for})"
    if move.kind is MoveKind.NEW:
        return f"is new and starts on **{target}**"
    if move.kind is MoveKind.START:
        return f"had no cluster and starts on **{target}**"
    if move.kind is MoveKind.GROW:
        return f"stays, and also starts on **{target}**"
    if move.kind is MoveKind.SHRINK:
        return f"leaves **{origin}**, and stays on {plural(move.stays, 'cluster')}"
    if move.kind in _GONE:
        return f"leaves **{origin}**"
    return f"**{origin} → {target}**"


def written_text(written: WrittenPlacement) -> str:
    """Formats `1 cluster of fleet with region in (us), by cpu and cost x-2, stickiness 20`."""
    count = written.number_of_clusters
    clusters = "every cluster" if count is None else plural(count, "cluster")
    text = f"{clusters} of {names_text(written.cluster_sets)}"
    if written.labels:
        text += f" with {and_text(written.labels)}"
    return f"{text}, by {and_text(written.scores)}, stickiness {written.stickiness}"


def move_sections(comparison: Comparison, limits: PageLimits) -> Iterator[str]:
    """The moves for which the first screen has no room, and the scores behind all of them."""
    moves = comparison.moves or ()
    if len(moves) > MAX_LISTED:
        yield from folded(f"More moves ({len(moves) - MAX_LISTED})", _more(moves, limits))
    standing = [move for move in moves if move.standings and move.kind not in _GONE]
    if standing:
        yield from folded("Scores before and after", _standings(standing, limits))


def pace_section(comparison: Comparison, limits: PageLimits) -> Iterator[str]:
    """The waves of paced moves, and refuges that change."""
    paced = comparison.paced
    if paced is not UNSET:
        yield from folded(f"Paced moves ({paced.count})", _waves(paced, limits))
    refuges = comparison.refuges
    if refuges is not UNSET:
        lines = sentences(map(failover_text, refuges), refuges, "cluster", limits)
        yield from folded("Refuges would be", lines)


def _waves(paced: PacedChange, limits: PageLimits) -> Iterator[str]:
    text = limits.plain(paced_change_text(paced))
    if not paced.waves:
        yield f"The pace: {text}."
        return
    yield f"The pace: {text}:\n"
    yield from sentences(wave_lines(paced.waves), paced.waves, "wave", limits)


def _more(moves: Sequence[DecisionMove], limits: PageLimits) -> Iterator[str]:
    # A table with a reason in each row fits neither a telephone nor a terminal.
    visible = moves[: limits.moves]
    for move in visible[MAX_LISTED:]:
        yield f"- {move_line(move, limits)}"
    yield from left_out(moves, "move", limits, prefix="- ", rows=max(len(visible), MAX_LISTED))


def _title(move: DecisionMove, limits: PageLimits) -> str:
    """The Placement, and the applications that follow it unless that is one of the same name."""
    title = move.application
    if move.followers and move.followers != (title.partition("/")[2],):
        title += f" ({names_text(move.followers, max_names=limits.names)})"
    return title


def _known(move: DecisionMove) -> Sequence[str]:
    return () if move.target == UNKNOWN else move.target


def _open_target(move: DecisionMove) -> str:
    """The clusters that may be selected, where they are few."""
    # Three names of unknown scores do not help a reader; often they are all that exist.
    max_names = MAX_CHOICE if move.bounded else 2
    return choice_text(move.possible, move.open_places or 0, max_names=max_names) or UNKNOWN


def _standings(moves: Sequence[DecisionMove], limits: PageLimits) -> Iterator[str]:
    visible = moves[: min(limits.moves, limits.standings)]
    for move in visible:
        yield f"- {code(move.application)}"
        # The clusters that it leaves, and those that it moves to.
        for standing in move.standings[: 2 * limits.names]:
            yield f"  - {limits.plain(standing_text(move, standing))}"
    yield from left_out(moves, "move", limits, prefix="- ", rows=len(visible))


def standing_text(move: DecisionMove, standing: ClusterStanding) -> str:
    """Formats the points of a cluster of a move, before and after, with the terms of each sum."""
    return _first_standing(standing) if move.kind in _NEW else _standing(standing)


def _first_standing(standing: ClusterStanding) -> str:
    """`eu-1: 60 points (cpu x5: 40, Steady x1: 0)` of a Placement that had no standing before."""
    terms: list[str] = []
    for term in standing.terms:
        if term.after is not None:
            terms.append(
                f"{prioritizer_text(term.name)} x{term.weight_after}: {_score_after(term)}"
            )
    if not terms:
        return f"{standing.cluster}: {_points_after(standing)}"
    return f"{standing.cluster}: {_points_after(standing)} ({', '.join(terms)})"


def _standing(standing: ClusterStanding) -> str:
    """`eu-1: 100 points -> 60 points (cpu x5: 80 -> 40, Steady x1: 100 -> 100)`."""
    # Each side has weights of its own: sums of different weights cannot be compared, points can.
    weights = [_Weight(term.name, term.weight_before or 0) for term in standing.terms]
    before = _points(standing.before, mean_weight(weights))
    after = _points_after(standing)
    terms: list[str] = []
    for term in standing.terms:
        # A cluster that a filter drops on one side has scores on the other one alone.
        if term.before is not None or term.after is not None:
            terms.append(_term(term))
    if not terms:
        return f"{standing.cluster}: {before} -> {after}"
    return f"{standing.cluster}: {before} -> {after} ({', '.join(terms)})"


def _points_after(standing: ClusterStanding) -> str:
    """The points after the change, or the two between which they will be."""
    weights = [_Weight(term.name, term.weight_after or 0) for term in standing.terms]
    if standing.after_low is None or standing.after_high is None:
        return _points(standing.after, mean_weight(weights))
    bounds = Interval(standing.after_low, standing.after_high)
    return f"{points_range_text(bounds, mean_weight(weights))} points"


def _term(term: StandingTerm) -> str:
    """`cpu x5: 80 -> 40`, `cpu x5: 80 -> 39 to 41`, or `cpu x5->x3: 80 -> unknown (...)`."""
    name = prioritizer_text(term.name)
    return f"{name} {_weight(term)}: {_score(term.before)} -> {_score_after(term)}"


def _score_after(term: StandingTerm) -> str:
    after = _score(term.after)
    # The bounds of a score that is not known say more than that it is not.
    if term.after_low is not None:
        after = f"{term.after_low} to {term.after_high}"
    return f"{after} ({term.unknown_because})" if term.unknown_because else after


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
