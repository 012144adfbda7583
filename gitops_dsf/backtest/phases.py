"""TODO."""

from collections.abc import Callable, Mapping
from typing import Final

from dsf_wire.publishrule import stable_fraction
from gitops_dsf.backtest.expiry import score_expiries
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.run import Backtest
from gitops_dsf.backtest.vectorised import decide

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
    fine = TimeGrid(start=grid.start, step=grid.step / PARTS, count=(grid.count - 1) * PARTS + 1)
    room, chosen = MOST_CELLS, []
    for each in map(found.contests.__getitem__, found.lines):
        cells = REPLAYS * fine.count * len(each.candidates)
        if not each.special and each.key not in found.paced and cells <= room:
            room -= cells
            chosen.append((each, score_expiries(each, tracks, grid=grid)))
    moves: dict[str, tuple[int, ...]] = {each.key: () for each, _ in chosen}
    for number in range(REPLAYS):

        def earlier(resource: str, cluster: str, number: int = number) -> float:
            where = "" if resource in at_once else cluster
            return intervals[resource] * stable_fraction(resource, where, f"replay {number}")

        columns = GridScores(tracks=tracks, grid=fine, earlier=earlier)
        for each, expired in chosen:
            if stop():
                return {}
            line = decide(each, columns=columns, found=expired, steady=each.steady)
            moves[each.key] += (len(line.decided) - 1,)
    return moves
