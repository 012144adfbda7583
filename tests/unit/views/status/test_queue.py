"""Paced moves from the reconciler's ConfigMap, and where applications go when a cluster fails."""

from typing import Any

import msgspec
import pytest

from gitops_dsf.show.status.moves import queue_lines, waiting_text
from gitops_dsf.show.status.report import status_text
from gitops_dsf.views.status.build import Filter, Overview, build, document
from gitops_dsf.views.status.inputs import HubPart
from gitops_dsf.views.status.queue import QueueView
from tests.support.hubobjects import (
    NOW,
    Object,
    binding,
    cluster,
    decision,
    drained,
    global_set,
    joined,
    move,
    moves_score,
    paced,
    paced_moves,
    placement,
    score,
    scorer,
    with_refuges,
)
from tests.support.overviews import inputs_of

SECONDS = NOW.timestamp()
UNDER_WAY = move("a", "c1", "c2", since=SECONDS - 60, phaseSince=SECONDS)
SEEN = move("new", "", "c2", since=SECONDS, phase="Handover", admitted=False)
ENDED = {**UNDER_WAY, "placement": "argocd/z", "phase": "Ended"}
COOLS = {"points": 12.5, "reason": "Cooldown", "message": "it moved a short time ago"}
WAITING = move("b", "c1", "c3", since=SECONDS - 3600, until=SECONDS + 600, **COOLS)


def hub(*moves: object, waiting: tuple[object, ...] = ()) -> list[Object]:
    return [
        *(cluster(name) for name in ("c1", "c2", "c3")),
        scorer("cpu"),
        *(paced(placement(name, "cpu")) for name in ("a", "b")),
        paced_moves({"moves": list(moves)}, {"waiting": list(waiting)}),
    ]


def shown(objects: list[Object], **only: Any) -> QueueView | None:
    return build(inputs_of(objects), Filter(**only)).queue


def test_moves_under_way_and_those_that_wait_are_shown() -> None:
    found = shown(hub(UNDER_WAY, SEEN, ENDED, waiting=(WAITING,)))
    assert found is not None
    assert [(each.placement, each.source, each.target, each.phase) for each in found.under_way] == [
        ("argocd/a", "c1", "c2", "Admitted"),
        ("argocd/new", None, "c2", "Handover"),
    ]
    assert [(each.since, each.admitted) for each in found.under_way] == [
        ("2026-06-01T11:59:00Z", True),
        ("2026-06-01T12:00:00Z", False),
    ]
    (waiting,) = found.waiting
    assert waiting_text(waiting) == (
        "argocd/b: c1 -> c3 (+12.5 points) waits since 2026-06-01T11:00:00Z: Cooldown: it"
        " moved a short time"
        " ago, until 2026-06-01T12:10:00Z"
    )


@pytest.mark.parametrize("objects", [hub(), hub(ENDED), hub()[:-1]])
def test_nothing_is_said_where_nothing_moves(objects: list[Object]) -> None:
    view = build(inputs_of(objects))
    assert view.queue is None
    assert not document(view).queue


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ({"placement": "b"}, ["argocd/b"]),
        ({"cluster": "c2"}, ["argocd/a"]),
        ({"cluster": "c1"}, ["argocd/a", "argocd/b"]),
        ({"scorer": "cpu"}, ["argocd/a", "argocd/b"]),
    ],
)
def test_the_queue_is_narrowed_down_as_the_rest(only: dict[str, str], expected: list[str]) -> None:
    found = shown(hub(UNDER_WAY, waiting=(WAITING,)), **only)
    assert found is not None
    assert [each.placement for each in (*found.under_way, *found.waiting)] == expected


def test_who_is_left_on_a_cluster_that_is_drained() -> None:
    """And who stays, because no pace moves it.

    Another cluster's drain is not shown with `--cluster`.
    """
    told = {"left": ["argocd/a"], "stays": ["argocd/batch"], "late": True}
    drain = drained("c1", until=SECONDS + 3600, count=1, **told)
    moves = paced_moves({"moves": []}, {"waiting": []}, {"drains": [drain]})
    objects = [*hub()[:-1], moves]
    found = shown(objects)
    assert found is not None
    (line,) = queue_lines(found, everything=False)
    assert line == (
        "  c1 is drained (patch) until 2026-06-01T13:00:00Z: 1 left (argocd/a); not"
        " paced, so they stay:"
        " argocd/batch; the end will not be met"
    )
    assert shown(objects, cluster="c2") is None


def test_of_many_on_a_drained_cluster_a_few_are_named_and_all_are_counted() -> None:
    """The ConfigMap names some of them, or none where it has no room."""
    names = [f"argocd/{letter}" for letter in "abcdefg"]
    some = drained(
        "c1", until=SECONDS + 3600, count=150, left=names, stays=names, staysCount=120, late=False
    )
    none = drained(
        "c2", until=SECONDS + 3600, count=150, left=[], stays=[], staysCount=120, late=False
    )
    moves = paced_moves({"moves": []}, {"waiting": [], "omitted": 4000}, {"drains": [some, none]})
    found = shown([*hub()[:-1], moves])
    assert found is not None
    first = "argocd/a, argocd/b, argocd/c, argocd/d, argocd/e"
    until, stay = "(patch) until 2026-06-01T13:00:00Z", f"not paced, so they stay: {first}"
    assert list(queue_lines(found, everything=False)) == [
        f"  c1 is drained {until}: 150 left ({first} and 145 more); {stay} and 115 more",
        f"  c2 is drained {until}: 150 left; not paced, so they stay: 120",
        "  and 4000 more that wait, with a smaller gain; there is no room to name them",
    ]


PLANNED = {
    "c1": [{"placement": "argocd/app-03", "to": "c2"}, {"placement": "argocd/app-11", "to": "c3"}],
    "c2": [{"placement": "argocd/app-20", "to": "c3"}],
}


def refuged() -> list[Object]:
    """Three clusters. app-20 is being moved to c1 and has its refuge beside that; app-30 has
    none.
    """
    where = {"app-03": "c1", "app-11": "c1", "app-20": "c2", "app-30": "c2"}
    return [
        *joined("c1", "c2", "c3"),
        *(score(name, "cpu", 50) for name in ("c1", "c2", "c3")),
        global_set(),
        binding(),
        scorer("cpu"),
        *(with_refuges(name, "cpu") for name in where),
        *(decision(name, on) for name, on in where.items()),
        moves_score("c1", app_20=100),
        moves_score("c2", app_03=50, app_20=-100),
        moves_score("c3", app_11=50, app_20=50),
    ]


def overview(only: Filter | None = None, **more: Any) -> Overview:
    return build(inputs_of(refuged(), **more), only)


def planned(view: Overview) -> dict[str, Any]:
    found = msgspec.json.decode(msgspec.json.encode(document(view).refuges or []))
    return {item["cluster"]: item["moves"] for item in found}


def test_the_plan_is_shown_by_the_cluster_that_fails() -> None:
    """Items of moves are none of it."""
    view = overview()
    assert planned(view) == PLANNED
    text = status_text(view, everything=False)
    assert (
        "\nRefuges\n  if c1 fails: app-03 -> c2, app-11 -> c3\n  if c2 fails: app-20 -> c3\n"
        in text
    )


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (Filter(placement="app-11"), {"c1": PLANNED["c1"][1:]}),
        (Filter(cluster="c1"), {"c1": PLANNED["c1"]}),
        (Filter(cluster="c2"), {"c1": PLANNED["c1"][:1], "c2": PLANNED["c2"]}),
        (Filter(placement="app-30"), {}),
    ],
)
def test_a_part_of_the_plan(only: Filter, expected: dict[str, Any]) -> None:
    """One application; or who leaves a cluster, and who comes."""
    assert planned(overview(only)) == expected


@pytest.mark.parametrize("part", [HubPart.SCORES, HubPart.DECISIONS])
def test_without_scores_or_decisions_there_is_no_plan(part: HubPart) -> None:
    """And without refuges no such part."""
    view = overview(unread=[part])
    assert not document(view).refuges
    assert "Refuges" not in status_text(view, everything=False)
