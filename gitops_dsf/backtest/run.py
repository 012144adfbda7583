"""Runs a backtest: published scores to decisions of all Placements. And how many moves there would be if
agents scored at other moments.

Each agent runs a scorer at a phase of its own within the interval, which nobody knows afterwards. The history
has a value for each interval, so the backtest writes them all at the points of the grid. Two clusters whose
scores swing alike then never differ, while on a hub one follows the other. So the decisions are made again on
a finer grid, with some phases: always the same ones, so that equal input gives equal output.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gitops_dsf.backtest.decisions import DecisionLine
from gitops_dsf.backtest.expiry import score_expiries
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.paced import PacedLine, PacedReplay
from gitops_dsf.backtest.placement import PreparedPlacement, prepare
from gitops_dsf.backtest.replay import Replay
from gitops_dsf.backtest.track import Tracks
from gitops_dsf.backtest.vectorised import decide
from gitops_dsf.hub.objects import Placement
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState


@dataclass(frozen=True, kw_only=True)
class Backtest:
    """What a fleet would have decided."""

    contests: Mapping[str, PreparedPlacement]
    """By namespace/name of the Placement, in order."""
    lines: Mapping[str, DecisionLine]
    """The same keys, without Placements that are not decided."""
    columns: GridScores
    """The published scores."""
    paced: Mapping[str, PacedLine]
    """What paced Placements waited for. The pace leaves out filters that depend on time or on decisions."""
    unpaced: Mapping[str, DecisionLine]
    """What they would decide without the pace."""

    @property
    def grid(self) -> TimeGrid:
        """The points at which it was decided."""
        return self.columns.grid


def run(
    placements: Iterable[Placement],
    *,
    state: HubState,
    tracks: Tracks,
    grid: TimeGrid,
    stop: Callable[[], bool] = lambda: False,
    paced: Mapping[str, Paced] = {},
    pace: Pace | None = None,
) -> Backtest:
    """Decides all Placements at all points of the grid. Those that are not decided yet when `stop` is true
    have no line.

    Placements of `paced` (by namespace/name) are given as people wrote them, and share the pace. Placements
    whose passes need the whole simulator are decided step by step, together.
    """
    contests = {
        found.key: found
        for found in (prepare(item, state=state, start=grid.start) for item in placements)
    }
    at_once = [item for item in contests.values() if not item.special and not item.undecided]
    stepwise = [item for item in contests.values() if item.special and not item.undecided]
    columns = GridScores(tracks=tracks, grid=grid)
    lines = {
        item.key: decide(
            item, columns=columns, found=score_expiries(item, tracks, grid=grid), steady=item.steady
        )
        for item in at_once
        if not stop()
    }
    waiting = [item for item in at_once if item.key in paced] if pace is not None else []
    unpaced = {item.key: lines.pop(item.key) for item in waiting if item.key in lines}
    found: Mapping[str, PacedLine] = {}
    if pace is not None and waiting and not stop():
        together = PacedReplay(waiting, paced=paced, pace=pace, state=state, columns=columns)
        found = together.run(stop=stop)
        lines |= {key: item.line for key, item in found.items()}
    if stepwise and not stop():
        replay = Replay(stepwise, state=state, tracks=tracks, grid=grid, known=list(lines.values()))
        lines |= {item.key: item for item in replay.run(stop=stop)}
    decided = {key: lines[key] for key in contests if key in lines}
    return Backtest(contests=contests, lines=decided, columns=columns, paced=found, unpaced=unpaced)
