"""Why in, why out, and the nearest score that flips it."""

import copy
from typing import Any

import pytest

from gitops_dsf.simulator import explain, margins
from tests.unit.simulator.hub import (
    GROUP,
    NOW,
    cel,
    cluster,
    decision,
    exact,
    placement,
    plain,
    run,
    score,
)

SCORES = {"c1": 10, "c2": 20, "c3": 30}


def three(*, weight: int = 1, number: int = 1) -> list[dict[str, Any]]:
    return [
        *(cluster(name) for name in SCORES),
        *(score(name, a=value) for name, value in SCORES.items()),
        placement(numberOfClusters=number, prioritizerPolicy=exact(("r/a", weight))),
    ]


@pytest.mark.parametrize("weight", [1, 2, 3, -1, -4])
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("name", SCORES)
def test_the_nearest_score_really_flips(weight: int, number: int, name: str) -> None:
    """Publishing the needed score reverses the decision, and one step less does not."""
    objects = three(weight=weight, number=number)
    before = explain(run(*objects), name)
    flip = before.flips[0]
    step = 1 if flip.change > 0 else -1

    def after(value: int) -> bool:
        changed = copy.deepcopy(objects)
        for found in changed:
            if found["kind"] == "AddOnPlacementScore" and found["metadata"]["namespace"] == name:
                found["status"]["scores"][0]["value"] = value
        return explain(run(*changed), name).selected

    assert after(flip.needed) is not before.selected
    assert after(flip.needed - step) is before.selected


def test_unreachable_scores_are_said() -> None:
    """No score beats 100 points of Steady with weight 3."""
    objects = [
        cluster("c1"),
        cluster("c2"),
        score("c1", a=0),
        score("c2", a=50),
        decision("c1"),
        placement(numberOfClusters=1, prioritizerPolicy=exact(("r/a", 1), ("Steady", 3))),
    ]
    found = explain(run(*objects), "c2")
    assert found.nearest is None
    assert str(found.flips[0]) == "not by AddOn/r/a alone: it is 50 and would have to be 301"


@pytest.mark.parametrize(
    ("extra", "note"),
    [
        ([], "no AddOnPlacementScore c1/r, counts as 0"),
        ([score("c1", b=1)], "AddOnPlacementScore c1/r has no score 'a', counts as 0"),
        (
            [score("c1", until="2026-05-31T00:00:00Z", a=9)],
            "expired at 2026-05-31T00:00:00+00:00, counts as 0",
        ),
        ([score("c1", until="2026-06-02T00:00:00Z", a=9)], ""),
    ],
)
def test_contributions_say_what_is_odd(extra: list[dict[str, Any]], note: str) -> None:
    """A score that is missing or expired is told from a real 0."""
    found = explain(
        run(cluster("c1"), *extra, placement(prioritizerPolicy=exact(("r/a", 2)))), "c1"
    )
    assert [part.note for part in found.contributions] == [note]
    assert [part.points for part in found.contributions] == [18 if not note else 0]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (cluster("x", labels={f"{GROUP}/clusterset": "other"}), "its label says 'other'"),
        ({"kind": "ManagedCluster", "metadata": {"name": "x"}}, "it has no clusterset label"),
        (cluster("x", metadata={"deletionTimestamp": NOW}), "the ManagedCluster is being deleted"),
    ],
)
def test_not_even_a_candidate(document: dict[str, Any], reason: str) -> None:
    """A cluster outside the eligible sets is told why."""
    found = explain(run(document, cluster("c1"), placement()), "x")
    assert not found.selected
    assert reason in found.reason


def test_an_explanation_as_data() -> None:
    """Every key, as `explain -o json` prints it."""
    assert plain(explain(run(*three()), "c1")) == {
        "placement": "ns/p",
        "cluster": "c1",
        "selected": False,
        "reason": "rank 3 of 3 with 10 points; the last that is selected is c3 with 30",
        "filter": None,
        "rank": 3,
        "total": 3,
        "points": 10,
        "contributions": [
            {"name": "AddOn/r/a", "weight": 1, "score": 10, "points": 10, "note": ""}
        ],
        "rival": "c3",
        "rivalPoints": 30,
        "margin": 20,
        "flips": [{"name": "AddOn/r/a", "score": 10, "needed": 30, "reachable": True}],
    }


@pytest.mark.parametrize(
    ("values", "number", "margins_of"),
    [
        ({"c1": 10, "c2": 20, "c3": 30}, 1, {"c3": 10, "c2": 10, "c1": 20}),
        ({"c1": 10, "c2": 20, "c3": 30}, 2, {"c3": 20, "c2": 10, "c1": 10}),
        ({"c1": 20, "c2": 20, "c3": 20}, 1, {"c1": 1, "c2": 1, "c3": 1}),
        ({"c1": 10, "c2": 30, "c3": 30}, 1, {"c2": 1, "c3": 1, "c1": 20}),
        ({"c1": 29, "c2": 30, "c3": 0}, 1, {"c2": 1, "c1": 1, "c3": 31}),
    ],
)
def test_margins(values: dict[str, int], number: int, margins_of: dict[str, int]) -> None:
    """At equal points the name decides, so one side of a tie needs one point more."""
    objects = [
        *(cluster(name) for name in values),
        *(score(name, a=value) for name, value in values.items()),
        placement(numberOfClusters=number, prioritizerPolicy=exact(("r/a", 1))),
    ]
    verdict = run(*objects)
    assert margins(verdict) == margins_of
    assert {name: explain(verdict, name).margin for name in values} == margins_of


def test_a_score_outside_of_what_its_scorer_publishes_is_no_flip() -> None:
    """c3 has 30, and c2, which is not selected, 20."""
    verdict = run(*three())
    whole = explain(verdict, "c3")
    (flip,) = whole.flips
    resource = flip.name.split("/")[1]
    narrow = explain(verdict, "c3", spans={resource: (flip.needed + 1, 100), "other": (0, 1)})
    assert (whole.nearest, narrow.nearest) == (flip, None)
    assert str(narrow.flips[0]) == (
        f"not by {flip.name} alone: it is {flip.score} and would have to be"
        f" {flip.needed}, which its"
        " scorer never publishes"
    )
    assert explain(verdict, "c3", spans={resource: (flip.needed, 100)}).nearest is not None


@pytest.mark.parametrize(
    ("name", "words"), [("c1", "keeps its decision"), ("c2", "has no decision")]
)
def test_why_a_cluster_is_in_a_decision_that_is_not_made_again(name: str, words: str) -> None:
    document = placement()
    document["metadata"]["annotations"] = {f"{GROUP}/experimental-scheduling-disable": "true"}
    found = explain(run(cluster("c1"), cluster("c2"), decision("c1"), document), name)
    assert found.selected is (name == "c1")
    assert found.reason == (
        f"the cluster {words}: scheduling is disabled by annotation: PlacementDecisions"
        " stay as they are"
    )


def test_why_a_cluster_is_in_a_decision_that_is_unknown() -> None:
    found = explain(run(cluster("c1"), placement(predicates=cel("'%d'.format([1]) == '1'"))), "c1")
    assert found.reason.startswith('unknown: CEL expression "')


def test_a_score_whose_weights_cancel_out_flips_nothing() -> None:
    objects = three()
    objects[-1]["spec"]["prioritizerPolicy"] = exact(("r/a", 1), ("r/a", -1))
    assert explain(run(*objects), "c2").flips == ()
