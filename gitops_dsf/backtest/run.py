"""Runs a backtest: published scores to decisions of all Placements."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gitops_dsf.backtest.contest import Contest, contest
from gitops_dsf.backtest.decisions import DecisionLine
from gitops_dsf.backtest.grid import Grid
from gitops_dsf.backtest.lapses import lapses
from gitops_dsf.backtest.replay import Replay
from gitops_dsf.backtest.track import Tracks
from gitops_dsf.backtest.vectorised import ScoreColumns, decide
from gitops_dsf.hub.objects import Placement
from gitops_dsf.simulator import HubState


@dataclass(frozen=True, kw_only=True)
class Backtest:
    """What a fleet would have decided."""

    contests: Mapping[str, Contest]
    """By namespace/name of the Placement, in order."""
    lines: Mapping[str, DecisionLine]
    """The same keys, without Placements that are not decided."""
    columns: ScoreColumns
    """The published scores."""

    @property
    def grid(self) -> Grid:
        """The points at which it was decided."""
        return self.columns.grid


def run(
    placements: Iterable[Placement],
    *,
    state: HubState,
    tracks: Tracks,
    grid: Grid,
    stop: Callable[[], bool] = lambda: False,
) -> Backtest:
    """Decides all Placements at all points of the grid. Those that are not decided yet when `stop` is true
    have no line.

    Placements whose passes need the whole simulator are decided step by step, together.
    """
    contests = {
        found.key: found for found in (contest(item, state=state, start=grid.start) for item in placements)
    }
    at_once = [item for item in contests.values() if not item.special and not item.undecided]
    stepwise = [item for item in contests.values() if item.special and not item.undecided]
    columns = ScoreColumns(tracks=tracks, grid=grid)
    lines = {
        item.key: decide(
            item,
            columns=columns,
            found=lapses(item, tracks, grid=grid),
            steady=item.steady,
        )
        for item in at_once
        if not stop()
    }
    if stepwise and not stop():
        replay = Replay(stepwise, state=state, tracks=tracks, grid=grid, known=list(lines.values()))
        lines |= {item.key: item for item in replay.run(stop=stop)}
    decided = {key: lines[key] for key in contests if key in lines}
    return Backtest(contests=contests, lines=decided, columns=columns)
