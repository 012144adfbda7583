"""AddOnPlacementScores and their states.

A fleet has hundreds of thousands, so equal parts are shared. OCM counts a score until just after
validUntil, and forever without one (pkg/placement/plugins/addon).
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, TypeVar

from msgspec import Meta, Struct

from dsf_wire.constants import AGENT_MANAGER, RUNS_ON_HUB, RUNS_ON_LABEL
from dsf_wire.ownership import STATUS, FieldsOwner
from gitops_dsf.hub.metadata import Int32, Timestamp


class ScoreItem(Struct, frozen=True, gc=False):
    name: str
    value: Int32


class ScoreStatus(Struct, frozen=True, rename="camel", gc=False):
    scores: tuple[ScoreItem, ...] | None = None
    valid_until: Timestamp | None = None


class ScoreLabels(
    Struct,
    frozen=True,
    gc=False,
    rename={"managed_by": "app.kubernetes.io/managed-by", "runs_on": RUNS_ON_LABEL},
):
    managed_by: str = ""
    runs_on: str = ""


class ScoreMetadata(Struct, frozen=True, gc=False):
    name: Annotated[str, Meta(min_length=1)]
    namespace: str | None = None
    labels: ScoreLabels | None = None

    @property
    def ours(self) -> bool:
        """Whether an agent of gitops-dsf or the hub scorer wrote the object."""
        return self.labels is not None and self.labels.managed_by == AGENT_MANAGER

    @property
    def on_hub(self) -> bool:
        return self.labels is not None and self.labels.runs_on == RUNS_ON_HUB


class AddOnPlacementScore(Struct, frozen=True, gc=False):
    """The object as the API server returns it. Its namespace is the cluster."""

    metadata: ScoreMetadata
    status: ScoreStatus | None = None


class BareScore(Struct, frozen=True, gc=False):
    """What is read of a score with a validUntil that is no time, which API servers accept.

    It counts as 0.
    """

    metadata: ScoreMetadata


class OwnedScoreMetadata(
    ScoreMetadata, frozen=True, gc=False, rename={"managed_fields": "managedFields"}
):
    managed_fields: tuple[FieldsOwner, ...] | None = None


class OwnedScore(Struct, frozen=True, gc=False):
    """An AddOnPlacementScore with its managedFields, which cost as much to decode as all the rest."""

    metadata: OwnedScoreMetadata
    status: ScoreStatus | None = None


def other_managers(entries: tuple[FieldsOwner, ...]) -> tuple[str, ...]:
    """Field managers other than our agent that write the status of a score that our agent created."""
    return tuple([each.manager for each in entries if each.subresource == STATUS and not each.ours])


class Score(Struct, frozen=True, gc=False):
    """The content of an AddOnPlacementScore."""

    valid_until: datetime | None = None
    """OCM counts the values as 0 after this time; None means they count forever."""
    names: tuple[str, ...] = ()
    """Names in `status.scores[]`, in order. If a name appears twice, the last value counts."""
    values: tuple[int, ...] = ()
    """Aligned with `names`."""
    on_hub: bool = False
    """Whether the hub scorer wrote it, as far as that is known."""

    def get(self, dimension: str) -> int | None:
        """The value of an item; None if there is no such item."""
        if len(self.names) == 1:
            return self.values[0] if self.names[0] == dimension else None
        return next(
            (value for name, value in reversed(list(self.items())) if name == dimension), None
        )

    def items(self) -> Iterator[tuple[str, int]]:
        return zip(self.names, self.values, strict=True)


Scores = Mapping[str, Mapping[str, Score]]
"""By name of the AddOnPlacementScore, then by cluster."""

MAX_KEPT: Final = 100_000
"""Contents that are remembered. A scorer with one item has 200 values, one with one per node many
more.
"""


class Interner:
    """Shares equal parts of scores: times, names and values.

    In a fleet, nearly all parts are equal.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}

    def score(
        self,
        valid_until: datetime | None,
        names: tuple[str, ...],
        values: tuple[int, ...],
        *,
        on_hub: bool = False,
    ) -> Score:
        kept = self._kept
        if len(kept) >= MAX_KEPT:
            kept.clear()  # a program that runs for months sees many that are long gone
        shared = kept.setdefault
        return Score(
            shared(valid_until, valid_until), shared(names, names), shared(values, values), on_hub
        )

    def of(self, status: ScoreStatus | None, *, on_hub: bool = False) -> Score:
        items = (status.scores if status else None) or ()
        return self.score(
            status.valid_until if status else None,
            tuple([item.name for item in items]),
            tuple([item.value for item in items]),
            on_hub=on_hub,
        )


def score_of(
    values: Mapping[str, int] | Iterable[tuple[str, int]] = (),
    *,
    valid_until: datetime | None = None,
) -> Score:
    """Makes a score from values by dimension."""
    pairs = tuple(values.items() if isinstance(values, Mapping) else values)
    return Score(valid_until, tuple(name for name, _ in pairs), tuple(value for _, value in pairs))


Moment = TypeVar("Moment", float, datetime)

GRACE_SECONDS: Final = 120.0
"""How long something new may take to publish. The kubelet alone takes 60 to 90 s to show an entry.
"""
GRACE_INTERVALS: Final = 2
EXPIRING_SHARE: Final = 0.25
"""A score is expiring when less than this share of its TTL is left. Agents renew at half."""


class ScoreState(StrEnum):
    """The state of a scorer's score on one cluster."""

    FRESH = "fresh"
    EXPIRING = "expiring"
    """Less than a quarter of the TTL is left. Agents renew at half."""
    EXPIRED = "expired"
    """OCM counts it as 0."""
    ENDLESS = "endless"
    """Published without validUntil: OCM counts it forever, even if the agent is gone."""
    EMPTY = "empty"
    """The AddOnPlacementScore has no items: OCM counts it as 0."""
    MISSING = "missing"
    """The scorer should run there, but nothing is published: OCM counts it as 0."""
    WAITING = "waiting"
    """Nothing is published yet, but the scorer, the cluster or the add-on is new, so this is not a
    fault.
    """
    MASKED = "masked"
    """A mask excludes the cluster."""


LIVE: Final = frozenset({ScoreState.FRESH, ScoreState.EXPIRING, ScoreState.ENDLESS})
"""States in which OCM counts the value."""
DEAD: Final = frozenset({ScoreState.EXPIRED, ScoreState.EMPTY})
"""States in which a score is published but OCM counts it as 0."""


def expired(valid_until: Moment | None, now: Moment) -> bool:
    """Whether OCM no longer counts a score.

    At validUntil itself it still does (now.After in Go).
    """
    return valid_until is not None and now > valid_until


def state_of(valid_until: float | None, *, filled: bool, ttl: float, now: float) -> ScoreState:
    """The state of a published score. Times are seconds since 1970; `filled`: it has an item."""
    if not filled:
        return ScoreState.EMPTY
    if valid_until is None:
        return ScoreState.ENDLESS
    if expired(valid_until, now):
        return ScoreState.EXPIRED
    return ScoreState.EXPIRING if valid_until - now < ttl * EXPIRING_SHARE else ScoreState.FRESH


def grace(interval: float) -> float:
    """How many seconds an expected score may be missing, given the interval of its scorer."""
    return max(GRACE_SECONDS, GRACE_INTERVALS * interval)


def state_of_absent(*, since: float, interval: float, now: float) -> ScoreState:
    """The state when nothing is published.

    `since`: when the last of scorer, cluster and add-on was made.
    """
    return ScoreState.WAITING if now < since + grace(interval) else ScoreState.MISSING
