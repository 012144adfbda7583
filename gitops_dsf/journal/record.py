"""A record of the journal: one change of a decision, and why OCM decided so.

A record of the kind Verified changes no decision: it has the values that were measured where a move
led. Nor does one of the kind Ordered, which has the new order of clusters for Kueue.

Guaranteed: a written record never changes, and unknown keys of later versions are ignored. Not
guaranteed: that explanations are OCM's reasons; `doubt` says where they may not be.
"""

import hashlib
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.hub.times import Timestamp
from gitops_dsf.simulator.explain import Explanation

RecordKind = Literal["Change", "Later", "Start", "Verified", "Ordered"]
"""What a record is about.

Change: seen when it happened. Later: it happened while no reconciler looked, so the time is when it
was found. Start: the first record of a Placement; the decision before it is not known. Verified:
the checks of a move decided; the decision is that of the record before. Ordered: the list of a
MultiKueueConfig was written.
"""
MAX_NAMED: Final = 100
"""Clusters that a record names in each list.

A larger decision is recorded by what left and joined.
"""
MAX_EXPLAINED: Final = 20
"""Clusters that a record explains."""
MAX_SCORES: Final = 200
"""Scores that a record holds."""


class RecordedTerm(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """The points that one prioritizer adds to the sum of a cluster."""

    name: str
    weight: int
    score: int | None = None
    note: str = ""

    @property
    def points(self) -> int:
        """The points that it adds. A score that is absent counts as 0, as OCM counts it."""
        return self.weight * (self.score or 0)


class ClusterReason(
    Struct,
    frozen=True,
    gc=False,
    rename={"contributions": "terms", "rival_points": "rivalPoints"},
    omit_defaults=True,
):
    """The reason why a cluster is in the new decision or not, as the simulator explains it."""

    cluster: str
    selected: bool
    reason: str
    filter: str | None = None
    rank: int | None = None
    total: int | None = None
    points: int | None = None
    contributions: tuple[RecordedTerm, ...] = ()
    rival: str | None = None
    rival_points: int | None = None
    margin: int | None = None


class ScoreChange(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A score that is another one than at the record before."""

    name: str
    """The name that a prioritizer has: `AddOn/resource/item`."""
    cluster: str
    before: int | None = None
    """None: there was none that counted, or it is not known."""
    after: int | None = None
    """None: there is none that counts."""


class RecordedCheck(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """The value that a check of a move measured, when it was decided."""

    score: str
    """Resource and dimension, as `shop-slo/shop`."""
    value: int | None = None
    """The value where the move led; None if no score counted."""
    at_least: int | None = None
    """The score that counts as good; None if it is not known."""
    before: int | None = None
    """The score of the old copy before the move, where the bound follows from it."""


class RecordedVerification(
    Struct,
    frozen=True,
    gc=False,
    rename={"source": "from", "target": "to"},
    omit_defaults=True,
):
    """The result of the verification of a move."""

    source: str
    """Empty for an application that was placed for the first time."""
    target: str
    outcome: str
    """Passed, or why the move ended otherwise: an `Outcome` of the ledger, as text."""
    since: Timestamp
    """The time when the move was admitted, or seen.

    It distinguishes moves between the same clusters.
    """
    checks: tuple[RecordedCheck, ...] = ()
    detail: str = ""
    """The reason for the result if the checks did not decide, as `us-1 has no healthy copy after
    1800 s`.
    """


class RecordedOrder(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A list of clusters that was written for Kueue."""

    config: str
    """The MultiKueueConfig."""
    before: tuple[str, ...] = ()
    """The list before, in its order; empty if there was none."""
    after: tuple[str, ...] = ()
    points: dict[str, float] = {}
    """The points of the listed clusters at that time, as far as they had some."""
    left_out: tuple[str, ...] = ()
    """Eligible clusters that had no place in the list, best first."""
    reason: str = ""


class Record(
    Struct,
    frozen=True,
    gc=False,
    kw_only=True,
    rename={"from_": "from", "more_scores": "moreScores"},
    omit_defaults=True,
):
    """One change of the decision of one Placement. Clusters are in order of name.

    A written record is never changed: its id stays, so it can be recognised wherever it is.
    """

    id: str
    number: int
    """Counts the records of a Placement from 1. It orders them when clocks do not."""
    time: Timestamp
    kind: RecordKind = "Change"
    placement: str
    """namespace/name."""
    uid: str = ""
    applications: tuple[str, ...] = ()
    """The ApplicationSets that follow the Placement."""
    from_: tuple[str, ...] | None = None
    """The decision before; None if it is not known, or has more clusters than a record names."""
    left: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    to: tuple[str, ...] | None = None
    """The new decision; None if it has more clusters than a record names."""
    count: int = 0
    """Clusters of the new decision."""
    before: int = 0
    """Clusters of the decision before."""
    more: int = 0
    """Clusters that left or joined and are not named, because there are too many."""
    clusters: tuple[ClusterReason, ...] = ()
    """Clusters that left or joined."""
    doubt: str = ""
    """The reason why the explanations may not be OCM's reasons; empty if the simulator came to the
    same decision.
    """
    scores: tuple[ScoreChange, ...] = ()
    more_scores: int = 0
    """Changed scores that are left out, because there are too many."""
    commit: str = ""
    """The commit of the fleet repository that Argo CD had applied; empty if that is not known."""
    digest: str = ""
    """Tells the new decision from others when `to` does not name it."""
    admitted: Timestamp | None = None
    """The time when the reconciler admitted the move, where moves are paced; None if OCM moved it
    itself.
    """
    gain: float | None = None
    """Points of the weighted mean of the scores that an admitted move was to gain."""
    cause: MoveCause | None = None
    """The cause of the move; None in the first record of a Placement, and in records of versions
    without it.
    """
    verification: RecordedVerification | None = None
    """The verification of a move; only in records of the kind Verified."""
    order: RecordedOrder | None = None
    """The order of clusters for Kueue; only in records of the kind Ordered."""

    @property
    def changes_decision(self) -> bool:
        """Whether it is about a decision, and not about what followed from it."""
        return self.kind not in {"Verified", "Ordered"}

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name of the Placement."""
        namespace, _, name = self.placement.partition("/")
        return namespace, name

    def is_about(self, name: str) -> bool:
        """Whether that is an ApplicationSet, or the Placement with or without its namespace."""
        return name in {self.placement, self.key[1], *self.applications}


def new_record(
    *,
    placement: str,
    number: int,
    time: datetime,
    kind: RecordKind,
    before: Collection[str] | None,
    after: Collection[str],
    uid: str = "",
    applications: Sequence[str] = (),
) -> Record:
    """A record without explanations and scores. `before` is None if that decision is not known."""
    old = frozenset(before or ())
    to = tuple(sorted(after))
    departed: list[str] = []
    joined: list[str] = []
    # Without a decision before, every cluster would look as if it had just joined.
    if before is not None:
        departed = sorted(old.difference(to))
        joined = sorted(set(to) - old)
    # It names a decision that is small enough, else what changed of it.
    names_old = before is not None and len(old) <= MAX_NAMED
    names_new = len(to) <= MAX_NAMED
    named_departed = departed[:MAX_NAMED]
    named_joined = joined[:MAX_NAMED]
    time = _in_milliseconds(time)
    return Record(
        id=_id_of(placement, uid, number, time, kind, departed, joined, to),
        number=number,
        time=time,
        kind=kind,
        placement=placement,
        uid=uid,
        applications=tuple(applications),
        from_=tuple(sorted(old)) if names_old else None,
        left=tuple(named_departed),
        joined=tuple(named_joined),
        to=to if names_new else None,
        count=len(to),
        before=len(old),
        more=len(departed) + len(joined) - len(named_departed) - len(named_joined),
        digest="" if names_new else digest(frozenset(to)),
    )


def verification_record(
    last: Record,
    verification: RecordedVerification,
    *,
    at: datetime,
    applications: Sequence[str] = (),
) -> Record:
    """A record of how a move was verified, after the last one of its Placement."""
    record = _without_change(
        last, "Verified", verification, placement=last.placement, uid=last.uid, at=at
    )
    return replace(record, applications=tuple(applications), verification=verification)


def order_record(
    last: Record | None, order: RecordedOrder, *, placement: str, uid: str, at: datetime
) -> Record:
    """A record of a list for Kueue, after the last record of its Placement, if there is one."""
    if last is not None and last.uid != uid:
        last = None  # of a Placement of this name that was deleted
    record = _without_change(last, "Ordered", order, placement=placement, uid=uid, at=at)
    return replace(record, order=order)


@lru_cache(maxsize=4096)
def digest(clusters: frozenset[str]) -> str:
    """A short name of a decision. It is asked for every Placement whenever a decision changes."""
    return hashlib.sha256("\n".join(sorted(clusters)).encode()).hexdigest()[:12]


def reason_of(explanation: Explanation) -> ClusterReason:
    """The kept part of an explanation."""
    return msgspec.convert(explanation, ClusterReason, from_attributes=True)


def _without_change(
    last: Record | None,
    kind: RecordKind,
    about: RecordedVerification | RecordedOrder,
    *,
    placement: str,
    uid: str,
    at: datetime,
) -> Record:
    """A record that changes no decision, after the last record of its Placement, if there is one.

    It is without what it is about, from which only its id follows here.
    """
    time = _in_milliseconds(at)
    number = 1 if last is None else last.number + 1
    record = Record(
        id=_id_of(placement, uid, number, time, kind, about),
        number=number,
        time=time,
        kind=kind,
        placement=placement,
        uid=uid,
    )
    if last is None:
        return record
    # The decision is as it was, as far as the journal knows it, so that the next change is compared
    # with it.
    return replace(
        record,
        from_=last.to,
        to=last.to,
        count=last.count,
        before=last.count,
        digest=last.digest,
    )


def _in_milliseconds(time: datetime) -> datetime:
    """The time in whole milliseconds: they distinguish quick changes, and people can read them."""
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def _id_of(*content: object) -> str:
    """The id of a record with this content.

    It follows from what happened, so that a record that is pushed again keeps it.
    """
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]
