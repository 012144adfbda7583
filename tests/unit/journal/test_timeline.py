"""The order of records does not depend on clocks."""

from datetime import UTC, datetime, timedelta

import msgspec

from gitops_dsf.hub.flapping import Change
from gitops_dsf.journal.record import Record, ScoreChange, new_record
from gitops_dsf.journal.timeline import by_placement, changes, in_order, matches, times, values_at

AT = datetime(2026, 6, 1, 3, 0, tzinfo=UTC)


def record(
    number: int, seconds: float, before: str, after: str, *, placement: str = "argocd/portal"
) -> Record:
    return new_record(
        placement=placement,
        number=number,
        time=AT + timedelta(seconds=seconds),
        kind="Change",
        before={before},
        after={after},
    )


def test_a_clock_that_went_back_does_not_swap_changes() -> None:
    first, second = record(1, 60, "a", "b"), record(2, 0, "b", "a")
    assert by_placement([second, first]) == {"argocd/portal": [first, second]}
    assert times([first, second]) == [AT.timestamp() + 60] * 2
    assert in_order([second, first]) == [first, second]
    assert changes([first, second]) == (
        Change(at=AT.timestamp() + 60, left=("a",), joined=("b",)),
        Change(at=AT.timestamp() + 60, left=("b",), joined=("a",)),
    )


def test_scores_add_up_from_record_to_record() -> None:
    first = msgspec.structs.replace(
        record(1, 0, "a", "b"),
        scores=(
            ScoreChange(name="AddOn/cpu/cpu", cluster="a", after=10),
            ScoreChange(name="AddOn/cpu/cpu", cluster="b", after=20),
        ),
    )
    second = msgspec.structs.replace(
        record(2, 60, "b", "a"),
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
    found = msgspec.structs.replace(record(1, 0, "a", "b"), applications=("portal-eu",))
    assert all(matches(found, name) for name in ("portal", "argocd/portal", "portal-eu"))
    assert not any(matches(found, name) for name in ("argocd", "shop", "kube/portal"))
