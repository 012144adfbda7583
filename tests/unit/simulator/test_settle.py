"""What is left on a hub when all Placements have been decided: their PlacementDecisions."""

from datetime import datetime

from gitops_dsf.simulator import HubState
from gitops_dsf.simulator.scheduler import settle
from tests.unit.simulator.hub import GROUP, NOW, cluster, decision, exact, hub, placement

AT = datetime.fromisoformat(NOW)
DISABLE = {f"{GROUP}/experimental-scheduling-disable": "true"}


def test_pages_that_are_not_needed_any_more_go_and_those_of_other_placements_stay() -> None:
    disabled, elsewhere = placement(numberOfClusters=1), placement(numberOfClusters=1)
    disabled["metadata"] = {"name": "q", "namespace": "ns", "annotations": DISABLE}
    elsewhere["metadata"] = {"name": "q", "namespace": "other", "annotations": DISABLE}
    state = HubState.build(
        hub(
            cluster("c1"),
            cluster("c2"),
            placement(numberOfClusters=1),
            decision("c1"),
            decision("c2", name="p-decision-2"),
            disabled,
            decision("c2", name="q-decision-1", placement="q"),
            elsewhere,
            decision("c1", name="q-decision-1", placement="q", namespace="other"),
        )
    )
    verdicts, decisions = settle(state, ("ns/p", "ns/q", "other/q"), AT)
    assert verdicts.keys() == {"ns/p", "ns/q", "other/q"}
    found = {
        (item.metadata.namespace, item.metadata.name): (item.placement, *item.cluster_names)
        for item in decisions
    }
    assert found == {
        ("ns", "p-decision-1"): ("p", "c1"),
        ("ns", "q-decision-1"): ("q", "c2"),
        ("other", "q-decision-1"): ("q", "c1"),
    }
    assert len(decisions) == 3


def test_only_a_placement_that_moves_is_decided_once_more_from_where_it_is_then() -> None:
    """`q` stays where it is: in its next decision it would leave c1 because `p` is there as well."""
    balance = exact(("Balance", 1))
    moving = placement(
        numberOfClusters=1,
        predicates=[{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"a": "b"}}}}],
    )
    staying = placement(numberOfClusters=1, prioritizerPolicy=balance)
    staying["metadata"] = {"name": "q", "namespace": "ns"}
    documents = hub(
        cluster("c1", labels={"a": "b"}),
        cluster("c2"),
        moving,
        staying,
        decision("c1", name="q-decision-1", placement="q"),
    )
    verdicts, decisions = settle(HubState.build(documents), ("ns/p", "ns/q"), AT)
    assert {key: (verdict.current, verdict.chosen) for key, verdict in verdicts.items()} == {
        "ns/p": ({"c1"}, {"c1"}),
        "ns/q": ({"c1"}, {"c1"}),
    }
    after = HubState.build([*documents, decision("c1")])
    assert settle(after, ("ns/q",), AT)[0]["ns/q"].chosen == {"c2"}
    assert {item.placement: item.cluster_names for item in decisions} == {"p": ("c1",), "q": ("c1",)}
