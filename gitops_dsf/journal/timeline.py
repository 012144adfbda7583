"""The records of each Placement, in order, whatever the clocks said.

Their numbers order them: a replica whose clock is late may record a change after one that is newer
by its time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec

from gitops_dsf.hub.moves.flapping import DecisionChange
from gitops_dsf.journal.record import Record, ScoreChange

ScoreValues = Mapping[tuple[str, str], int]
"""Scores that count, by name of the prioritizer and cluster. One that is not in it counts as 0."""


def by_placement(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The records of each name of a Placement.

    Those of one life (UID) follow those of the other, each in order of number.
    """
    lives: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        lives.setdefault(record.placement, {}).setdefault(record.uid, []).append(record)
    ordered: dict[str, list[Record]] = {}
    for placement, by_uid in lives.items():
        ordered[placement] = []
        for life in by_uid.values():
            ordered[placement] += sorted(life, key=lambda record: record.number)
    return ordered


def in_order(records: Iterable[Record]) -> list[Record]:
    """All records by time, and those of one Placement in their order."""
    timed: list[tuple[float, Record]] = []
    for of_placement in by_placement(records).values():
        timed += zip(times(of_placement), of_placement, strict=True)
    # Sorting is stable, so records of one Placement with equal times stay in order.
    timed.sort(key=lambda pair: pair[0])
    return [record for _, record in timed]


def times(records: Sequence[Record]) -> list[float]:
    """Unix seconds of the records of one Placement.

    A clock that went back makes two changes simultaneous.
    """
    seconds: list[float] = []
    for record in records:
        second = record.time.timestamp()
        seconds.append(max(second, seconds[-1]) if seconds else second)
    return seconds


def changes(records: Sequence[Record]) -> tuple[DecisionChange, ...]:
    """The changes of the decision of one Placement, without its first record."""
    return tuple(
        DecisionChange(at=second, left=record.left, joined=record.joined)
        for second, record in zip(times(records), records, strict=True)
        if record.left or record.joined
    )


def values_at(
    records: Iterable[Record], *, start: ScoreValues = MappingProxyType({})
) -> Iterator[ScoreValues]:
    """The scores that count after each record of one Placement.

    A record has only what changed since the one before. `start` are those known before.
    """
    values = dict(start)
    for record in records:
        for score in record.scores:
            if score.after is None:
                values.pop((score.name, score.cluster), None)
            else:
                values[score.name, score.cluster] = score.after
        yield dict(values)


def recent(records: Sequence[Record], *, since: float, limit: int) -> list[Record]:
    """The newest records of one Placement: at most `limit`, and none before `since` but the last.

    The first of them holds all scores that the records up to it name, so that none is lost.
    """
    too_old = sum(second < since for second in times(records))
    start = max(too_old, len(records) - limit, 0)
    if start == 0:
        return list(records)
    start = min(start, len(records) - 1)
    *_, values = values_at(records[: start + 1])
    scores = tuple(
        ScoreChange(name=name, cluster=cluster, after=value)
        for (name, cluster), value in sorted(values.items())
    )
    # A record has only what changed. Without this, scores of the records that are left out and did
    # not change since would be lost.
    first = msgspec.structs.replace(records[start], scores=scores)
    return [first, *records[start + 1 :]]
