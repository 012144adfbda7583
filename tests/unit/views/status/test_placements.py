"""Placements and their applications.

Decision, next decision and flips of a Placement; where its applications are, and what a copy waits
for.
"""

from typing import Any

import pytest

from gitops_dsf.show.status.notes import placement_note_text
from gitops_dsf.show.status.placements import lead_text
from gitops_dsf.simulator.explain import Lead
from gitops_dsf.views.status.applications import ApplicationView
from gitops_dsf.views.status.build import Filter, build
from gitops_dsf.views.status.inputs import HubPart
from gitops_dsf.views.status.placements import PlacementView
from tests.support.hubobjects import (
    Object,
    application,
    application_set,
    binding,
    cluster,
    decision,
    fleet,
    global_set,
    joined,
    paced,
    placement,
    score,
    scorer,
)
from tests.support.overviews import inputs_of


def scored(values: dict[str, int], *, decided: tuple[str, ...] = ()) -> list[Object]:
    return [
        *joined(*values),
        global_set(),
        binding(),
        scorer("cpu"),
        *(score(name, "cpu", value) for name, value in values.items()),
        placement("p", "cpu", number=1),
        decision("p", *decided),
    ]


def unscored(cluster: str, objects: list[Object]) -> list[Object]:
    gone = ("AddOnPlacementScore", cluster)
    return [item for item in objects if (item["kind"], item["metadata"].get("namespace")) != gone]


def only(objects: list[Object], **more: Any) -> PlacementView:
    return build(inputs_of(objects, **more)).placements[0]


def test_a_decision_that_ocm_would_change_is_not() -> None:
    """Nothing wakes OCM when a score expires; it looks again within 10 minutes."""
    objects = unscored("a", scored({"a": 80, "b": 60}, decided=("a",)))
    view = only([*objects, score("a", "cpu", 80, age=2000)])
    assert (view.decided, view.next, view.reconciled, view.counted_as_zero) == (
        ("a",),
        ("b",),
        False,
        ("a",),
    )


@pytest.mark.parametrize(
    ("more", "needed"),
    [
        ({}, {"a": -1, "b": 41}),
        (
            {"scoreRange": {"min": 0, "max": 1, "outputMin": 1, "outputMax": 100}},
            {"a": None, "b": 41},
        ),
        (
            {"scoreRange": {"min": 0, "max": 1, "outputMin": 40, "outputMax": 0}},
            {"a": None, "b": None},
        ),
        ({"scoreRange": {"min": 0, "max": 1}, "defaultScore": -5}, {"a": -1, "b": 41}),
    ],
)
def test_a_score_that_its_scorer_never_publishes_flips_nothing(
    more: dict[str, Any], needed: dict[str, int | None]
) -> None:
    """b has no score, which counts as 0, and a has 40."""
    objects = unscored("b", scored({"a": 40, "b": 1}, decided=("a",)))
    next(item for item in objects if item["kind"] == "DynamicScorer")["spec"].update(more)
    view = only(objects)
    assert {turn.cluster: turn.score and turn.score.needed for turn in view.flips} == needed


def sticky(values: dict[str, int], *, decided: str, pace: bool) -> PlacementView:
    """A stickiness of 20 points: weight 5 for the score, and 1 for Steady."""
    objects = scored(values, decided=(decided,))
    item = next(each for each in objects if each["kind"] == "Placement")
    if pace:
        objects[objects.index(item)] = paced(item, weight=5, steady=1)
    else:
        terms = item["spec"]["prioritizerPolicy"]["configurations"]
        terms[0]["weight"] = 5
        terms.append({"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 1})
    return only(objects)


@pytest.mark.parametrize("pace", [False, True])
def test_a_better_cluster_that_the_stickiness_keeps_out_is_named(pace: bool) -> None:
    view = sticky({"berlin": 50, "oslo": 60, "paris": 69}, decided="berlin", pace=pace)
    assert (view.next, view.wish) == (("berlin",), None)
    assert view.lead == Lead(cluster="paris", over="berlin", points=19.0, stickiness=20.0)
    assert lead_text(view.lead) == (
        "paris leads berlin by 19 points of the mean score; the stickiness is 20, so it"
        " stays on berlin"
    )
    best = sticky({"berlin": 70, "oslo": 60, "paris": 69}, decided="berlin", pace=pace)
    assert best.lead is None, "it is on the best cluster"
    away = sticky({"berlin": 50, "oslo": 60, "paris": 71}, decided="berlin", pace=pace)
    assert away.lead is None, "it moves, or wishes to"
    assert (away.wish, away.next) == ((("paris",), ("berlin",)) if pace else (None, ("paris",)))


def test_one_cluster_is_asked_about() -> None:
    objects = [*scored({"a": 80, "b": 60, "c": 10}, decided=("a",)), cluster("d", cordoned="yes")]
    view = build(inputs_of(objects), Filter(cluster="c")).placements[0]
    assert [(turn.cluster, turn.rival, turn.score.needed) for turn in view.flips if turn.score] == [
        ("c", "a", 81)
    ]


def test_a_placement_that_finds_no_cluster_says_why() -> None:
    objects = [item for item in scored({"a": 80}) if item["kind"] != "ManagedClusterSetBinding"]
    view = only(objects)
    assert (view.next, view.eligible) == ((), 0)
    assert view.note
    assert "ManagedClusterSetBindings" in placement_note_text(view.note.value)


def test_a_misconfigured_placement_says_why() -> None:
    objects = scored({"a": 80}, decided=("a",))
    objects[-2]["spec"]["prioritizerPolicy"]["mode"] = "Bogus"
    view = only(objects)
    assert (view.next, view.flips) == (None, ())
    assert view.note
    assert placement_note_text(view.note.value).startswith(
        "Scheduled: PlacementMisconfigured (incorrect prioritizer policy mode: Bogus)"
    )


@pytest.mark.parametrize("part", [HubPart.SCORES, HubPart.BINDINGS, HubPart.SETS, HubPart.CLUSTERS])
def test_without_what_ocm_reads_nothing_is_foretold_or_claimed(part: HubPart) -> None:
    view = only(fleet(), unread=[part])
    assert (view.decided, view.next, view.flips) == (("cluster1",), None, ())
    assert view.note
    assert "not known" in placement_note_text(view.note.value)
    view = only(fleet(), unread=[HubPart.DECISIONS])
    assert (view.decided, view.next, view.reconciled) == (None, None, True)


def test_placements_of_others_are_left_out_unless_they_rank_by_our_scores() -> None:
    by_hand, foreign = placement("by-hand", "cpu"), placement("foreign", "theirs")
    for item in (by_hand, foreign):
        del item["metadata"]["labels"]
    view = build(inputs_of([*fleet(), by_hand, foreign]))
    assert [one.placement for one in view.placements] == ["argocd/by-hand", "argocd/guestbook"]
    asked = build(inputs_of([*fleet(), foreign]), Filter(placement="argocd/foreign"))
    assert [one.placement for one in asked.placements] == ["argocd/foreign"]


def only_application(*objects: Object, **more: Any) -> ApplicationView:
    found = build(inputs_of([cluster("a"), cluster("b"), *objects], **more)).applications
    assert len(found) == 1
    return found[0]


def standings(view: ApplicationView) -> dict[str, str]:
    return {copy.cluster: str(copy.standing) for copy in view.copies}


def test_a_move_shows_what_the_old_copy_waits_for() -> None:
    decided = (application_set("web"), decision("web", "b"), application("web", "a"))
    assert standings(only_application(*decided)) == {"a": "waiting", "b": "pending"}
    starting = only_application(*decided, application("web", "b", health="Progressing"))
    assert (standings(starting), starting.as_decided) == ({"a": "waiting", "b": "starting"}, False)
    assert standings(only_application(*decided, application("web", "b"))) == {
        "a": "waiting",
        "b": "running",
    }


def test_a_copy_that_is_being_deleted_is_leaving() -> None:
    leaving = application("web", "a", deletionTimestamp="2026-06-01T12:00:00Z")
    assert standings(only_application(application_set("web"), decision("web", "b"), leaving)) == {
        "a": "leaving",
        "b": "pending",
    }


@pytest.mark.parametrize("part", [HubPart.DECISIONS, HubPart.APPLICATIONS])
def test_what_could_not_be_read_is_not_called_a_move(part: HubPart) -> None:
    view = only_application(
        application_set("web"), decision("web", "a"), application("web", "b"), unread=[part]
    )
    assert (view.as_decided, view.copies) == (None, ())


def test_applicationsets_written_by_hand_do_not_say_how_they_move_and_are_left_out() -> None:
    item = application_set("web")
    del item["metadata"]["annotations"]
    assert build(inputs_of([cluster("a"), item])).applications == ()
