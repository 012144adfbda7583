"""An explanation as data: the terms of a cluster's sum, and which change of a score would flip
the decision. It is JSON as it is.
"""

from msgspec import Struct

LOWEST, HIGHEST = -100, 100
"""The range of values in an AddOnPlacementScore (CRD: status.scores[].value)."""


class Contribution(Struct, frozen=True, rename="camel"):
    """What one prioritizer adds to the sum of a cluster."""

    name: str
    weight: int
    score: int | None
    """None if the prioritizer has no entry for the cluster, which adds 0."""
    points: int
    note: str
    """Whether the score is missing or expired."""


class Flip(Struct, frozen=True, rename="camel"):
    """A change of one score of this cluster that would flip the decision if nothing else changes."""

    name: str
    score: int
    needed: int
    """The nearest score that flips the decision."""
    reachable: bool
    """Whether its scorer could publish it."""

    @property
    def change(self) -> int:
        return self.needed - self.score

    def __str__(self) -> str:
        how = "rises" if self.change > 0 else "falls"
        text = f"{self.name} {how} from {self.score} to {self.needed}"
        if not LOWEST <= self.needed <= HIGHEST:
            return f"{text}, which no score can be"
        return text if self.reachable else f"{text}, which its scorer never publishes"


class Explanation(Struct, frozen=True, rename="camel", kw_only=True):
    """Why a cluster is in a decision or not."""

    placement: str
    cluster: str
    selected: bool | None
    """None if that is not known."""
    reason: str
    """One sentence: why the cluster is in or out."""
    filter: str | None
    """The filter that dropped the cluster."""
    rank: int | None
    """From 1, among the clusters that passed the filters; None if it was dropped."""
    total: int | None
    """How many clusters were ranked."""
    points: int | None
    """The weighted sum."""
    contributions: tuple[Contribution, ...]
    rival: str | None
    """The cluster it would change places with: the last one selected, or the first one not selected."""
    rival_points: int | None
    margin: int | None
    """Points it must gain (if out) or lose (if in) to change places; None if no score could."""
    flips: tuple[Flip, ...]
    """One per add-on score with a weight, the smallest change first."""

    @property
    def nearest(self) -> Flip | None:
        """The smallest change to a score that can be published."""
        return next((flip for flip in self.flips if flip.reachable), None)
