"""Which copy is deleted, and which is never deleted.

What the others wait for, and when a decision is whole.
"""

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_dsf.hub.applications import ArgoApplication
from gitops_dsf.hub.metadata import Metadata, OwnerReference
from gitops_dsf.hub.objects import ClusterDecision, PlacementDecision, PlacementDecisionStatus
from gitops_dsf.reconciler.moves.deletion import Blocked, ObservedPlacement, complete_decision
from gitops_dsf.reconciler.moves.rules import Action, CopyVerdict, MoveState, evaluate, is_good
from tests.support.laws import examples

GOOD: dict[str, Any] = {"health": "Healthy", "sync": "Synced", "phase": "Succeeded"}
NEW: dict[str, Any] = {"health": "Progressing", "sync": "Synced", "phase": "Succeeded"}
BAD: dict[str, Any] = {"health": "Degraded", "sync": "Synced", "phase": "Succeeded"}


def name_on(cluster: str) -> str:
    return f"web-{cluster}"


def copy(cluster: str, **fields: Any) -> ArgoApplication:
    made = {
        "name": name_on(cluster),
        "uid": f"uid-{cluster}",
        "owner": "web",
        "owner_uid": "1",
        "application": "web",
        "prunes": True,
    }
    return ArgoApplication(**{**made, "cluster": cluster, **GOOD, **fields})


def copies(clusters: str) -> tuple[ArgoApplication, ...]:
    return tuple(map(copy, clusters))


def state(decided: str, *copies: ArgoApplication, **fields: Any) -> MoveState:
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


MOVED = msgspec.structs.replace(copy("c"), cluster="b")
"""Somebody moved it to a decided cluster."""
LOST = copy("", name=name_on(""))
"""Its name may be the one that the ApplicationSet would give to it all the same."""
NEW_B, NEW_C, NEW_D, NEW_E, NEW_F = (copy(name, **NEW) for name in "bcdef")
BAD_A, BAD_B, BAD_C = (copy(name, **BAD) for name in "abc")
AB, ABC = copies("ab"), copies("abc")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (state("b", *AB), "a delete Healthy"),
        (state("abd", *ABC, NEW_D), "c wait NewCopyNotHealthy"),
        (state("abd", *copies("abcd")), "c delete Healthy"),
        # An old copy stands in for each new one that is not healthy: three move, and one has
        # arrived.
        (
            state("def", *copies("abcd"), NEW_E, NEW_F),
            "a delete Healthy, b wait Queued, c wait Queued",
        ),
        (
            state("def", *copies("bcd"), NEW_E, NEW_F),
            "b wait NewCopyNotHealthy, c wait NewCopyNotHealthy",
        ),
        # None has arrived, and enough copies outside of the decision are not enough.
        (state("c", *AB, NEW_C), "a wait NewCopyNotHealthy, b wait NewCopyNotHealthy"),
        (state("c", *AB, BAD_C), "a wait NewCopyNotHealthy, b wait NewCopyNotHealthy"),
        # The least healthy goes first.
        (state("c", copy("a"), BAD_B, copy("c")), "a wait Queued, b delete Healthy"),
        # A smaller decision costs no copy below the number asked for.
        (state("ab", *ABC, asked_for=3), "c wait WantedCount"),
        (state("ab", *ABC, asked_for=2), "c delete Healthy"),
        (state("abd", *copies("abcd"), asked_for=3), "c delete Healthy"),
        # A rollout: the old one was Healthy a minute ago, and the new one never was.
        (state("b", copy("a", **NEW), NEW_B, overdue=True, best={"uid-a": 3}), "a wait TimedOut"),
        (state("b", copy("a", **NEW), NEW_B, overdue=True, best={"uid-a": 2}), "a delete TimedOut"),
        # After the time-out the wanted count still holds.
        (
            state("bc", copy("a"), copy("b", sync="OutOfSync"), BAD_C, overdue=True),
            "a wait TimedOut",
        ),
        # A cluster that OCM does not see neither counts nor loses its copy.
        (state("b", *AB, unreachable=frozenset("a")), "a wait ClusterUnreachable"),
        (state("b", BAD_A, BAD_B, overdue=True, unreachable=frozenset("b")), "a wait TimedOut"),
        (state("b", *AB, returned=frozenset("a")), "a wait ClusterReturned"),
        (state("b", *AB, returned=frozenset("b")), "a delete Healthy"),
        (state("b", copy("a"), MOVED), "a wait NewCopyMissing"),
        (state("bc", *AB, BAD_C, LOST), " keep NoCluster, a wait NewCopyNotHealthy"),
    ],
)
def test_which_copy_goes_and_what_the_others_wait_for(found: MoveState, expected: str) -> None:
    verdicts = sorted(short(evaluate(found)).items())
    assert ", ".join(f"{cluster} {verdict}" for cluster, verdict in verdicts) == expected


def test_one_goes_at_a_time() -> None:
    found = evaluate(state("c", copy("a"), copy("b", **BAD, deleting=True), copy("c")))
    assert [(verdict.reason, verdict.message) for verdict in found] == [
        ("Going", "web-b is being deleted; one copy is deleted at a time"),
        ("Going", "Argo CD is deleting it and its workload"),
    ]


def test_a_deletion_relies_on_copies_of_decided_clusters_first() -> None:
    verdict = evaluate(state("yz", *copies("abyz")))[0]
    assert (verdict.action, verdict.copy.cluster) == (Action.DELETE, "a")
    assert [item.cluster for item in verdict.relies_on] == ["y", "z", "b"]


MISSING = ("NewCopyMissing", "no Application yet: b is decided")
AWAY = ("TimedOut", "the time-out is over, and still web-b is on a cluster that OCM does not reach")


def not_healthy(words: str) -> tuple[str, str]:
    return "NewCopyNotHealthy", f"web-b is {words}"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (state("b", copy("a"), NEW_B), not_healthy("Progressing/Synced")),
        (state("b", copy("a"), copy("b", sync="OutOfSync")), not_healthy("Healthy/OutOfSync")),
        (
            state("b", copy("a"), copy("b", phase="Running")),
            not_healthy("Healthy/Synced/sync Running"),
        ),
        (
            state("b", copy("a"), copy("b", phase="Failed")),
            not_healthy("Healthy/Synced/sync Failed"),
        ),
        (
            state("b", copy("a"), copy("b", health="", sync="", phase="")),
            not_healthy("of unknown health/never compared"),
        ),
        (state("b", copy("a")), MISSING),
        (state("b", copy("a"), overdue=True), MISSING),
        (state("b", *AB, unreachable=frozenset("b"), overdue=True), AWAY),
    ],
)
def test_it_waits_for_a_new_copy_and_says_why(found: MoveState, expected: tuple[str, str]) -> None:
    (verdict,) = evaluate(found)
    assert (verdict.action, (verdict.reason, verdict.message)) == (Action.WAIT, expected)


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
    both = (copy("a", **{**GOOD, **old}), copy("b", **{**GOOD, **new}))
    assert short(evaluate(state("b", *both)))["a"].startswith("wait ")
    found = short(evaluate(state("b", *both, overdue=True)))
    assert found == {"a": "delete TimedOut" if goes else "wait TimedOut"}


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


@pytest.mark.parametrize(
    ("clusters", "named"),
    [("bcdef", "b, c, d, e, f are"), ("bcdefghi", "b, c, d, e, f and 3 more are")],
)
def test_five_clusters_are_named_and_the_rest_is_counted(clusters: str, named: str) -> None:
    (verdict,) = evaluate(state(clusters, copy("a"), *map(copy, clusters)))
    assert (verdict.action, verdict.message) == (Action.DELETE, f"{named} Healthy and Synced")
    (verdict,) = evaluate(state(clusters, copy("a")))
    assert (verdict.reason, verdict.message) == (
        "NewCopyMissing",
        f"no Application yet: {named} decided",
    )
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
                st.sampled_from([f"uid-{cluster}" for cluster in CLUSTERS]),
                st.integers(1, 3),
                max_size=1,
            )
        ),
        name_on=name_on,
    )


def deleted(found: MoveState) -> ArgoApplication | None:
    chosen = [verdict.copy for verdict in evaluate(found) if verdict.action is Action.DELETE]
    assert len(chosen) <= 1
    return chosen[0] if chosen else None


def healthy(copies: tuple[ArgoApplication, ...], unreachable: frozenset[str]) -> int:
    return sum(
        1
        for item in copies
        if item.health == "Healthy" and not item.deleting and item.cluster not in unreachable
    )


@settings(examples(40, soak=2000))
@given(situations(), st.randoms(use_true_random=False))
def test_never_a_decided_cluster_never_the_last_never_below_what_is_wanted(
    found: MoveState, random: Any
) -> None:
    """Every copy that left gets one verdict, whatever the order of the copies and however often
    asked.
    """
    verdicts = evaluate(found)
    leaving = sorted(item.name for item in found.copies if item.cluster not in found.decided)
    assert [verdict.copy.name for verdict in verdicts] == leaving
    shuffled = list(found.copies)
    random.shuffle(shuffled)
    assert evaluate(replace(found, copies=tuple(shuffled))) == verdicts == evaluate(found)
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
        assert any(
            is_good(item, found.unreachable) and item.cluster in found.decided for item in rest
        )
    elif chosen.health == "Healthy":
        alive = sum(
            item.health in {"Healthy", "Suspended"} and item.cluster not in found.unreachable
            for item in rest
        )
        assert alive >= found.wanted
    else:
        assert {item.cluster for item in rest} >= found.decided or healthy(
            rest, found.unreachable
        ) >= found.wanted


@examples(25, soak=1000)
@given(situations())
def test_carried_out_to_the_end_what_is_wanted_stays(found: MoveState) -> None:
    """As the controller does it: one goes, is gone, and all is judged anew."""
    now = found
    while (chosen := deleted(now)) is not None:
        now = replace(now, copies=tuple(item for item in now.copies if item is not chosen))
    assert len([item for item in now.copies if not item.deleting]) >= min(
        found.wanted, len([item for item in found.copies if not item.deleting])
    )
    assert {item.cluster for item in now.copies} >= {
        item.cluster for item in found.copies
    } & found.decided


def page(*clusters: str, owner: str = "p1") -> PlacementDecision:
    owners = (OwnerReference(kind="Placement", name="web", uid=owner, controller=True),)
    status = PlacementDecisionStatus(tuple(map(ClusterDecision, clusters)))
    return PlacementDecision(Metadata("web-decision-1", owner_references=owners), status)


def placement(selected: int | None, *groups: int, **metadata: Any) -> ObservedPlacement:
    status = {
        "numberOfSelectedClusters": selected,
        "decisionGroups": [{"clusterCount": count} for count in groups],
    }
    item = {"metadata": {"name": "web", "uid": "p1", **metadata}, "spec": {}, "status": status}
    return msgspec.json.decode(json.dumps(item), type=ObservedPlacement)


def test_all_pages_together() -> None:
    assert complete_decision([page("a", "b"), page("c")], placement(3, 2, 1)) == frozenset("abc")
    assert complete_decision([page("a")], placement(1)) == frozenset("a")


@pytest.mark.parametrize(
    ("pages", "of", "why"),
    [
        ([page("a")], None, "PlacementGone"),
        ([page("a")], placement(1, deletionTimestamp="2026-01-01T00:00:00Z"), "PlacementGone"),
        ([page("a", owner="p2")], placement(1), "DecisionForeign"),
        ([page("a"), page("b", owner="")], placement(2), "DecisionForeign"),
        ([page()], placement(0), "DecisionEmpty"),
        ([], placement(1), "DecisionEmpty"),
        ([page("a")], placement(2, 2), "DecisionIncomplete"),
        ([page("a"), page("a", "b")], placement(2, 2), "DecisionIncomplete"),
        ([page("a"), page("b")], placement(2, 1), "DecisionIncomplete"),
        ([page("a")], placement(None), "DecisionIncomplete"),
    ],
)
def test_anything_else_is_a_doubt(
    pages: list[PlacementDecision], of: ObservedPlacement | None, why: str
) -> None:
    with pytest.raises(Blocked) as caught:
        complete_decision(pages, of)
    assert caught.value.reason == why
