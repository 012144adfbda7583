"""The figures of one Placement: moves, time on each cluster, flapping and its causes, regret."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import UNSET

from gitops_dsf.backtest.decisions import DecisionLine
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridscores import GridColumn, GridScores
from gitops_dsf.backtest.placement import PreparedPlacement
from gitops_dsf.backtest.result import Figures, FlappingEpisode, PacedFigures
from gitops_dsf.backtest.run import Backtest
from gitops_dsf.hub.moves.flapping import (
    DecisionChange,
    Return,
    ReturnLeads,
    cause_of,
    episodes,
    moves_back,
    returns,
)

DAY: Final = 86_400.0
MIN_SECONDS: Final = 3600.0
"""A shorter history says nothing about a rate a day, or about settings."""


def is_short(grid: TimeGrid) -> bool:
    """Whether the history is too short for a rate per day, and for advice."""
    return grid.end - grid.start < MIN_SECONDS


def figures(
    backtest: Backtest, key: str, *, window: float, replayed: tuple[int, ...] = ()
) -> Figures:
    """The figures of a Placement.

    `window` is that of returns, in seconds. `replayed` are its moves with other moments of the
    agents; empty if they are not known.
    """
    line = backtest.lines[key]
    grid = backtest.grid
    changes = tuple(line.changes(grid))
    flapping = tuple(_flapping(backtest, key, changes, window=window))
    moves = len(changes)
    return Figures(
        moves=moves,
        moves_range=(min(moves, *replayed), max(moves, *replayed)) if replayed else None,
        moves_per_day=None if is_short(grid) else moves * DAY / (grid.count * grid.step),
        returns=sum(episode.returns for episode in flapping),
        regret=line.regret,
        seconds_on=time_on(line, grid=grid),
        changes=changes,
        flapping=flapping,
        paced=_paced(backtest, key, window=window) if key in backtest.paced else UNSET,
    )


def time_on(line: DecisionLine, *, grid: TimeGrid) -> Mapping[str, float]:
    """Seconds in the decision, by cluster, the longest first."""
    points: Counter[str] = Counter()
    for held in line.held(end=grid.count):
        for cluster in held.clusters:
            points[cluster] += held.end - held.first
    clusters = sorted(points, key=lambda cluster: (-points[cluster], cluster))
    return {cluster: points[cluster] * grid.step for cluster in clusters}


def _flapping(
    backtest: Backtest, key: str, changes: tuple[DecisionChange, ...], *, window: float
) -> Iterator[FlappingEpisode]:
    prepared = backtest.placements[key]

    def leads_of(change_back: Return) -> ReturnLeads:
        return ReturnLeads(
            when_left=_lead(change_back, change_back.left, prepared, backtest.scores),
            when_chosen_again=_lead(change_back, change_back.joined, prepared, backtest.scores),
        )

    for episode in episodes(changes, window=window):
        yield FlappingEpisode(
            start=episode.start,
            end=episode.end,
            clusters=episode.clusters,
            returns=moves_back(episode.returns),
            cause=cause_of(episode.returns, leads_of),
        )


def _lead(
    change_back: Return, change: DecisionChange, prepared: PreparedPlacement, scores: GridScores
) -> dict[str, float]:
    """Points by which the cluster led the one that took its place, at a change, by score."""
    # Changes are at points of the grid. The division may be a little beside a whole number.
    number = round((change.at - scores.grid.start) / scores.grid.step)
    lead: dict[str, float] = {}
    for term in prepared.terms:
        own = _score_at(number, scores.column(term.resource, term.score, change_back.cluster))
        rival = _score_at(number, scores.column(term.resource, term.score, change_back.rival or ""))
        lead[term.resource] = lead.get(term.resource, 0.0) + term.weight * (own - rival)
    return lead


def _score_at(number: int, column: GridColumn | None) -> int:
    """The score at a point; 0, as OCM 1.2.1 counts it, if it is never published."""
    return 0 if column is None else int(column[number])


def _paced(backtest: Backtest, key: str, *, window: float) -> PacedFigures:
    waits = backtest.paced[key].waits
    without = backtest.unpaced[key]
    changes = tuple(without.changes(backtest.grid))
    return PacedFigures(
        moves_without=len(changes),
        returns_without=moves_back(returns(changes, window=window)),
        regret_without=without.regret,
        waits=len(waits),
        dropped=sum(not wait.began for wait in waits),
        longest_wait_seconds=max((wait.seconds for wait in waits), default=0.0),
    )
