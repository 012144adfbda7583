"""The decisions of one Placement over time."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.hub.moves.flapping import DecisionChange


@dataclass(frozen=True, kw_only=True, slots=True)
class GridDecision:
    """A decision, which holds from a point of the grid on. Clusters are in order of name."""

    number: int
    clusters: tuple[str, ...]


class HeldDecision(NamedTuple):
    """The clusters of a decision, and the points of the grid for which it holds."""

    first: int
    end: int
    """The point after the last one."""
    clusters: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DecisionLine:
    """All decisions of one Placement, in order of time. Equal ones in a row are one."""

    key: str
    """namespace/name."""
    decided: tuple[GridDecision, ...]
    regret: float
    """Points of the weighted mean behind the best decision.

    They are averaged over time and summed over the clusters of the decision.
    """

    def changes(self, grid: TimeGrid) -> Iterator[DecisionChange]:
        """The changes, in order of time. The first decision is none."""
        for before, after in pairwise(self.decided):
            old = set(before.clusters)
            new = set(after.clusters)
            yield DecisionChange(
                at=grid.at(after.number),
                left=tuple(sorted(old - new)),
                joined=tuple(sorted(new - old)),
            )

    def held(self, *, end: int) -> Iterator[HeldDecision]:
        """Each decision with the points for which it holds, the last one before point `end`."""
        for number, decision in enumerate(self.decided, start=1):
            until = self.decided[number].number if number < len(self.decided) else end
            yield HeldDecision(decision.number, until, decision.clusters)

    @property
    def max_clusters(self) -> int:
        """The clusters of the largest decision."""
        return max(len(decision.clusters) for decision in self.decided)
