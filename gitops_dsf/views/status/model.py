"""The view itself: frozen values without behaviour, besides counting themselves."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from gitops_dsf.hub.freshness import State
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.unread import Unread
from gitops_dsf.simulator import Flip


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One scorer on one cluster."""

    cluster: str
    state: State
    values: Mapping[str, int]
    """Published score by dimension; also of an expired one."""
    valid_until: datetime | None
    age: float | None
    """Seconds since it was published, reckoned from validUntil and the TTL; None where nothing is published
    or it has no end.
    """
    expected: bool
    """Whether the scorer should run there at all: its selector and the masks say so, and it is not suspended.
    """


@dataclass(frozen=True, kw_only=True)
class ScorerView:
    """One scorer on all clusters: sums at once, single scores when they are asked for."""

    scorer: DynamicScorer
    suspended: str
    """Who suspended it: `git` (spec.suspend), `reconciler`, or nobody."""
    known: bool
    """Whether its scores could be read."""
    counts: Counter[State]
    """Clusters by state; clusters that its selector leaves out have none unless something is published there.
    """
    expected: frozenset[str]
    """Clusters where the scorer should run and publish."""
    unusual: Mapping[State, tuple[str, ...]]
    """Clusters by state, sorted, without those that are fresh, expiring or masked."""
    unexpected: tuple[str, ...]
    """Clusters with a score that should not be there, sorted; OCM counts it all the same."""
    published: Collection[str]
    """Clusters with a score, whatever its state."""
    histogram: Counter[int]
    """How often OCM counts each value now."""
    oldest: float | None
    """Age of the oldest score that is published, in seconds."""
    each: Callable[[], Iterable[Cell]] = field(repr=False, compare=False)
    """Every cell, by cluster name, made anew: a fleet has hundreds of thousands."""
    only: str | None = None
    """The one cluster that is shown."""

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """By cluster name."""
        return tuple(self.each())

    @property
    def shown(self) -> int:
        """How many cells there are."""
        return self.counts.total()

    @property
    def values(self) -> tuple[int | None, int | None, int | None]:
        """The lowest value that OCM counts now, the lower median, so that it is one of them, and the highest;
        None without any.
        """
        ordered = sorted(self.histogram)
        if not ordered:
            return None, None, None
        middle, seen = (self.histogram.total() - 1) // 2, 0
        for value in ordered:
            seen += self.histogram[value]
            if seen > middle:
                return ordered[0], value, ordered[-1]
        return ordered[0], ordered[-1], ordered[-1]


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
    each_turn: Callable[[], Iterable[Turn]] = field(default=tuple, repr=False, compare=False)
    """Finds who would leave first, and who would come in first: the dearest question about a Placement."""

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """Who would leave first, and who would come in first."""
        return tuple(self.each_turn())

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
