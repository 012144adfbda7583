"""The order of records does not depend on clocks."""

from datetime import UTC, datetime, timedelta

import pytest

from gitops_dsf.hub.flapping import Change
from gitops_dsf.journal.record import Record, ScoreChange
from gitops_dsf.journal.timeline import by_placement, changes, in_order, recent, times, values_at
from tests.support.journalrecords import AT, record


def test_a_clock_that_went_back_does_not_swap_changes() -> None:
    first, second = record(1, "a", "b", at=AT + timedelta(seconds=60)), record(2, "b", "a", at=AT)
    assert by_placement([second, first]) == {"argocd/portal": [first, second]}
    assert times([first, second]) == [first.time.timestamp()] * 2
    assert in_order([second, first]) == [first, second]
    assert changes([first, second]) == (
        Change(at=first.time.timestamp(), left=("a",), joined=("b",)),
        Change(at=first.time.timestamp(), left=("b",), joined=("a",)),
    )


def test_scores_add_up_from_record_to_record() -> None:
    first = record(
        1,
        scores=(
            ScoreChange(name="AddOn/cpu/cpu", cluster="a", after=10),
            ScoreChange(name="AddOn/cpu/cpu", cluster="b", after=20),
        ),
    )
    second = record(
        2,
        scores=(
            ScoreChange(name="AddOn/cpu/cpu", cluster="a", before=10, after=30),
            ScoreChange(name="AddOn/cpu/cpu", cluster="b", before=20),
        ),
    )
    assert list(values_at([first, second])) == [
        {("AddOn/cpu/cpu", "a"): 10, ("AddOn/cpu/cpu", "b"): 20},
        {("AddOn/cpu/cpu", "a"): 30},
    ]


def test_an_application_is_found_by_any_of_its_names() -> None:
    found = record(applications=("portal-eu",))
    assert all(found.is_about(name) for name in ("portal", "argocd/portal", "portal-eu"))
    assert not any(found.is_about(name) for name in ("argocd", "shop", "kube/portal"))


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
