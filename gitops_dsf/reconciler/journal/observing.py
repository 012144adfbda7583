"""Which decisions differ from the last record of their Placement. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.journal.record import Kind, Record, digest
from gitops_dsf.reconciler.hub.decisions import DecisionSets

SETTLE_SECONDS: Final = 1.0
"""A decision is recorded when it has not changed for this long: OCM writes its pages one after another."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """The last record of a Placement."""

    number: int
    uid: str
    digest: str
    """Of the clusters of the decision."""
    clusters: frozenset[str] | None
    """None if they are not known: a record does not name too many."""

    def precedes(self, record: Record) -> bool:
        """Whether a record continues this one."""
        if record.uid != self.uid:
            return record.kind == "Start"
        return record.number == self.number + 1 and (
            record.from_ is None or digest(frozenset(record.from_)) == self.digest
        )


def head_of(record: Record, clusters: Collection[str] | None = None) -> Head:
    """The head after a record. `clusters` are those of its decision, which it may not name."""
    known = record.to if clusters is None else clusters
    found = None if known is None else frozenset(known)
    return Head(
        number=record.number,
        uid=record.uid,
        digest=record.digest if found is None else digest(found),
        clusters=found,
    )


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
    started: float,
    now: float,
) -> Observed:
    """Compares decisions with the last records. Decisions that have not changed since `started` were made
    before this replica looked.
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
        before = None if head is None else head.clusters
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
