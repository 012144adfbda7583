"""Which decisions differ from the last record of their Placement. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.journal.record import Kind, Record, digest, new_record
from gitops_dsf.reconciler.hub.decisions import DecisionSets

SETTLE_SECONDS: Final = 1.0
"""A decision is recorded when it has not changed for this long: OCM writes its pages one after another."""


class Move(NamedTuple):
    """A decision that needs a record."""

    record: Record
    """Without explanations and scores."""
    before: frozenset[str] | None
    """None if it is not known."""
    after: frozenset[str]


def continues(record: Record, last: Record) -> bool:
    """Whether a record continues the last one of its Placement."""
    if record.uid != last.uid:
        return record.kind == "Start"
    return record.number == last.number + 1 and (
        record.from_ is None or digest(frozenset(record.from_)) == digest_of(last)
    )


def digest_of(record: Record) -> str:
    """Of the clusters of the new decision, whether the record names them or not."""
    return record.digest if record.to is None else digest(frozenset(record.to))


def observe(
    placements: Mapping[str, PlacementSummary],
    *,
    namespace: str,
    decisions: DecisionSets,
    last: Mapping[str, Record],
    unnamed: Mapping[str, frozenset[str]],
    started: float,
    now: float,
    hub_time: float,
) -> tuple[list[Move], float | None]:
    """Compares decisions with the last records. Returns those that need a record, and the seconds until
    another one is settled.

    `last` are the last records by namespace/name, and `unnamed` decisions by the id of a record that does not
    name them. Decisions that have not changed since `started` were made before this replica looked.
    """
    moves: list[Move] = []
    wait: float | None = None
    for name, placement in placements.items():
        decision, key = decisions.get(name), f"{namespace}/{name}"
        if decision is None:
            continue
        known = last.get(key)
        if known is not None and known.uid != placement.uid:
            known = None  # of a Placement of this name that was deleted
        if known is not None and digest_of(known) == digest(decision.clusters):
            continue
        age = now - decision.since
        if age < SETTLE_SECONDS:
            wait = min(wait or SETTLE_SECONDS, SETTLE_SECONDS - age)
            continue
        before = None
        if known is not None:
            before = unnamed.get(known.id) if known.to is None else frozenset(known.to)
        kind: Kind = "Start" if before is None else "Later" if decision.since <= started else "Change"
        record = new_record(
            placement=key,
            number=1 if known is None else known.number + 1,
            time=datetime.fromtimestamp(hub_time - (0.0 if kind == "Later" else age), tz=UTC),
            kind=kind,
            before=before,
            after=decision.clusters,
            uid=placement.uid,
        )
        moves.append(Move(record, before, decision.clusters))
    return moves, wait
