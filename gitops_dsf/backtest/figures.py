"""TODO."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from msgspec import UNSET

from gitops_dsf.backtest.decisions import DecisionLine
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.paced import PacedLine
from gitops_dsf.backtest.placement import PreparedPlacement
from gitops_dsf.backtest.result import Figures, FlappingEpisode, PacedFigures
from gitops_dsf.backtest.run import Backtest
from gitops_dsf.hub.moves.flapping import Return, cause_of, episodes, moves_back, returns

DAY: Final = 86_400.0


SHORTEST_SECONDS: Final = 3600.0
"""Of a history from which a rate a day and a setting are concluded."""


def is_short(grid: TimeGrid) -> bool:
    """Whether it says too little for a rate a day, and for advice."""
    return grid.end - grid.start < SHORTEST_SECONDS


def figures(found: Backtest, key: str, *, window: float, replayed: tuple[int, ...] = ()) -> Figures:
    """The figures of a Placement. `replayed`: its moves with other moments of the agents, if known."""
    line, grid = found.lines[key], found.grid
    changes = tuple(line.changes(grid))
    flapping = tuple(
        FlappingEpisode(
            start=item.start,
            end=item.end,
            clusters=item.clusters,
            returns=moves_back(item.returns),
            cause=cause_of(
                item.returns, lambda each: _leads(each, found.contests[key], found.columns)
            ),
        )
        for item in episodes(changes, window=window)
    )
    moves = len(changes)
    return Figures(
        moves=moves,
        moves_range=(min(moves, *replayed), max(moves, *replayed)) if replayed else None,
        moves_per_day=None if is_short(grid) else moves * DAY / (grid.count * grid.step),
        returns=sum(item.returns for item in flapping),
        regret=line.regret,
        seconds_on=time_on(line, grid=grid),
        changes=changes,
        flapping=flapping,
        paced=_paced(found.paced[key], found.unpaced[key], grid, window)
        if key in found.paced
        else UNSET,
    )


def _paced(found: PacedLine, without: DecisionLine, grid: TimeGrid, window: float) -> PacedFigures:
    changes = tuple(without.changes(grid))
    return PacedFigures(
        moves_without=len(changes),
        returns_without=moves_back(returns(changes, window=window)),
        regret_without=without.regret,
        waits=len(found.waits),
        dropped=sum(not each.began for each in found.waits),
        longest_wait_seconds=max((each.seconds for each in found.waits), default=0.0),
    )


def time_on(line: DecisionLine, *, grid: TimeGrid) -> Mapping[str, float]:
    """Seconds in the decision, by cluster, the longest first."""
    spent: Counter[str] = Counter()
    ends = [item.number for item in line.decided[1:]] + [grid.count]
    for item, end in zip(line.decided, ends, strict=True):
        for cluster in item.clusters:
            spent[cluster] += end - item.number
    return {
        cluster: points * grid.step
        for cluster, points in sorted(spent.items(), key=lambda each: (-each[1], each[0]))
    }


def _leads(
    each: Return, contest: PreparedPlacement, columns: GridScores
) -> tuple[dict[str, float], dict[str, float]]:
    """Points by which the cluster led the one that took its place, when it was left and when joined."""
    found: list[dict[str, float]] = [{}, {}]
    for leads, change in zip(found, (each.left, each.joined), strict=True):
        number = round((change.at - columns.grid.start) / columns.grid.step)
        for term in contest.terms:
            values = [
                0 if column is None else int(column[number])
                for column in (
                    columns.column(term.resource, term.score, name)
                    for name in (each.cluster, each.rival or "")
                )
            ]
            leads[term.resource] = leads.get(term.resource, 0.0) + term.weight * (
                values[0] - values[1]
            )
    return found[0], found[1]
