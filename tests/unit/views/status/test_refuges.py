"""Where applications go when a cluster fails, as status shows it."""

from typing import Any

import msgspec
import pytest

from gitops_dsf.cli.status_text import status_text
from gitops_dsf.views.status import Filter, Overview, Part, build
from gitops_dsf.views.status.model import document
from tests.support.hubobjects import (
    Object,
    addon,
    binding,
    cluster,
    decision,
    global_set,
    score,
    scorer,
)
from tests.support.overviews import inputs_of
from tests.support.refuges import moves_score, with_refuges

PLANNED = {
    "c1": [{"placement": "argocd/app-03", "to": "c2"}, {"placement": "argocd/app-11", "to": "c3"}],
    "c2": [{"placement": "argocd/app-20", "to": "c3"}],
}


def hub() -> list[Object]:
    """Three clusters. app-20 is being moved to c1 and has its refuge beside that; app-30 has none."""
    where = {"app-03": "c1", "app-11": "c1", "app-20": "c2", "app-30": "c2"}
    return [
        *(
            item
            for name in ("c1", "c2", "c3")
            for item in (cluster(name), addon(name), score(name, "cpu", 50))
        ),
        global_set(),
        binding(),
        scorer("cpu"),
        *(with_refuges(name, "cpu") for name in where),
        *(decision(name, on) for name, on in where.items()),
        moves_score("c1", app_20=100),
        moves_score("c2", app_03=50, app_20=-100),
        moves_score("c3", app_11=50, app_20=50),
    ]


def shown(only: Filter | None = None, **more: Any) -> Overview:
    return build(inputs_of(hub(), **more), only)


def planned(view: Overview) -> dict[str, Any]:
    found = msgspec.json.decode(msgspec.json.encode(document(view).refuges or []))
    return {item["cluster"]: item["moves"] for item in found}


def test_the_plan_is_shown_by_the_cluster_that_fails() -> None:
    """Items of moves are none of it."""
    view = shown()
    assert planned(view) == PLANNED
    text = status_text(view, everything=False)
    assert "\nRefuges\n  if c1 fails: app-03 -> c2, app-11 -> c3\n  if c2 fails: app-20 -> c3\n" in text


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
    assert planned(shown(only)) == expected


@pytest.mark.parametrize("part", [Part.SCORES, Part.DECISIONS])
def test_without_scores_or_decisions_there_is_no_plan(part: Part) -> None:
    """And without refuges no such part."""
    view = shown(unread=[part])
    assert not document(view).refuges
    assert "Refuges" not in status_text(view, everything=False)
