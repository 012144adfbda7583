"""The view itself: frozen values without behaviour, besides counting themselves."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gitops_dsf.hub.freshness import LIVE, State
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.simulator import Flip
from gitops_dsf.snapshot.unread import Unread


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One scorer on one cluster."""

    cluster: str
    state: State
    values: Mapping[str, int]
    """Published score by dimension; also of an expired one."""
    valid_until: datetime | None
    age: float | None
    """Seconds since it was published, reckoned from validUntil and the TTL; None where nothing is published or it has no end."""
    expected: bool
    """Whether the scorer should run there at all: its selector and the masks say so, and it is not suspended."""


@dataclass(frozen=True, kw_only=True)
class ScorerView:
    """One scorer on all clusters."""

    scorer: DynamicScorer
    suspended: str
    """Who suspended it: `git` (spec.suspend), `reconciler`, or nobody."""
    known: bool
    """Whether its scores could be read."""
    cells: tuple[Cell, ...]
    """By cluster name; clusters that its selector leaves out have none unless something is published there."""

    @property
    def counts(self) -> Counter[State]:
        """Clusters by state."""
        return Counter(cell.state for cell in self.cells)

    @property
    def unexpected(self) -> int:
        """Clusters with a score that should not be there; OCM counts it all the same."""
        return sum(not cell.expected and cell.state is not State.MASKED for cell in self.cells)

    @property
    def values(self) -> tuple[int, ...]:
        """What OCM counts now, sorted."""
        return tuple(sorted(value for cell in self.cells if cell.state in LIVE for value in cell.values.values()))

    @property
    def oldest(self) -> float | None:
        """Age of the oldest score that is published, in seconds."""
        return max((cell.age for cell in self.cells if cell.age is not None), default=None)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The nearest change of one score that would flip a decision."""

    cluster: str
    """Whose score would change."""
    gains: bool
    """Whether it would come in; else it would go out."""
    rival: str
    """Whom it would change places with."""
    margin: int
    """Weighted points."""
    flip: Flip | None
    """None: no score that can be published does it."""


@dataclass(frozen=True, kw_only=True)
class PlacementView:
    """One Placement."""

    placement: str
    """namespace/name."""
    wanted: int | None
    """numberOfClusters."""
    eligible: tuple[str, ...] | None
    """Clusters that pass its filters; None where that is not known."""
    decided: tuple[str, ...] | None
    """Clusters of its PlacementDecisions; None where they could not be read."""
    next: tuple[str, ...] | None
    """What OCM would decide if it looked now; None where that is not known."""
    note: str
    """Why nothing is selected, or why it is not known what would be."""
    counted_as_zero: tuple[str, ...]
    """Eligible clusters of which a score is missing or expired, so that it counts as 0."""
    turns: tuple[Turn, ...]
    """Who would leave first, and who would come in first."""

    @property
    def settled(self) -> bool:
        """Whether OCM would leave its decision as it is."""
        return self.decided is None or self.next is None or self.decided == self.next


class Standing(StrEnum):
    """Where one copy of an application is on its way."""

    RUNNING = "running"
    """Decided, there and Healthy."""
    STARTING = "starting"
    """Decided and there, not Healthy yet."""
    PENDING = "pending"
    """Decided, and Argo CD has not made it yet."""
    WAITING = "waiting"
    """No longer decided; it stays until the new copies are Healthy, or for ever, as the strategy says."""
    LEAVING = "leaving"
    """Being deleted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Copy:
    """An application on one cluster."""

    cluster: str
    standing: Standing
    application: str
    """Name of the Application; empty where there is none yet."""
    health: str
    sync: str


@dataclass(frozen=True, kw_only=True)
class ApplicationView:
    """An ApplicationSet of ours: where its decision wants it, and where it is."""

    name: str
    strategy: str
    placements: tuple[str, ...]
    known: bool
    """Whether decision and Applications could both be read."""
    copies: tuple[Copy, ...]
    message: str
    """The ApplicationSet's error, if it has one."""

    @property
    def settled(self) -> bool:
        """Whether it is exactly where it should be."""
        return all(copy.standing is Standing.RUNNING for copy in self.copies) and not self.message


@dataclass(frozen=True, kw_only=True)
class Overview:
    """A hub at one moment."""

    origin: str
    now: datetime
    """The hub's clock."""
    clusters: tuple[str, ...]
    score_count: int
    """AddOnPlacementScores of the hub, whoever wrote them."""
    scorers: tuple[ScorerView, ...]
    placements: tuple[PlacementView, ...]
    applications: tuple[ApplicationView, ...]
    unread: tuple[Unread, ...]
