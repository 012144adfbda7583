"""The order of records does not depend on clocks."""

from datetime import timedelta

from gitops_dsf.hub.flapping import Change
from gitops_dsf.journal.record import ScoreChange
from gitops_dsf.journal.timeline import by_placement, changes, in_order, times, values_at
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
