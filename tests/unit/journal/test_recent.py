"""Old records are forgotten, and the scores that they tell are not."""

from datetime import UTC, datetime

import pytest

from gitops_dsf.journal.record import Record, ScoreChange
from gitops_dsf.journal.timeline import recent, values_at
from tests.support.journalrecords import record


def told(number: int, **scores: int) -> Record:
    changes = tuple(
        ScoreChange(name="AddOn/cpu/cpu", cluster=name, after=value) for name, value in scores.items()
    )
    return record(number, at=datetime.fromtimestamp(number, UTC), scores=changes)


RECORDS = [told(1, a=1, b=2), told(2, a=3), told(3, b=4), told(4, a=5)]


@pytest.mark.parametrize(
    ("since", "most", "kept"),
    [(0, 9, [1, 2, 3, 4]), (3, 9, [3, 4]), (99, 9, [4]), (0, 2, [3, 4]), (3, 1, [4])],
)
def test_scores_of_forgotten_records_stay(since: float, most: int, kept: list[int]) -> None:
    found = recent(RECORDS, since=since, most=most)
    assert [each.number for each in found] == kept
    assert list(values_at(found)) == list(values_at(RECORDS))[-len(kept) :]
