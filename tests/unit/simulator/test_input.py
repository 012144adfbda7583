"""Input that no hub could hold: one exception type, with what, where and what instead."""

import re
from datetime import datetime
from typing import Any

import pytest

from gitops_dsf.simulator import SimulatorInputError, explain, simulate, with_defaults
from tests.unit.simulator.hub import GROUP, NOW, cluster, decision, hub, placement, plain, score


def refused(objects: Any, match: str, *, reference: Any = "ns/p", now: Any = NOW) -> None:
    with pytest.raises(SimulatorInputError, match=re.escape(match)):
        simulate(objects, reference, now)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "objects[0] has no kind"),
        ({"kind": 7}, "objects[0] has kind 7"),
        (
            {"kind": "Pod", "metadata": {"name": "x"}},
            "objects[0] (Pod x) has kind 'Pod'; the simulator reads",
        ),
        ({"kind": "Placement"}, "objects[0]: Object missing required field `metadata`"),
        ({"kind": "Placement", "metadata": {}}, "missing required field `name` at `metadata`"),
        (
            {"kind": "Placement", "metadata": {"name": "p"}},
            "objects[0] (Placement p) needs metadata.namespace",
        ),
        (
            placement(numberOfClusters="3"),
            "(Placement ns/p): Expected `int | null`, got `str` at `spec.numberOfClusters`",
        ),
        (placement(numberOfClusters=2**40), "at `spec.numberOfClusters`"),
        (cluster("c1", labels={"a": 1}), "(ManagedCluster c1): Expected `str`, got `int`"),  # type: ignore[dict-item]
        (
            cluster("c1", taints=[{"key": "k", "timeAdded": "yesterday"}]),
            "at `spec.taints[0].timeAdded`",
        ),
        (
            cluster("c1", taints=[{"key": "k", "timeAdded": "2026-01-01T00:00:00"}]),
            "at `spec.taints[0].timeAdded`",
        ),
        (
            score("c1", a="high"),
            "(AddOnPlacementScore c1/r): Expected `int`, got `str` at `status.scores[0].value`",
        ),  # type: ignore[arg-type]
        (score("c1", until="soon", a=1), "at `status.validUntil`"),
        ({"kind": "List", "items": [7]}, "objects[0] is int, not a dict"),
    ],
)
def test_bad_objects(document: Any, message: str) -> None:
    """The message names the object, the field and what was expected."""
    refused([document], message)


def test_an_object_twice() -> None:
    """A hub has one object of a kind and name."""
    refused([placement(), placement()], "objects[1] (Placement ns/p) appears twice")
    refused([cluster("c1"), cluster("c1")], "objects[1] (ManagedCluster c1) appears twice")
    refused(
        [score("c1", a=1), score("c1", b=1)], "objects[1] (AddOnPlacementScore c1/r) appears twice"
    )
    refused(
        [decision("c1"), decision("c1")],
        "objects[1] (PlacementDecision ns/p-decision-1) appears twice",
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *(
            ({"objects": each}, f"a list of Kubernetes objects as dicts, not {type(each).__name__}")
            for each in (None, "text", {"kind": "Placement"}, 7)
        ),
        *(
            ({"reference": each}, "placement must be written as 'namespace/name'")
            for each in ("p", "/p", "ns/", "a/b/c", "", None, 7)
        ),
        ({"reference": "ns/q"}, "there is no Placement ns/q; Placements given: ns/p"),
        *(
            ({"now": each}, "now is ")
            for each in ("yesterday", "2026-06-01T00:00:00", 7, datetime(2026, 6, 1))  # noqa: DTZ001
        ),
    ],
)
def test_what_is_asked_for_must_be_there(given: dict[str, Any], message: str) -> None:
    """The objects are a list, a Placement is namespace/name, and a time has a zone."""
    refused(**{"objects": hub(placement()), **given}, match=message)


def test_lists_are_opened() -> None:
    """What kubectl prints for several objects is one List."""
    listed = {"apiVersion": "v1", "kind": "List", "items": hub(cluster("c1"), placement())}
    assert simulate([listed], "ns/p", NOW).ranked == ("c1",)


def test_input_is_not_changed() -> None:
    """Objects belong to the caller."""
    objects = hub(cluster("c1"), placement())
    copy = [repr(found) for found in objects]
    plain(simulate(objects, "ns/p", NOW))
    with_defaults(objects)
    assert [repr(found) for found in objects] == copy


def test_explain_wants_a_known_cluster() -> None:
    """The message names it."""
    verdict = simulate(hub(cluster("c1"), placement()), "ns/p", NOW)
    with pytest.raises(SimulatorInputError, match="there is no ManagedCluster 'c9'"):
        explain(verdict, "c9")


@pytest.mark.parametrize(
    "spec", [{"prioritizerPolicy": 7}, {"tolerations": [7]}, {"decisionStrategy": 7}]
)
def test_defaults_refuse_other_shapes(spec: dict[str, Any]) -> None:
    """A spec that is not a Placement's is named."""
    with pytest.raises(SimulatorInputError, match="spec is not shaped as a Placement's"):
        with_defaults([placement(**spec)])


def test_defaults_leave_what_is_written() -> None:
    labels = {"env": "prod"}
    policy = {"configurations": [{}, {"weight": 0, "scoreCoordinate": {"builtIn": "Steady"}}]}
    strategy = {"other": 1, "groupStrategy": {"decisionGroups": [{"groupName": "a"}]}}
    spec = {
        "prioritizerPolicy": policy,
        "decisionStrategy": strategy,
        "tolerations": [{"key": "k", "operator": None}],
    }
    documents = [
        {"kind": "ManagedCluster", "metadata": {"name": "c1", "labels": labels}},
        {"kind": "Placement", "metadata": {"name": "p"}, "spec": spec},
        {"kind": "Placement", "metadata": {"name": "q"}, "spec": {"decisionStrategy": {}}},
        {"kind": "Pod"},
        {"kind": "Placement", "spec": {"prioritizerPolicy": {"mode": "Exact"}}},
    ]
    assert with_defaults([{"kind": "Placement"}]) == [{"kind": "Placement", "spec": {}}]
    one, two, three, four, five = with_defaults(documents)
    assert five["spec"] == {"prioritizerPolicy": {"mode": "Exact"}}
    assert one["metadata"]["labels"] == {"env": "prod", f"{GROUP}/clusterset": "default"}
    assert two["spec"] == {
        "prioritizerPolicy": {
            "mode": "Additive",
            "configurations": [
                {"weight": 1},
                {"weight": 0, "scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}},
            ],
        },
        "decisionStrategy": {
            "other": 1,
            "groupStrategy": {
                "clustersPerDecisionGroup": "100%",
                "decisionGroups": [{"groupName": "a"}],
            },
        },
        "tolerations": [{"key": "k", "operator": "Equal"}],
    }
    assert three["spec"] == {"decisionStrategy": {}}
    assert four == {"kind": "Pod"}
    assert documents[0]["metadata"]["labels"] == {"env": "prod"}, "the input is not changed"
