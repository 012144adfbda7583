"""Old records are forgotten, and the scores that they tell are not."""

from datetime import UTC, datetime

import msgspec
import pytest

from gitops_dsf.journal.record import Record, ScoreChange, new_record
from gitops_dsf.journal.timeline import recent, values_at


def record(number: int, **scores: int) -> Record:
    plain = new_record(
        placement="argocd/portal",
        number=number,
        time=datetime.fromtimestamp(number, UTC),
        kind="Change",
        before={"a"},
        after={"b"},
    )
    changes = tuple(
        ScoreChange(name="AddOn/cpu/cpu", cluster=name, after=value) for name, value in scores.items()
    )
    return msgspec.structs.replace(plain, scores=changes)


RECORDS = [record(1, a=1, b=2), record(2, a=3), record(3, b=4), record(4, a=5)]


@pytest.mark.parametrize(
    ("since", "most", "kept"),
    [(0, 9, [1, 2, 3, 4]), (3, 9, [3, 4]), (99, 9, [4]), (0, 2, [3, 4]), (3, 1, [4])],
)
def test_scores_of_forgotten_records_stay(since: float, most: int, kept: list[int]) -> None:
    found = recent(RECORDS, since=since, most=most)
    assert [each.number for each in found] == kept
    assert list(values_at(found)) == list(values_at(RECORDS))[-len(kept) :]
