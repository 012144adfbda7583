"""Each trap of OCM's scheduler that the oracle shows only in passing, stated on its own."""

from datetime import datetime
from typing import Any

import pytest

from gitops_dsf.simulator import HubState, Outcome, simulate
from gitops_dsf.simulator.scheduler import schedule_all
from tests.unit.simulator.hub import (
    GROUP,
    NOW,
    cel,
    cluster,
    decision,
    exact,
    hub,
    placement,
    plain,
    run,
    score,
)


@pytest.mark.parametrize(
    ("written", "sizes"),
    [
        *(("50%", [3, 2]), (2, [2, 2, 1]), ("33.4%", [2, 2, 1]), ("1%", [1] * 5)),
        *((found, [5]) for found in (0, -1, 5, 9, "0%", "-50%", "100%", "1e999%", None)),
    ],
)
def test_group_sizes(written: int | str | None, sizes: list[int]) -> None:
    """Percentages round up; nothing and too much mean all."""
    strategy = {"groupStrategy": {"clustersPerDecisionGroup": written}}
    verdict = run(
        *(cluster(f"c{number}") for number in range(5)), placement(decisionStrategy=strategy)
    )
    assert [len(group.clusters) for group in verdict.groups] == sizes


def test_percentage_rounds_as_floats_do() -> None:
    """7 % of 100 clusters are 8, because 7/100*100 is a little more than 7."""
    strategy = {"groupStrategy": {"clustersPerDecisionGroup": "7%"}}
    verdict = run(
        *(cluster(f"c{number:03}") for number in range(100)), placement(decisionStrategy=strategy)
    )
    assert len(verdict.groups[0].clusters) == 8


def test_deleting_placement_is_not_scheduled() -> None:
    """A deletionTimestamp keeps decisions as they are, and a negative number does not panic."""
    document = placement(numberOfClusters=-1)
    document["metadata"]["deletionTimestamp"] = NOW
    verdict = run(cluster("c1"), decision("c9"), document)
    assert (verdict.outcome, verdict.after) == (Outcome.DELETING, {"p-decision-1": ("c9",)})
    assert verdict.notes == ("the Placement is being deleted: OCM does not schedule it",)


def test_a_bad_selector_of_a_cluster_set_ends_the_pass() -> None:
    objects = hub(cluster("c1"), placement())
    bad = {"matchExpressions": [{"key": "k", "operator": "in", "values": ["v"]}]}
    objects[0]["spec"]["clusterSelector"] = {"selectorType": "LabelSelector", "labelSelector": bad}
    verdict = simulate(objects, "ns/p", NOW)
    assert verdict.outcome is Outcome.FAILED
    assert str(verdict.sync_error).startswith('failed to get clusters from ClusterSet "s1": ')


def test_what_a_verdict_without_a_decision_has_as_data() -> None:
    objects = hub(cluster("c1"), decision("c9"), placement())
    objects[0]["spec"]["clusterSelector"] = {"selectorType": "Nonsense"}
    error = 'failed to get clusters from ClusterSet "s1": selectorType is not right: Nonsense'
    assert plain(simulate(objects, "ns/p", NOW)) == {
        "placement": "ns/p",
        "outcome": "Failed",
        "evicted": [],
        "notes": [f"OCM ends its pass before scheduling and keeps the decisions: {error}"],
        "clusterSets": [],
        "afterSync": {"p-decision-1": 1},
        "syncError": error,
    }
    unknown = plain(run(cluster("c1"), placement(predicates=cel("'%d'.format([1]) == '1'"))))
    assert "syncError" not in unknown
    panics = plain(run(cluster("c1"), placement(numberOfClusters=-1)))
    assert panics.keys() == {"placement", "outcome", "evicted", "notes", "panic"}


@pytest.mark.parametrize(
    ("taint", "toleration", "reason"),
    [
        (
            {"effect": "NoSelect"},
            {"key": "other", "operator": "Exists"},
            "taint k:NoSelect is not tolerated",
        ),
        (
            {"effect": "NoSelectIfNew"},
            {"key": "other", "operator": "Exists"},
            (
                "taint k:NoSelectIfNew is not tolerated, and the cluster is not in the"
                " current decisions"
            ),
        ),
        (
            {"effect": "NoSelect"},
            {"key": "k", "operator": "Exists", "tolerationSeconds": 60},
            (
                "taint k:NoSelect is not tolerated: it has no timeAdded, so"
                " tolerationSeconds have always run"
                " out"
            ),
        ),
        (
            {"effect": "NoSelect", "timeAdded": "2026-05-31T23:00:00Z"},
            {"key": "k", "operator": "Exists", "tolerationSeconds": 300},
            (
                "taint k:NoSelect is not tolerated since 2026-05-31T23:05:00+00:00"
                " (tolerationSeconds 300)"
            ),
        ),
        (
            {"effect": "NoSelect", "value": "v"},
            {"key": "k", "operator": "Like", "value": "v"},
            "taint k=v:NoSelect is not tolerated",
        ),
        (
            {"effect": "NoSelect"},
            {"key": "k", "operator": "Exists", "effect": "NoSelectIfNew"},
            "taint k:NoSelect is not tolerated",
        ),
    ],
)
def test_why_a_taint_is_not_tolerated(
    taint: dict[str, Any], toleration: dict[str, Any], reason: str
) -> None:
    verdict = run(
        cluster("c1", taints=[{"key": "k", **taint}]), placement(tolerations=[toleration])
    )
    assert verdict.dropped["c1"].reason == reason


def test_the_first_toleration_that_ends_decides_when_ocm_looks_again() -> None:
    """Of all taints of all selected clusters, also of clusters with several taints."""

    def taint(key: str, minute: int) -> dict[str, str]:
        return {"key": key, "effect": "NoSelect", "timeAdded": f"2026-05-31T23:{minute}:00Z"}

    tolerations = [
        {"key": "a", "operator": "Exists", "tolerationSeconds": 600},
        {"key": "b", "operator": "Exists", "tolerationSeconds": 1200},
        {"key": "c", "operator": "Exists"},
    ]
    verdict = run(
        cluster("c1", taints=[taint("b", 58), taint("a", 57)]),
        cluster("c2", taints=[taint("a", 56), taint("c", 10)]),
        cluster("c3", taints=[{"key": "b", "effect": "PreferNoSelect"}, taint("a", 55)]),
        cluster("c4", taints=[taint("a", 51), {"key": "x", "effect": "NoSelect"}]),
        decision("c1", "c2", "c4"),
        placement(tolerations=tolerations),
    )
    assert verdict.requeue_at is not None
    assert verdict.requeue_at.isoformat() == "2026-06-01T00:06:00+00:00"


def test_groups_select_by_claims_and_labels() -> None:
    claims = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    groups = [
        {"groupName": "zone-a", "groupClusterSelector": {"claimSelector": claims}},
        {"groupName": "rest"},
    ]
    verdict = run(
        cluster("c1", status={"clusterClaims": [{"name": "zone", "value": "a"}]}),
        cluster("c2", status={"clusterClaims": [{"name": "zone", "value": "b"}]}),
        placement(decisionStrategy={"groupStrategy": {"decisionGroups": groups}}),
    )
    assert [(group.name, group.clusters) for group in verdict.groups] == [
        ("zone-a", ("c1",)),
        ("rest", ("c2",)),
    ]
    labels = {
        f"{GROUP}/placement": "p",
        f"{GROUP}/decision-group-name": "zone-a",
        f"{GROUP}/decision-group-index": "0",
    }
    assert verdict.decisions[0].to_object() == {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "PlacementDecision",
        "metadata": {"name": "p-decision-1", "namespace": "ns", "labels": labels},
        "status": {"decisions": [{"clusterName": "c1", "reason": ""}]},
    }


@pytest.mark.parametrize(
    ("decided", "words"),
    [
        (("c1",), " empties the decisions: evicted are c1"),
        (("c1", "c2", "c3", "c4", "c5"), " empties the decisions: evicted are c1, c2, c3, c4, c5"),
        (
            ("c1", "c2", "c3", "c4", "c5", "c6"),
            " empties the decisions: evicted are c1, c2, c3, c4, c5 and others",
        ),
        ((), ": OCM writes no decisions for the rest until it is repaired"),
    ],
)
def test_the_note_on_a_mistake(decided: tuple[str, ...], words: str) -> None:
    verdict = run(cluster("c1"), decision(*decided), placement(prioritizerPolicy=exact(("X", 1))))
    assert verdict.notes == (f"PlacementMisconfigured (incorrect builtin prioritizer: X){words}",)


def test_the_notes_on_scores() -> None:
    verdict = run(
        cluster("c1"),
        cluster("c2"),
        score("c1", until="2026-05-31T00:00:00Z", a=1),
        score("c2", until="2026-06-01T01:00:00Z", a=1),
        placement(prioritizerPolicy=exact(("r/a", 1))),
    )
    assert verdict.notes == (
        (
            "AddOnPlacementScores c1/r expired: each counts as 0, which beats every"
            " negative score, and OCM"
            " repeats its pass with growing delay until the score is renewed"
        ),
        "the next score expires at 2026-06-01T01:00:00+00:00; OCM notices up to 600 s later",
    )


def test_the_first_of_several_scores_that_expire() -> None:
    """Only scores of clusters that passed the filters count."""
    taint = {"key": "k", "effect": "NoSelect"}
    verdict = run(
        cluster("c0", taints=[taint]),
        cluster("c1"),
        cluster("c2"),
        score("c0", until="2026-06-01T00:10:00Z", a=1),
        score("c1", until="2026-06-01T00:30:00Z", a=1),
        score("c2", until="2026-06-01T00:20:00Z", a=1),
        score("c1", "q", until="2026-06-01T00:40:00Z", b=1),
        placement(prioritizerPolicy=exact(("r/a", 1), ("q/b", 1))),
    )
    assert verdict.next_expiry is not None
    assert verdict.next_expiry.isoformat() == "2026-06-01T00:20:00+00:00"


def test_each_predicate_has_its_reason() -> None:
    """It says which requirement failed, and what the cluster has."""
    labels = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"a": "b"}}}}
    one = run(cluster("c1", labels={"a": "c"}), placement(predicates=[labels]))
    assert one.dropped["c1"].reason == "label a in (b) does not hold: it is 'c'"
    predicates = [labels, *cel("managedCluster.metadata.name == 'c9'")]
    assert run(cluster("c1"), placement(predicates=predicates)).dropped["c1"].reason == (
        "predicates[0]: label a in (b) does not hold: the cluster does not have it;"
        " predicates[1]: CEL"
        " expression \"managedCluster.metadata.name == 'c9'\" is false"
    )


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
    scheduled = schedule_all(state, ("ns/p", "ns/q", "other/q"), AT)
    assert scheduled.verdicts.keys() == {"ns/p", "ns/q", "other/q"}
    found = {
        (item.metadata.namespace, item.metadata.name): (item.placement, *item.cluster_names)
        for item in scheduled.decisions
    }
    assert found == {
        ("ns", "p-decision-1"): ("p", "c1"),
        ("ns", "q-decision-1"): ("q", "c2"),
        ("other", "q-decision-1"): ("q", "c1"),
    }
    assert len(scheduled.decisions) == 3


def test_only_a_placement_that_moves_is_decided_once_more_from_where_it_is_then() -> None:
    """`q` stays where it is: in its next decision it would leave c1 because `p` is there as
    well.
    """
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
    scheduled = schedule_all(HubState.build(documents), ("ns/p", "ns/q"), AT)
    decided = {
        key: (verdict.current, verdict.chosen) for key, verdict in scheduled.verdicts.items()
    }
    assert decided == {
        "ns/p": ({"c1"}, {"c1"}),
        "ns/q": ({"c1"}, {"c1"}),
    }
    after = HubState.build([*documents, decision("c1")])
    assert schedule_all(after, ("ns/q",), AT).verdicts["ns/q"].chosen == {"c2"}
    assert {item.placement: item.cluster_names for item in scheduled.decisions} == {
        "p": ("c1",),
        "q": ("c1",),
    }
