"""The decisions of one Placement over time."""

from collections.abc import Iterator
from dataclasses import dataclass

from gitops_dsf.backtest.grid import Grid
from gitops_dsf.hub.flapping import Change


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """A decision, which holds from a point of the grid on. Clusters are in order of name."""

    number: int
    clusters: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DecisionLine:
    """All decisions of one Placement, in order of time. Equal ones in a row are one."""

    key: str
    """namespace/name."""
    decided: tuple[Decided, ...]
    regret: float
    """Score points that the decision was behind the best one, on average over time. Points are those of the
    weighted mean of the scores, summed over the chosen clusters.
    """

    def changes(self, grid: Grid) -> Iterator[Change]:
        """The changes, in order of time. The first decision is none."""
        for before, after in zip(self.decided, self.decided[1:], strict=False):
            old, new = set(before.clusters), set(after.clusters)
            yield Change(
                at=grid.at(after.number), left=tuple(sorted(old - new)), joined=tuple(sorted(new - old))
            )
