"""The number of moves if agents scored at other moments.

Each agent runs a scorer at a phase of its own within the interval, which is unknown afterwards. The
history has a value for each interval, so the backtest writes them all at the points of the grid.
Two clusters whose scores swing alike then never differ, while on a hub one follows the other. So
the decisions are made again on a finer grid, with some phases. These are always the same ones, so
that equal input gives equal output.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from dsf_wire.publishrule import stable_fraction
from gitops_dsf.backtest.expiry import ScoreExpiry, score_expiries
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.placement import PreparedPlacement
from gitops_dsf.backtest.run import Backtest
from gitops_dsf.backtest.vectorised import decide

REPLAYS: Final = 3
PARTS: Final = 4
"""Points of the finer grid in place of one."""
MAX_CELLS: Final = 100_000_000
"""Points times clusters of all replays together, which bounds the time: about five seconds."""


class _ReplayedPlacement(NamedTuple):
    """A Placement that is decided again."""

    prepared: PreparedPlacement
    expiries: tuple[ScoreExpiry, ...]


def moves_with_phases(
    backtest: Backtest,
    *,
    intervals: Mapping[str, float],
    together: frozenset[str],
    stop: Callable[[], bool] = lambda: False,
) -> Mapping[str, tuple[int, ...]]:
    """The moves of each replay, by namespace/name of the Placement.

    Placements whose passes are decided one by one or share a pace have none, and those for which
    there is no room. If `stop` becomes true, none has.

    `intervals` are those of the scorers in seconds, by name of the AddOnPlacementScore. Those in
    `together` score all clusters in one cycle, as scorers on the hub do.
    """
    grid = backtest.grid
    tracks = backtest.scores.tracks
    # The points of the grid are points of the finer one, too.
    fine = TimeGrid(start=grid.start, step=grid.step / PARTS, count=(grid.count - 1) * PARTS + 1)
    chosen = _chosen(backtest, points=fine.count)
    moves: dict[str, tuple[int, ...]] = {placement.prepared.key: () for placement in chosen}
    for number in range(REPLAYS):

        def earlier(resource: str, cluster: str, number: int = number) -> float:
            # Earlier, never later: at a point a store has the last raw score before it.
            phase_of = "" if resource in together else cluster
            return intervals[resource] * stable_fraction(resource, phase_of, f"replay {number}")

        scores = GridScores(tracks=tracks, grid=fine, earlier=earlier)
        for prepared, expiries in chosen:
            if stop():
                return {}
            line = decide(prepared, scores=scores, expiries=expiries, steady=prepared.steady)
            moves[prepared.key] += (len(line.decided) - 1,)
    return moves


def _chosen(backtest: Backtest, *, points: int) -> list[_ReplayedPlacement]:
    """The Placements for which there is room, in order."""
    room = MAX_CELLS
    chosen: list[_ReplayedPlacement] = []
    for key in backtest.lines:
        prepared = backtest.placements[key]
        cells = REPLAYS * points * len(prepared.candidates)
        if not prepared.special and key not in backtest.paced and cells <= room:
            room -= cells
            expiries = score_expiries(prepared, backtest.scores.tracks, grid=backtest.grid)
            chosen.append(_ReplayedPlacement(prepared, expiries))
    return chosen
