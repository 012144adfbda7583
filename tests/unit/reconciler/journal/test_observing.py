"""Which decisions need a record."""

import pytest

from gitops_dsf.hub.decisions import DecisionPage
from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.journal.record import Kind, digest
from gitops_dsf.reconciler.hub.decisions import DecisionSets
from gitops_dsf.reconciler.journal.observing import (
    SETTLE_SECONDS,
    Head,
    Observed,
    observe,
)

PLACEMENTS = {"portal": PlacementSummary("uid-1", 1, ())}


def seen(
    *clusters: str,
    head: Head | None,
    since: float = 100.0,
    now: float = 200.0,
    started: float = 0.0,
    placements: dict[str, PlacementSummary] = PLACEMENTS,
) -> Observed:
    decisions = DecisionSets()
    decisions.observe([DecisionPage("portal", frozenset(clusters))], since)
    return observe(
        ["portal"],
        namespace="argocd",
        decisions=decisions,
        placements=placements,
        heads={"argocd/portal": head} if head is not None else {},
        started=started,
        now=now,
    )


def head(*clusters: str, number: int = 7, uid: str = "uid-1", named: bool = True) -> Head:
    return Head(
        number=number,
        digest=digest(frozenset(clusters)),
        uid=uid,
        clusters=frozenset(clusters) if named else None,
    )


def test_the_decision_of_the_last_record_needs_none() -> None:
    assert seen("eu-1", head=head("eu-1")) == Observed(due=(), wait=None)


def test_a_change_waits_until_it_is_settled() -> None:
    assert seen("eu-2", head=head("eu-1"), since=100, now=100.25).wait == pytest.approx(SETTLE_SECONDS - 0.25)
    assert not seen("eu-2", head=head("eu-1"), since=100, now=100.25).due
    (due,) = seen("eu-2", head=head("eu-1"), since=100, now=101).due
    assert (due.kind, due.before, due.clusters, due.number, due.age) == (
        "Change",
        {"eu-1"},
        {"eu-2"},
        8,
        1.0,
    )


@pytest.mark.parametrize(("since", "kind"), [(49.0, "Later"), (50.0, "Later"), (50.1, "Change")])
def test_what_changed_before_this_replica_looked_is_told_apart(since: float, kind: Kind) -> None:
    (due,) = seen("eu-2", head=head("eu-1"), since=since, started=50).due
    assert due.kind == kind


@pytest.mark.parametrize(
    "known",
    [
        None,
        head("eu-1", uid="another Placement of this name"),
        head("eu-2", uid="another one, with the same decision"),
    ],
)
def test_the_first_record_of_a_placement_does_not_know_the_decision_before(known: Head | None) -> None:
    (due,) = seen("eu-2", head=known).due
    assert (due.kind, due.before, due.number) == ("Start", None, 1)


def test_a_large_decision_that_no_record_names_is_known_by_its_digest() -> None:
    many = [f"c{number}" for number in range(200)]
    assert not seen(*many, head=head(*many, named=False)).due
    (due,) = seen("eu-2", head=head(*many, named=False)).due
    assert (due.kind, due.before, due.number) == ("Start", None, 8)


def test_a_deleted_placement_needs_no_record() -> None:
    assert not seen("eu-2", head=head("eu-1"), placements={}).due
