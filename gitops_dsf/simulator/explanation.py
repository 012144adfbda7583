"""An explanation as data: the terms of a cluster's sum, and which change of a score would flip
the decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LOWEST, HIGHEST = -100, 100
"""The range of values in an AddOnPlacementScore (CRD: status.scores[].value)."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """The term that one prioritizer adds to a cluster's sum."""

    name: str
    weight: int
    score: int | None
    """None if the prioritizer has no entry for the cluster, which adds 0."""
    note: str = ""
    """Whether the score is missing or expired."""

    @property
    def points(self) -> int:
        return (self.score or 0) * self.weight


@dataclass(frozen=True, slots=True)
class Flip:
    """A change of one score of this cluster that would flip the decision if nothing else changes."""

    name: str
    weight: int
    score: int
    needed: int
    """The nearest score that flips the decision."""
    span: tuple[int, int] = (LOWEST, HIGHEST)
    """The lowest and highest score that its scorer publishes."""

    @property
    def change(self) -> int:
        return self.needed - self.score

    @property
    def reachable(self) -> bool:
        """Whether its scorer could publish it."""
        return self.span[0] <= self.needed <= self.span[1]

    def __str__(self) -> str:
        how = "rises" if self.change > 0 else "falls"
        text = f"{self.name} {how} from {self.score} to {self.needed}"
        if not LOWEST <= self.needed <= HIGHEST:
            return f"{text}, which no score can be"
        return text if self.reachable else f"{text}, which its scorer never publishes"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of one cluster in one Placement."""

    placement: str
    cluster: str
    selected: bool
    reason: str
    """One sentence: why the cluster is in or out."""
    filter: str | None = None
    """The filter that dropped the cluster."""
    rank: int | None = None
    """From 1, among the clusters that passed the filters; None if it was dropped."""
    total: int | None = None
    """How many clusters were ranked."""
    points: int | None = None
    """The weighted sum."""
    contributions: tuple[Contribution, ...] = ()
    rival: str | None = None
    """The cluster it would change places with: the last one selected, or the first one not selected."""
    rival_points: int | None = None
    margin: int | None = None
    """Points it must gain (if out) or lose (if in) to change places; None if no score could."""
    flips: tuple[Flip, ...] = ()
    """One per add-on score with a weight, the smallest change first."""

    @property
    def nearest(self) -> Flip | None:
        """The smallest change to a score that can be published."""
        return next((flip for flip in self.flips if flip.reachable), None)

    def to_dict(self) -> dict[str, Any]:
        """JSON data in the spelling of Kubernetes objects."""
        return {
            "placement": self.placement,
            "cluster": self.cluster,
            "selected": self.selected,
            "reason": self.reason,
            "filter": self.filter,
            "rank": self.rank,
            "total": self.total,
            "points": self.points,
            "contributions": [
                {
                    "name": part.name,
                    "weight": part.weight,
                    "score": part.score,
                    "points": part.points,
                    "note": part.note,
                }
                for part in self.contributions
            ],
            "rival": self.rival,
            "rivalPoints": self.rival_points,
            "margin": self.margin,
            "flips": [
                {"name": flip.name, "score": flip.score, "needed": flip.needed, "reachable": flip.reachable}
                for flip in self.flips
            ],
        }
