"""TODO."""

from collections.abc import Iterator
from dataclasses import dataclass

from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.hub.moves.flapping import DecisionChange


@dataclass(frozen=True, kw_only=True, slots=True)
class GridDecision:
    """A decision, which holds from a point of the grid on. Clusters are in order of name."""

    number: int
    clusters: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DecisionLine:
    """All decisions of one Placement, in order of time. Equal ones in a row are one."""

    key: str
    """namespace/name."""
    decided: tuple[GridDecision, ...]
    regret: float
    """Points of the weighted mean behind the best decision, averaged over time, summed over clusters."""

    def changes(self, grid: TimeGrid) -> Iterator[DecisionChange]:
        """The changes, in order of time. The first decision is none."""
        for before, after in zip(self.decided, self.decided[1:], strict=False):
            old, new = set(before.clusters), set(after.clusters)
            yield DecisionChange(
                at=grid.at(after.number),
                left=tuple(sorted(old - new)),
                joined=tuple(sorted(new - old)),
            )
