"""Which decisions differ from the last record of their Placement. Pure."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from msgspec import Struct

from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.journal.record import Kind, Record
from gitops_dsf.reconciler.hub.decisions import DecisionSets

SETTLE_SECONDS: Final = 1.0
"""A decision is recorded when it has not changed for this long: OCM writes its pages one after another."""
MOST_KEPT: Final = 5
"""Clusters of a decision that a head names. Of larger ones it has the digest."""


class Head(Struct, frozen=True, omit_defaults=True):
    """The last record of a Placement."""

    number: int
    digest: str
    """Of the clusters of the decision."""
    uid: str = ""
    to: tuple[str, ...] | None = None
    """The clusters; None if there are too many."""


def head_of(record: Record, clusters: Collection[str]) -> Head:
    """The head after a record whose decision is `clusters`."""
    return Head(
        number=record.number,
        digest=digest(frozenset(clusters)),
        uid=record.uid,
        to=tuple(sorted(clusters)) if len(clusters) <= MOST_KEPT else None,
    )


def heads_of(records: Iterable[Record]) -> dict[str, Head]:
    """The heads that records tell, by namespace/name. A decision that is too large for a record has an empty
    digest: it counts as changed.
    """
    found: dict[str, Head] = {}
    for record in records:
        known = found.get(record.placement)
        if known is None or known.number <= record.number:
            found[record.placement] = (
                Head(number=record.number, digest="", uid=record.uid)
                if record.to is None
                else head_of(record, record.to)
            )
    return found


@lru_cache(maxsize=4096)
def digest(clusters: frozenset[str]) -> str:
    """A short name of a decision. It is asked for every Placement whenever a decision changes."""
    return hashlib.sha256("\n".join(sorted(clusters)).encode()).hexdigest()[:12]


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """A decision that needs a record."""

    name: str
    """Of the Placement."""
    uid: str
    """Of the Placement."""
    kind: Kind
    clusters: frozenset[str]
    before: frozenset[str] | None
    """None if it is not known."""
    number: int
    age: float
    """Seconds since it changed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """What needs a record now, and when to look again."""

    due: tuple[Due, ...]
    wait: float | None
    """Seconds until a decision that has changed is settled; None if there is none."""


def observe(
    names: Iterable[str],
    *,
    namespace: str,
    decisions: DecisionSets,
    placements: Mapping[str, PlacementSummary],
    heads: Mapping[str, Head],
    recent: Mapping[str, frozenset[str]],
    started: float,
    now: float,
) -> Observed:
    """Compares decisions with the last records. `recent` are the clusters of decisions that are known though
    the head does not name them. Decisions that have not changed since `started` were made before this replica
    looked.
    """
    due: list[Due] = []
    wait: float | None = None
    for name in names:
        decision, placement = decisions.get(name), placements.get(name)
        if decision is None or placement is None:
            continue
        key = f"{namespace}/{name}"
        head = heads.get(key)
        if head is not None and head.uid != placement.uid:
            head = None  # of a Placement of this name that was deleted
        if head is not None and head.digest == digest(decision.clusters):
            continue
        age = now - decision.since
        if age < SETTLE_SECONDS:
            wait = min(wait or SETTLE_SECONDS, SETTLE_SECONDS - age)
            continue
        before = None
        if head is not None:
            before = frozenset(head.to) if head.to is not None else recent.get(key)
        kind: Kind = "Start" if before is None else "Later" if decision.since <= started else "Change"
        due.append(
            Due(
                name=name,
                uid=placement.uid,
                kind=kind,
                clusters=decision.clusters,
                before=before,
                number=1 if head is None else head.number + 1,
                age=age,
            )
        )
    return Observed(due=tuple(due), wait=wait)
