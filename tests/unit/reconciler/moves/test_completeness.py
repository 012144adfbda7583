"""When the pages of a decision are the whole of it."""

import json
from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.metadata import Metadata, OwnerReference
from gitops_dsf.hub.objects import ClusterDecision, PlacementDecision, PlacementDecisionStatus
from gitops_dsf.reconciler.moves.deletion import Blocked, ObservedPlacement, complete_decision


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
