"""What is kept of a PlacementSummary."""

from typing import Any

from gitops_dsf.hub.placements import PlacementSummary, RankedBy
from gitops_dsf.reconciler.hub.kinds import placement
from tests.unit.reconciler.freshness.hubobjects import raw


def read(**spec: Any) -> PlacementSummary:
    return placement(raw({"metadata": {"name": "web", "uid": "u"}, "spec": spec}))[1]


def predicate(**selector: Any) -> dict[str, Any]:
    return {"requiredClusterSelector": selector}


def test_it_ranks_by_scores_with_a_weight() -> None:
    def configuration(kind: str, weight: int, **coordinate: Any) -> dict[str, Any]:
        return {"scoreCoordinate": {"type": kind, **coordinate}, "weight": weight}

    add_on = {"addOn": {"resourceName": "cpu", "scoreName": "free"}}
    policy = [
        configuration("BuiltIn", 1, builtIn="Steady"),
        configuration("AddOn", 0, **add_on),
        configuration("AddOn", 1, **add_on),
    ]
    found = read(prioritizerPolicy={"configurations": policy}, numberOfClusters=2)
    assert found.ranked_by == (RankedBy(resource="cpu", dimension="free", weight=1),)
    assert (found.uid, found.wanted) == ("u", 2)


def test_predicates_are_alternatives_whose_parts_must_all_hold() -> None:
    zone = {"labelSelector": {"matchLabels": {"zone": "x"}}}
    gpu = {"claimSelector": {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["a100"]}]}}
    assert read().may_choose(labels={}, claims={})
    assert read(predicates=[predicate(**zone)]).may_choose(labels={"zone": "x"}, claims={})
    assert not read(predicates=[predicate(**zone)]).may_choose(labels={}, claims={})
    assert not read(predicates=[predicate(**zone, **gpu)]).may_choose(labels={"zone": "x"}, claims={})
    assert read(predicates=[predicate(**zone), predicate(**gpu)]).may_choose(
        labels={}, claims={"gpu": "a100"}
    )
    assert read(
        predicates=[predicate(labelSelector={"matchExpressions": [{"key": "a", "operator": "Wrong"}]})]
    ).may_choose(labels={}, claims={})
