"""Which copy is deleted, what the others wait for, and which is never deleted."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_dsf.hub.applications import Application
from gitops_dsf.reconciler.moves.rules import Action, CopyVerdict, MoveState, evaluate, is_good
from tests.support.laws import examples

GOOD: dict[str, Any] = {"health": "Healthy", "sync": "Synced", "phase": "Succeeded"}
NEW: dict[str, Any] = {"health": "Progressing", "sync": "Synced", "phase": "Succeeded"}
BAD: dict[str, Any] = {"health": "Degraded", "sync": "Synced", "phase": "Succeeded"}


def name_on(cluster: str) -> str:
    return f"web-{cluster}"


def copy(cluster: str, **fields: Any) -> Application:
    made = {
        "name": name_on(cluster),
        "uid": f"uid-{cluster}",
        "owner": "web",
        "owner_uid": "1",
        "application": "web",
        "prunes": True,
    }
    return Application(**{**made, "cluster": cluster, **GOOD, **fields})


def state(decided: str, *copies: Application, **fields: Any) -> MoveState:
    made = {
        "asked_for": None,
        "unreachable": frozenset[str](),
        "returned": frozenset[str](),
        "overdue": False,
        "best": {},
        "name_on": name_on,
    }
    return MoveState(decided=frozenset(decided), copies=copies, **{**made, **fields})


def short(verdicts: tuple[CopyVerdict, ...]) -> dict[str, str]:
    return {verdict.copy.cluster: f"{verdict.action} {verdict.reason}" for verdict in verdicts}


def test_the_old_copy_goes_when_the_new_one_is_healthy_and_synced() -> None:
    assert short(evaluate(state("b", copy("a"), copy("b")))) == {"a": "delete Healthy"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (NEW, "web-b is Progressing/Synced"),
        ({"sync": "OutOfSync"}, "web-b is Healthy/OutOfSync"),
        ({"phase": "Running"}, "web-b is Healthy/Synced/sync Running"),
        ({"phase": "Failed"}, "web-b is Healthy/Synced/sync Failed"),
        ({"health": "", "sync": "", "phase": ""}, "web-b is of unknown health/never compared"),
    ],
)
def test_it_waits_for_a_new_copy_that_is_not_there_yet(fields: dict[str, Any], words: str) -> None:
    (verdict,) = evaluate(state("b", copy("a"), copy("b", **fields)))
    assert (verdict.action, verdict.reason, verdict.message) == (Action.WAIT, "NewCopyNotHealthy", words)


def test_it_waits_for_a_copy_that_does_not_exist_whatever_the_time() -> None:
    for overdue in (False, True):
        (verdict,) = evaluate(state("b", copy("a"), overdue=overdue))
        assert (verdict.action, verdict.reason, verdict.message) == (
            Action.WAIT,
            "NewCopyMissing",
            "no Application yet: b is decided",
        )


def test_one_of_three_moves() -> None:
    copies = (copy("a"), copy("b"), copy("c"))
    assert short(evaluate(state("abd", *copies, copy("d", **NEW)))) == {"c": "wait NewCopyNotHealthy"}
    assert short(evaluate(state("abd", *copies, copy("d")))) == {"c": "delete Healthy"}


def test_an_old_copy_stands_in_for_each_new_one_that_is_not_healthy() -> None:
    """Three move at once, and one has arrived."""
    new = (copy("d"), copy("e", **NEW), copy("f", **NEW))
    found = short(evaluate(state("def", copy("a"), copy("b"), copy("c"), *new)))
    assert found == {"a": "delete Healthy", "b": "wait Queued", "c": "wait Queued"}
    found = short(evaluate(state("def", copy("b"), copy("c"), *new)))
    assert found == {"b": "wait NewCopyNotHealthy", "c": "wait NewCopyNotHealthy"}


def test_nothing_goes_before_one_new_copy_has_arrived() -> None:
    assert set(short(evaluate(state("c", copy("a"), copy("b"), copy("c", **NEW)))).values()) == {
        "wait NewCopyNotHealthy"
    }


def test_the_least_healthy_goes_first_and_one_at_a_time() -> None:
    assert short(evaluate(state("c", copy("a"), copy("b", **BAD), copy("c")))) == {
        "a": "wait Queued",
        "b": "delete Healthy",
    }
    found = evaluate(state("c", copy("a"), copy("b", **BAD, deleting=True), copy("c")))
    assert short(found) == {"a": "wait Going", "b": "wait Going"}
    assert [verdict.message for verdict in found] == [
        "web-b is being deleted; one copy is deleted at a time",
        "Argo CD is deleting it and its workload",
    ]


def test_a_smaller_decision_costs_no_copy_below_the_number_asked_for() -> None:
    assert short(evaluate(state("ab", copy("a"), copy("b"), copy("c"), asked_for=3))) == {
        "c": "wait WantedCount"
    }
    assert short(evaluate(state("ab", copy("a"), copy("b"), copy("c"), asked_for=2))) == {
        "c": "delete Healthy"
    }
    found = short(evaluate(state("abd", *map(copy, "abcd"), asked_for=3)))
    assert found == {"c": "delete Healthy"}


@pytest.mark.parametrize(
    ("old", "new", "goes"),
    [
        (GOOD, BAD, False),
        (GOOD, NEW, False),
        (GOOD, {"health": ""}, False),
        (GOOD, {"health": "Missing"}, False),
        (GOOD, {"sync": "OutOfSync"}, True),
        (GOOD, {"phase": "Failed"}, True),
        (GOOD, {"health": "Suspended"}, True),
        ({"health": "Suspended"}, {"sync": "OutOfSync"}, True),
        (NEW, NEW, True),
        (NEW, BAD, False),
        (BAD, NEW, True),
        (BAD, BAD, True),
        ({"health": "", "sync": ""}, {"health": "", "sync": ""}, True),
    ],
)
def test_after_the_time_out_a_copy_goes_for_one_that_is_no_less_healthy(
    old: dict[str, Any], new: dict[str, Any], goes: bool
) -> None:
    copies = (copy("a", **{**GOOD, **old}), copy("b", **{**GOOD, **new}))
    assert short(evaluate(state("b", *copies)))["a"].startswith("wait ")
    found = short(evaluate(state("b", *copies, overdue=True)))
    assert found == {"a": "delete TimedOut" if goes else "wait TimedOut"}


def test_a_rollout_on_the_old_cluster_does_not_make_it_a_failing_one() -> None:
    """Both are Progressing: the old one was Healthy a minute ago, and the new one never was."""
    copies = (copy("a", **NEW), copy("b", **NEW))
    assert short(evaluate(state("b", *copies, overdue=True, best={"uid-a": 3}))) == {"a": "wait TimedOut"}
    assert short(evaluate(state("b", *copies, overdue=True, best={"uid-a": 2}))) == {"a": "delete TimedOut"}


def test_after_the_time_out_the_wanted_count_still_holds() -> None:
    copies = (copy("a"), copy("b", sync="OutOfSync"), copy("c", **BAD))
    assert short(evaluate(state("bc", *copies, overdue=True))) == {"a": "wait TimedOut"}


def test_a_cluster_that_ocm_does_not_see_neither_counts_nor_loses_its_copy() -> None:
    found = short(evaluate(state("b", copy("a"), copy("b"), unreachable=frozenset("a"))))
    assert found == {"a": "wait ClusterUnreachable"}
    (verdict,) = evaluate(state("b", copy("a"), copy("b"), unreachable=frozenset("b"), overdue=True))
    assert verdict.action is Action.WAIT
    assert verdict.message == "the time-out is over, and still web-b is on a cluster that OCM does not reach"


def test_a_deletion_relies_on_copies_of_decided_clusters_first() -> None:
    [verdict] = [
        found for found in evaluate(state("yz", *map(copy, "abyz"))) if found.action is Action.DELETE
    ]
    assert verdict.copy.cluster == "a"
    assert [item.cluster for item in verdict.relies_on] == ["y", "z", "b"]


def test_a_cluster_that_returned_keeps_its_copy() -> None:
    found = evaluate(state("b", copy("a"), copy("b"), returned=frozenset("a")))
    assert short(found) == {"a": "wait ClusterReturned"}
    assert short(evaluate(state("b", copy("a"), copy("b"), returned=frozenset("b")))) == {
        "a": "delete Healthy"
    }


def test_enough_copies_outside_of_the_decision_are_not_enough() -> None:
    copies = (copy("a"), copy("b"), copy("c", **BAD))
    assert short(evaluate(state("c", *copies))) == {
        "a": "wait NewCopyNotHealthy",
        "b": "wait NewCopyNotHealthy",
    }


def test_a_failing_copy_is_not_given_up_for_one_on_a_cluster_that_ocm_does_not_reach() -> None:
    copies = (copy("a", **BAD), copy("b", **BAD))
    assert short(evaluate(state("b", *copies, overdue=True))) == {"a": "delete TimedOut"}
    found = evaluate(state("b", *copies, overdue=True, unreachable=frozenset("b")))
    assert short(found) == {"a": "wait TimedOut"}


@pytest.mark.parametrize(
    ("fields", "unreachable", "expected"),
    [
        ({}, "", True),
        ({"phase": ""}, "", True),
        ({"phase": "Running"}, "", False),
        (NEW, "", False),
        ({"sync": "OutOfSync"}, "", False),
        ({"deleting": True}, "", False),
        ({}, "a", False),
        ({}, "b", True),
    ],
)
def test_a_good_copy(fields: dict[str, Any], unreachable: str, expected: bool) -> None:
    assert is_good(copy("a", **fields), frozenset(unreachable)) is expected


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"cluster": ""}, "NoCluster"),
        ({"application": ""}, "NotRendered"),
        ({"cluster": "elsewhere"}, "Renamed"),
        ({"prunes": False}, "WorkloadWouldStay"),
    ],
)
def test_what_is_not_as_it_was_made_is_kept(fields: dict[str, Any], reason: str) -> None:
    for overdue in (False, True):
        old = msgspec.structs.replace(copy("a"), **fields)
        (verdict,) = evaluate(state("b", old, copy("b"), overdue=overdue))
        assert (verdict.action, verdict.reason) == (Action.KEEP, reason)


def test_a_copy_that_somebody_moved_to_a_decided_cluster_does_not_count() -> None:
    moved = msgspec.structs.replace(copy("c"), cluster="b")
    assert short(evaluate(state("b", copy("a"), moved))) == {"a": "wait NewCopyMissing"}


def test_a_copy_without_a_cluster_does_not_count() -> None:
    """Its name may be the one that the ApplicationSet would give to it all the same."""
    lost = copy("", name=name_on(""))
    found = short(evaluate(state("bc", copy("a"), copy("b"), copy("c", **BAD), lost)))
    assert found["a"] == "wait NewCopyNotHealthy"


@pytest.mark.parametrize(
    ("clusters", "named"), [("bcdef", "b, c, d, e, f are"), ("bcdefghi", "b, c, d, e, f and 3 more are")]
)
def test_five_clusters_are_named_and_the_rest_is_counted(clusters: str, named: str) -> None:
    (verdict,) = evaluate(state(clusters, copy("a"), *map(copy, clusters)))
    assert (verdict.action, verdict.message) == (Action.DELETE, f"{named} Healthy and Synced")
    (verdict,) = evaluate(state(clusters, copy("a")))
    assert (verdict.reason, verdict.message) == ("NewCopyMissing", f"no Application yet: {named} decided")
    waiting = ", ".join(f"web-{name} is Degraded/Synced" for name in "bcdef")
    (verdict,) = evaluate(state(clusters, copy("a"), *(copy(name, **BAD) for name in clusters)))
    assert verdict.message == waiting + (" and 3 more" if len(clusters) > 5 else "")


def test_an_empty_decision_is_never_judged() -> None:
    with pytest.raises(ValueError, match="empty decision"):
        evaluate(state("", copy("a")))


CLUSTERS = "abcdef"
STATES = st.fixed_dictionaries(
    {
        "health": st.sampled_from(
            ["Healthy"] * 8 + ["Progressing", "Degraded", "Missing", "Suspended", "Unknown", ""]
        ),
        "sync": st.sampled_from(["Synced"] * 8 + ["OutOfSync", ""]),
        "phase": st.sampled_from(["Succeeded"] * 8 + ["Running", "Failed", ""]),
        "deleting": st.sampled_from([False] * 15 + [True]),
        "prunes": st.sampled_from([True] * 9 + [False]),
        "application": st.sampled_from(["web"] * 9 + [""]),
    }
)


@st.composite
def situations(draw: st.DrawFn) -> MoveState:
    there = draw(st.sets(st.sampled_from(CLUSTERS), min_size=1))
    return MoveState(
        decided=draw(st.frozensets(st.sampled_from(CLUSTERS), min_size=1, max_size=3)),
        asked_for=draw(st.none() | st.integers(1, 4)),
        copies=tuple(copy(cluster, **draw(STATES)) for cluster in sorted(there)),
        unreachable=draw(st.frozensets(st.sampled_from(CLUSTERS), max_size=1)),
        returned=draw(st.frozensets(st.sampled_from(CLUSTERS), max_size=1)),
        overdue=draw(st.booleans()),
        best=draw(
            st.dictionaries(
                st.sampled_from([f"uid-{cluster}" for cluster in CLUSTERS]), st.integers(1, 3), max_size=1
            )
        ),
        name_on=name_on,
    )


def deleted(found: MoveState) -> Application | None:
    chosen = [verdict.copy for verdict in evaluate(found) if verdict.action is Action.DELETE]
    assert len(chosen) <= 1
    return chosen[0] if chosen else None


def healthy(copies: tuple[Application, ...], unreachable: frozenset[str]) -> int:
    return sum(
        1
        for item in copies
        if item.health == "Healthy" and not item.deleting and item.cluster not in unreachable
    )


@settings(examples(100))
@given(situations())
def test_never_a_decided_cluster_never_the_last_never_below_what_is_wanted(found: MoveState) -> None:
    chosen = deleted(found)
    if chosen is None:
        return  # about one state in six removes
    rest = tuple(item for item in found.copies if item is not chosen and not item.deleting)
    assert chosen.cluster not in found.decided
    assert not chosen.deleting
    assert chosen.prunes
    assert len(rest) >= found.wanted >= 1
    if not found.overdue:
        assert sum(is_good(item, found.unreachable) for item in rest) >= found.wanted
        assert any(is_good(item, found.unreachable) and item.cluster in found.decided for item in rest)
    elif chosen.health == "Healthy":
        alive = sum(
            item.health in {"Healthy", "Suspended"} and item.cluster not in found.unreachable for item in rest
        )
        assert alive >= found.wanted
    else:
        assert {item.cluster for item in rest} >= found.decided or healthy(
            rest, found.unreachable
        ) >= found.wanted


@given(situations(), st.randoms(use_true_random=False))
def test_the_order_of_copies_does_not_matter_and_asking_twice_gives_the_same(
    found: MoveState, random: Any
) -> None:
    shuffled = list(found.copies)
    random.shuffle(shuffled)
    assert evaluate(replace(found, copies=tuple(shuffled))) == evaluate(found) == evaluate(found)


@given(situations())
def test_every_copy_that_left_gets_one_verdict(found: MoveState) -> None:
    leaving = sorted(item.name for item in found.copies if item.cluster not in found.decided)
    assert [verdict.copy.name for verdict in evaluate(found)] == leaving


@given(situations())
def test_carried_out_to_the_end_what_is_wanted_stays(found: MoveState) -> None:
    """As the controller does it: one goes, is gone, and all is judged anew."""
    now = found
    while (chosen := deleted(now)) is not None:
        now = replace(now, copies=tuple(item for item in now.copies if item is not chosen))
    assert len([item for item in now.copies if not item.deleting]) >= min(
        found.wanted, len([item for item in found.copies if not item.deleting])
    )
    assert {item.cluster for item in now.copies} >= {item.cluster for item in found.copies} & found.decided
