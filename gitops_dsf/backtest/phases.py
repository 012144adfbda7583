"""How many moves there would be if agents scored at other moments.

Each agent runs a scorer at a phase of its own within the interval, which nobody knows afterwards. The history
has a value for each interval, so the backtest writes them all at the points of the grid. Two clusters whose
scores swing alike then never differ, while on a hub one follows the other. So the decisions are made again on
a finer grid, with some phases: always the same ones, so that equal input gives equal output.
"""

from collections.abc import Callable, Mapping
from typing import Final

from dsf_wire.spread import stable_fraction
from gitops_dsf.backtest.grid import Grid
from gitops_dsf.backtest.lapses import lapses
from gitops_dsf.backtest.run import Backtest
from gitops_dsf.backtest.vectorised import ScoreColumns, decide

REPLAYS: Final = 3
PARTS: Final = 4
"""Points of the finer grid in place of one."""
MOST_CELLS: Final = 100_000_000
"""Points times clusters of all replays together, which bounds the time: about five seconds."""


def moves_with_phases(
    found: Backtest,
    *,
    intervals: Mapping[str, float],
    at_once: frozenset[str],
    stop: Callable[[], bool] = lambda: False,
) -> Mapping[str, tuple[int, ...]]:
    """The moves of each replay, by namespace/name of the Placement. Placements whose passes are decided one
    by one or share a pace have none, and those for which there is no room. If `stop` becomes true, none has.

    `intervals` are those of the scorers in seconds, by name of the AddOnPlacementScore. Those in `at_once`
    score all clusters in one cycle.
    """
    grid, tracks = found.grid, found.columns.tracks
    fine = Grid(start=grid.start, step=grid.step / PARTS, count=(grid.count - 1) * PARTS + 1)
    room, chosen = MOST_CELLS, []
    for each in map(found.contests.__getitem__, found.lines):
        cells = REPLAYS * fine.count * len(each.candidates)
        if not each.special and each.key not in found.paced and cells <= room:
            room -= cells
            chosen.append((each, lapses(each, tracks, grid=grid)))
    moves: dict[str, tuple[int, ...]] = {each.key: () for each, _ in chosen}
    for number in range(REPLAYS):

        def earlier(resource: str, cluster: str, number: int = number) -> float:
            where = "" if resource in at_once else cluster
            return intervals[resource] * stable_fraction(resource, where, f"replay {number}")

        columns = ScoreColumns(tracks=tracks, grid=fine, earlier=earlier)
        for each, expired in chosen:
            if stop():
                return {}
            line = decide(each, columns=columns, found=expired, steady=each.steady)
            moves[each.key] += (len(line.decided) - 1,)
    return moves
