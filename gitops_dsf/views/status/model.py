"""The view: frozen values without behaviour, except for counting."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from gitops_dsf.hub.metadata import timestamp
from gitops_dsf.hub.resources import Unread
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import State
from gitops_dsf.views.status.queue import FailoverView, QueueView


class Cell(Struct, frozen=True, kw_only=True, rename="camel"):
    """One scorer on one cluster."""

    cluster: str
    state: State
    expected: bool
    """Whether the scorer should run there: selected, not masked and not suspended."""
    values: Mapping[str, int]
    """Published scores by dimension, also of an expired one."""
    valid_until: str | None
    age_seconds: int | None
    """Since it was published, by validUntil and the TTL; None if nothing is published, or without an end."""


@dataclass(frozen=True, kw_only=True)
class ScorerView:
    """One scorer on all clusters: sums, and single scores on request."""

    scorer: DynamicScorer
    suspended: str
    """Who suspended it: `git` (spec.suspend), `reconciler`, or empty."""
    known: bool
    counts: Counter[State]
    """Clusters by state. Those that the selector does not match count only if they have a score."""
    expected: frozenset[str]
    """Clusters where the scorer should run and publish."""
    unusual: Mapping[State, tuple[str, ...]]
    """Clusters by state, sorted, without those that are fresh, expiring or masked."""
    unexpected: tuple[str, ...]
    """Clusters with a score that should not exist, sorted. OCM counts it anyway."""
    published: Collection[str]
    """Clusters with a score in any state."""
    histogram: Counter[int]
    """How often OCM counts each value now."""
    oldest: float | None
    """Age of the oldest published score, in seconds."""
    cells: Callable[[], Iterable[Cell]] = field(repr=False, compare=False)
    """Yields every cell in order of cluster, made anew, because a fleet has hundreds of thousands."""

    @property
    def at_default(self) -> int | None:
        """How many scores that count are spec.defaultScore: without series, or equal. None if not known."""
        value = self.scorer.spec.default_score
        return self.histogram[value] if value is not None and self.known else None

    @property
    def shown(self) -> int:
        return self.counts.total()

    @property
    def values(self) -> tuple[int | None, int | None, int | None]:
        """The lowest value that counts now, the lower median (one of the values) and the highest, or None."""
        ordered = sorted(self.histogram)
        if not ordered:
            return None, None, None
        middle, seen = (self.histogram.total() - 1) // 2, 0
        for value in ordered:
            seen += self.histogram[value]
            if seen > middle:
                return ordered[0], value, ordered[-1]
        return ordered[0], ordered[-1], ordered[-1]


class NeededScore(Struct, frozen=True):
    """A score that would flip a decision."""

    name: str
    value: int
    needed: int


class DecisionFlip(Struct, frozen=True):
    """The nearest change of one score that would flip a decision."""

    cluster: str
    change: Literal["in", "out"]
    rival: str
    """The cluster that it would change places with."""
    margin: int
    """Weighted points."""
    score: NeededScore | None
    """None if no score that can be published does it."""


class PlacementView(Struct, frozen=True, kw_only=True, rename="camel"):
    """One Placement."""

    placement: str
    """namespace/name."""
    number_of_clusters: int | None
    eligible: int | None
    """How many clusters pass its filters; None if they are not known."""
    decided: tuple[str, ...] | None
    """Clusters of its PlacementDecisions; None if they could not be read."""
    next: tuple[str, ...] | None
    """What OCM would decide now; None if it is not known."""
    settled: bool
    """Whether OCM would not change its decision."""
    note: str | None
    """Why nothing is selected, or why the next decision is not known."""
    counted_as_zero: tuple[str, ...]
    """Eligible clusters with a score that is missing or expired, so that it counts as 0."""
    flips: tuple[DecisionFlip, ...]
    """Which cluster would leave first, and which would come in first."""


class Standing(StrEnum):
    """The state of one copy of an application."""

    RUNNING = "running"
    """Decided, existing and Healthy."""
    STARTING = "starting"
    """Decided and existing, but not Healthy yet."""
    PENDING = "pending"
    """Decided, but Argo CD has not created the Application yet."""
    WAITING = "waiting"
    """No longer decided. It stays until the new copies are Healthy, or forever, depending on the strategy."""
    LEAVING = "leaving"


class Copy(Struct, frozen=True):
    """An application on one cluster."""

    cluster: str
    standing: Standing
    application: str | None
    """Name of the Application; None if there is none yet."""
    health: str | None
    sync: str | None


class ApplicationView(Struct, frozen=True, kw_only=True):
    """One of our ApplicationSets: the clusters of its decision, and the clusters of its Applications."""

    name: str
    strategy: str
    placements: tuple[str, ...]
    settled: bool | None
    """Whether its Applications are exactly on the decided clusters; None if that is not known."""
    message: str | None
    copies: tuple[Copy, ...]


@dataclass(frozen=True, kw_only=True)
class Overview:
    """A hub at one moment."""

    origin: str
    now: datetime
    """The time of the hub's clock."""
    clusters: tuple[str, ...]
    score_count: int
    """The number of AddOnPlacementScores on the hub, from any writer."""
    scorers: tuple[ScorerView, ...]
    placements: tuple[PlacementView, ...]
    eligible: Mapping[str, tuple[str, ...]]
    """The clusters that pass the filters of each of these Placements, if they are known."""
    applications: tuple[ApplicationView, ...]
    unread: tuple[Unread, ...]
    queue: QueueView | None = None
    refuges: tuple[FailoverView, ...] = ()


class UnreadPart(Struct):
    what: str
    why: str
    message: str


class StatusHub(Struct):
    origin: str
    now: str
    clusters: int
    scores: int
    unread: tuple[UnreadPart, ...]


class Condition(Struct):
    type: str
    status: str
    reason: str
    message: str


class ScorerSummary(Struct, rename="camel"):
    clusters: dict[str, int]
    min: int | None
    median: int | None
    max: int | None
    at_default: int | None
    oldest_seconds: int | None


class ScorerStatus(Struct, rename="camel"):
    name: str
    score_name: str
    resource: str
    health: str | None
    conditions: tuple[Condition, ...]
    suspended_by: str | None
    interval_seconds: int
    ttl_seconds: int
    summary: ScorerSummary | None
    scores: tuple[Cell, ...]


class StatusOutput(Struct):
    """The output of `status`."""

    hub: StatusHub
    scorers: tuple[ScorerStatus, ...]
    placements: tuple[PlacementView, ...]
    applications: tuple[ApplicationView, ...]
    queue: QueueView | UnsetType = UNSET
    refuges: tuple[FailoverView, ...] | UnsetType = UNSET


def document(view: Overview) -> StatusOutput:
    unread = tuple(UnreadPart(item.what, str(item.why), str(item)) for item in view.unread)
    return StatusOutput(
        hub=StatusHub(view.origin, timestamp(view.now), len(view.clusters), view.score_count, unread),
        scorers=tuple(map(_scorer, view.scorers)),
        placements=view.placements,
        applications=view.applications,
        queue=view.queue or UNSET,
        refuges=view.refuges or UNSET,
    )


def _scorer(view: ScorerView) -> Any:  # noqa: ANN401 - a ScorerStatus that is JSON already
    """A scorer can have thousands of scores, so it is encoded at once."""
    scorer, summary = view.scorer, None
    if view.known:
        counts = {str(state): view.counts[state] for state in State} | {"unexpected": len(view.unexpected)}
        oldest = None if view.oldest is None else round(view.oldest)
        summary = ScorerSummary(counts, *view.values, view.at_default, oldest)
    status = ScorerStatus(
        name=scorer.name,
        score_name=scorer.score_name,
        resource=scorer.resource,
        health=scorer.health or None,
        conditions=tuple(Condition(it.type, it.status, it.reason, it.message) for it in scorer.conditions),
        suspended_by=view.suspended or None,
        interval_seconds=scorer.interval,
        ttl_seconds=scorer.ttl,
        summary=summary,
        scores=tuple(view.cells()),
    )
    return msgspec.Raw(msgspec.json.encode(status))
