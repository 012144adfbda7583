"""Runs a backtest: from published scores to decisions of all Placements.

The decisions are those of OCM's scheduler for the published scores of the past. Not guaranteed:
that the past would have been like this. Clusters, labels and taints are those of now, and the load
of applications that would have moved is in no score (docs/decisions/backtest.md).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gitops_dsf.backtest.decisions import DecisionLine
from gitops_dsf.backtest.expiry import score_expiries
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.paced import PacedLine, PacedReplay
from gitops_dsf.backtest.placement import PreparedPlacement, prepare_all
from gitops_dsf.backtest.replay import Replay
from gitops_dsf.backtest.track import Tracks
from gitops_dsf.backtest.vectorised import decide
from gitops_dsf.hub.objects import Placement
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState


@dataclass(frozen=True, kw_only=True)
class Backtest:
    """The decisions of a fleet over the span."""

    placements: Mapping[str, PreparedPlacement]
    """Placements by namespace/name, in the order in which they were given."""
    lines: Mapping[str, DecisionLine]
    """The same keys, without Placements that are not decided."""
    scores: GridScores
    """The published scores."""
    paced: Mapping[str, PacedLine]
    """The waiting reasons of paced Placements, by namespace/name.

    Placements whose filters depend on time or on decisions take no part in the pace.
    """
    unpaced: Mapping[str, DecisionLine]
    """The decisions of the Placements of `paced` without the pace."""

    @property
    def grid(self) -> TimeGrid:
        """The points at which it was decided."""
        return self.scores.grid


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
    """Decides all Placements at all points of the grid.

    Those that are not decided yet when `stop` is true have no line. Placements of `paced` (by
    namespace/name) are given as people wrote them, and share the pace. Placements whose passes need
    the whole simulator are decided step by step, together.
    """
    prepared_placements = prepare_all(placements, state=state, start=grid.start)
    at_once, stepwise = _by_way(prepared_placements.values())
    sharing = [prepared for prepared in at_once if prepared.key in paced]
    scores = GridScores(tracks=tracks, grid=grid)
    lines: dict[str, DecisionLine] = {}
    for prepared in at_once:
        if stop():
            break
        expiries = score_expiries(prepared, tracks, grid=grid)
        lines[prepared.key] = decide(
            prepared, scores=scores, expiries=expiries, steady=prepared.steady
        )
    paced_lines: Mapping[str, PacedLine] = {}
    unpaced: dict[str, DecisionLine] = {}
    if pace is not None and sharing:
        # Their decisions without the pace are shown beside those with it.
        for key in paced:
            if key in lines:
                unpaced[key] = lines.pop(key)
        if not stop():
            replay = PacedReplay(sharing, paced=paced, pace=pace, state=state, scores=scores)
            paced_lines = replay.run(stop=stop)
        for key, paced_line in paced_lines.items():
            lines[key] = paced_line.line
    # Balance counts the decisions of all other Placements, so these are the last ones.
    if stepwise and not stop():
        known = list(lines.values())
        passes = Replay(stepwise, state=state, tracks=tracks, grid=grid, known=known)
        for line in passes.run(stop=stop):
            lines[line.key] = line
    return Backtest(
        placements=prepared_placements,
        lines={key: lines[key] for key in prepared_placements if key in lines},
        scores=scores,
        paced=paced_lines,
        unpaced=unpaced,
    )


class _Ways(NamedTuple):
    """The Placements that are decided, by how."""

    at_once: Sequence[PreparedPlacement]
    """All points together, with numpy."""
    stepwise: Sequence[PreparedPlacement]
    """Point by point, with the simulator."""


def _by_way(placements: Iterable[PreparedPlacement]) -> _Ways:
    at_once: list[PreparedPlacement] = []
    stepwise: list[PreparedPlacement] = []
    for prepared in placements:
        if prepared.undecided:
            continue
        if prepared.special:
            stepwise.append(prepared)
        else:
            at_once.append(prepared)
    return _Ways(at_once, stepwise)
