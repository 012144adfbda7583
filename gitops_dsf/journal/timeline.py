"""The records of each Placement, in order, whatever the clocks said."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec

from gitops_dsf.hub.moves.flapping import DecisionChange
from gitops_dsf.journal.record import Record, ScoreChange

Values = Mapping[tuple[str, str], int]
"""Scores that count, by name of the prioritizer and cluster. One that is not in it counts as 0."""


def by_placement(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The records of each name of a Placement, of one life (UID) after the other, each in order of
    number.
    """
    found: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        found.setdefault(record.placement, {}).setdefault(record.uid, []).append(record)
    return {
        placement: [
            record
            for life in lives.values()
            for record in sorted(life, key=lambda item: item.number)
        ]
        for placement, lives in found.items()
    }


def in_order(records: Iterable[Record]) -> list[Record]:
    """All records by time, and those of one Placement in their order."""
    placed = [
        (at, record)
        for each in by_placement(records).values()
        for at, record in zip(times(each), each, strict=True)
    ]
    return [record for _, record in sorted(placed, key=lambda item: item[0])]


def times(records: Sequence[Record]) -> list[float]:
    """Unix seconds of the records of one Placement. A clock that went back makes two changes
    simultaneous.
    """
    found: list[float] = []
    for record in records:
        at = record.time.timestamp()
        found.append(max(at, found[-1]) if found else at)
    return found


def changes(records: Sequence[Record]) -> tuple[DecisionChange, ...]:
    """The changes of the decision of one Placement, without its first record."""
    return tuple(
        DecisionChange(at=at, left=record.left, joined=record.joined)
        for at, record in zip(times(records), records, strict=True)
        if record.left or record.joined
    )


def values_at(
    records: Iterable[Record], *, start: Values = MappingProxyType({})
) -> Iterator[Values]:
    """The scores that are told after each record of one Placement. `start` are those known
    before.
    """
    known = dict(start)
    for record in records:
        for score in record.scores:
            if score.after is None:
                known.pop((score.name, score.cluster), None)
            else:
                known[score.name, score.cluster] = score.after
        yield dict(known)


def recent(records: Sequence[Record], *, since: float, most: int) -> list[Record]:
    """The newest records of one Placement: at most so many, and none before `since` but the last
    one. The first of them holds all scores that the records up to it tell, so that none is lost.
    """
    at = times(records)
    start = max(sum(each < since for each in at), len(records) - most, 0)
    if start == 0:
        return list(records)
    start = min(start, len(records) - 1)
    first = records[start]
    values = list(values_at(records[: start + 1]))[-1]
    scores = tuple(
        ScoreChange(name=name, cluster=cluster, after=value)
        for (name, cluster), value in sorted(values.items())
    )
    return [msgspec.structs.replace(first, scores=scores), *records[start + 1 :]]
