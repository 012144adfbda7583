"""What a backtest says of one Placement: moves, time on each cluster, flapping and its causes, regret."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gitops_dsf.backtest.contest import Contest
from gitops_dsf.backtest.decisions import DecisionLine
from gitops_dsf.backtest.grid import Grid
from gitops_dsf.backtest.vectorised import ScoreColumns
from gitops_dsf.hub.flapping import Change, Episode, Return, cause_of, episodes, moves_back

DAY: Final = 86_400.0


@dataclass(frozen=True, kw_only=True)
class Flapping:
    """An episode, and the score that caused it."""

    episode: Episode
    cause: str | None
    """Name of the AddOnPlacementScore with the largest swing; None if no score changed."""

    @property
    def returns(self) -> int:
        """How many of its moves went back."""
        return moves_back(self.episode.returns)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures of one Placement over the whole span."""

    key: str
    """namespace/name."""
    changes: tuple[Change, ...]
    per_day: float
    """Moves a day."""
    time_on: Mapping[str, float]
    """Seconds in the decision, by cluster, the longest first."""
    flapping: tuple[Flapping, ...]
    regret: float
    """Score points behind the best choice, on average over time, summed over the chosen clusters."""
    clusters: int
    """The most clusters that were chosen at a time."""
    seconds: float
    """The length of the span."""
    replayed: tuple[int, ...]
    """The moves if agents scored at other moments, once for each replay; empty if that is not known."""

    @property
    def moves(self) -> int:
        """How often the decision changed."""
        return len(self.changes)

    @property
    def range(self) -> tuple[int, int] | None:
        """The fewest and the most moves, whenever agents score; None if that is not known."""
        if not self.replayed:
            return None
        return min(self.moves, *self.replayed), max(self.moves, *self.replayed)

    @property
    def returns(self) -> int:
        """How many moves went back to a cluster that had just been left."""
        return sum(item.returns for item in self.flapping)

    @property
    def causes(self) -> Mapping[str, int]:
        """Episodes by the score that caused them, the most frequent first."""
        return dict(Counter(item.cause for item in self.flapping if item.cause is not None).most_common())


def figures(
    line: DecisionLine,
    *,
    contest: Contest,
    columns: ScoreColumns,
    grid: Grid,
    window: float,
    replayed: tuple[int, ...] = (),
) -> Figures:
    """Computes the figures of a Placement. `replayed` are its moves with other moments of the agents."""
    changes = tuple(line.changes(grid))
    return Figures(
        key=line.key,
        changes=changes,
        per_day=len(changes) * DAY / (grid.count * grid.step),
        time_on=time_on(line, grid=grid),
        flapping=tuple(
            Flapping(
                episode=item, cause=cause_of(item.returns, lambda each: _leads(each, contest, columns, grid))
            )
            for item in episodes(changes, window=window)
        ),
        regret=line.regret,
        clusters=max((len(item.clusters) for item in line.decided), default=0),
        seconds=grid.count * grid.step,
        replayed=replayed,
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
    each: Return, contest: Contest, columns: ScoreColumns, grid: Grid
) -> tuple[dict[str, float], dict[str, float]]:
    """Points by which the cluster led the one that took its place, when it was left and when joined."""
    found: list[dict[str, float]] = [{}, {}]
    for leads, change in zip(found, (each.left, each.joined), strict=True):
        number = round((change.at - grid.start) / grid.step)
        for term in contest.terms:
            values = [
                0 if column is None else int(column[number])
                for column in (
                    columns.column(term.resource, term.score, name)
                    for name in (each.cluster, each.rival or "")
                )
            ]
            leads[term.resource] = leads.get(term.resource, 0.0) + term.weight * (values[0] - values[1])
    return found[0], found[1]
