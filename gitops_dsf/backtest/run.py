"""Runs a backtest: published scores to decisions of all Placements. And how many moves there would be if
agents scored at other moments.

Each agent runs a scorer at a phase of its own within the interval, which nobody knows afterwards. The history
has a value for each interval, so the backtest writes them all at the points of the grid. Two clusters whose
scores swing alike then never differ, while on a hub one follows the other. So the decisions are made again on
a finer grid, with some phases: always the same ones, so that equal input gives equal output.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import UNSET

from dsf_wire.publishrule import stable_fraction
from gitops_dsf.backtest.contest import Contest, contest, score_expiries
from gitops_dsf.backtest.paced import PacedLine, PacedReplay
from gitops_dsf.backtest.replay import Replay
from gitops_dsf.backtest.result import Figures, Flapping, PacedFigures
from gitops_dsf.backtest.track import DecisionLine, Grid, Tracks
from gitops_dsf.backtest.vectorised import ScoreColumns, decide
from gitops_dsf.hub.moves.flapping import Return, cause_of, episodes, moves_back, returns
from gitops_dsf.hub.objects import Placement
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.repository.model.reconciler import Pace
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
    paced: Mapping[str, PacedLine]
    """What paced Placements waited for. The pace leaves out filters that depend on time or on decisions."""
    unpaced: Mapping[str, DecisionLine]
    """What they would decide without the pace."""

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
        for found in (contest(item, state=state, start=grid.start) for item in placements)
    }
    at_once = [item for item in contests.values() if not item.special and not item.undecided]
    stepwise = [item for item in contests.values() if item.special and not item.undecided]
    columns = ScoreColumns(tracks=tracks, grid=grid)
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
            chosen.append((each, score_expiries(each, tracks, grid=grid)))
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


DAY: Final = 86_400.0
SHORTEST_SECONDS: Final = 3600.0
"""Of a history from which a rate a day and a setting are concluded."""


def is_short(grid: Grid) -> bool:
    """Whether it says too little for a rate a day, and for advice."""
    return grid.end - grid.start < SHORTEST_SECONDS


def figures(found: Backtest, key: str, *, window: float, replayed: tuple[int, ...] = ()) -> Figures:
    """The figures of a Placement. `replayed`: its moves with other moments of the agents, if known."""
    line, grid = found.lines[key], found.grid
    changes = tuple(line.changes(grid))
    flapping = tuple(
        Flapping(
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


def _paced(found: PacedLine, without: DecisionLine, grid: Grid, window: float) -> PacedFigures:
    changes = tuple(without.changes(grid))
    return PacedFigures(
        moves_without=len(changes),
        returns_without=moves_back(returns(changes, window=window)),
        regret_without=without.regret,
        waits=len(found.waits),
        dropped=sum(not each.began for each in found.waits),
        longest_wait_seconds=max((each.seconds for each in found.waits), default=0.0),
    )


def time_on(line: DecisionLine, *, grid: Grid) -> Mapping[str, float]:
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
    each: Return, contest: Contest, columns: ScoreColumns
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
