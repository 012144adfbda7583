"""Each trap of OCM's scheduler that the oracle shows only in passing, stated on its own."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_dsf.simulator import Code, HubState, Outcome, simulate
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

UNREACHABLE = f"{GROUP}/unreachable"


def test_missing_score_beats_a_negative_one() -> None:
    """No score counts as 0, the middle of the range."""
    verdict = run(
        cluster("c1"),
        cluster("c2"),
        score("c1", a=-1),
        placement(numberOfClusters=1, prioritizerPolicy=exact(("r/a", 1))),
    )
    assert verdict.ranked == ("c2",)


def test_missing_score_wins_under_a_negative_weight() -> None:
    """With a negative weight the cluster without data comes first."""
    verdict = run(
        cluster("c1"),
        cluster("c2"),
        score("c1", a=5),
        placement(numberOfClusters=1, prioritizerPolicy=exact(("r/a", -1))),
    )
    assert verdict.ranked == ("c2",)


@pytest.mark.parametrize(("now", "value"), [("2026-06-01T00:00:00Z", 7), ("2026-06-01T00:00:00.000001Z", 0)])
def test_score_is_valid_to_the_very_end(now: str, value: int) -> None:
    """Now == validUntil is valid, anything later is not."""
    verdict = run(
        cluster("c1"), score("c1", until=NOW, a=7), placement(prioritizerPolicy=exact(("r/a", 1))), now=now
    )
    assert verdict.scores == {"c1": value}


def test_offset_of_valid_until_is_honoured() -> None:
    """A validUntil of another time zone is the same moment."""
    verdict = run(
        cluster("c1"),
        score("c1", until="2026-06-01T02:30:00+02:00", a=7),
        placement(prioritizerPolicy=exact(("r/a", 1))),
        now="2026-06-01T00:31:00Z",
    )
    assert verdict.status.message == "AddOnPlacementScores c1/r expired"


def test_duplicate_addon_entries_add_up() -> None:
    """The map key holds a pointer, so both entries count."""
    verdict = run(
        cluster("c1"), score("c1", a=10), placement(prioritizerPolicy=exact(("r/a", 1), ("r/a", 2)))
    )
    assert verdict.scores == {"c1": 30}


def test_duplicate_built_in_entries_do_not() -> None:
    """Of two BuiltIn entries the last wins."""
    verdict = run(
        cluster("c1"), decision("c1"), placement(prioritizerPolicy=exact(("Steady", 5), ("Steady", 2)))
    )
    assert verdict.scores == {"c1": 200}


def test_additive_keeps_the_defaults() -> None:
    """Balance and Steady run with weight 1 unless they are configured."""
    policy = {"mode": "Additive", "configurations": exact(("Balance", 3))["configurations"]}
    verdict = run(cluster("c1"), placement(prioritizerPolicy=policy))
    assert [(result.name, result.weight) for result in verdict.prioritizers] == [
        ("Balance", 3),
        ("Steady", 1),
    ]


def test_weight_zero_is_not_even_checked() -> None:
    """An unknown built-in name of weight 0 is no mistake."""
    verdict = run(cluster("c1"), placement(prioritizerPolicy=exact(("Spread", 0))))
    assert verdict.status.code is Code.SUCCESS


def test_missing_coordinate_is_misconfigured() -> None:
    """An entry without scoreCoordinate evicts everything."""
    policy = {"mode": "Exact", "configurations": [{"weight": 1}]}
    verdict = run(cluster("c1"), decision("c1"), placement(prioritizerPolicy=policy))
    assert (verdict.status.message, verdict.evicted) == ("scoreCoordinate field is required", ("c1",))


def test_balance_counts_clusters_the_hub_does_not_have() -> None:
    """The busiest cluster sets the scale even if it is no ManagedCluster (any more)."""
    verdict = run(
        cluster("c1"),
        decision("c1", "gone", name="a", namespace="x", placement="a"),
        decision("gone", name="b", namespace="x", placement="b"),
        placement(prioritizerPolicy=exact(("Balance", 1))),
    )
    assert verdict.scores == {"c1": 0}


def test_balance_ignores_its_own_decisions() -> None:
    """The Placement's own decisions do not count, those of a namesake elsewhere do."""
    objects = [cluster("c1"), decision("c1"), placement(prioritizerPolicy=exact(("Balance", 1)))]
    assert run(*objects).scores == {"c1": 100}
    assert run(*objects, decision("c1", namespace="other")).scores == {"c1": -100}


def test_resource_without_data_is_in_the_middle() -> None:
    """A cluster that reports nothing has no entry and beats those below the midpoint."""

    def resources(cpu: Any) -> dict[str, Any]:
        return {"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}}

    verdict = run(
        cluster("big", status=resources(16)),
        cluster("none"),
        cluster("small", status=resources("4")),
        cluster("half", status={"allocatable": {"cpu": "8"}}),
        placement(prioritizerPolicy=exact(("ResourceAllocatableCPU", 1))),
    )
    assert verdict.ranked == ("big", "half", "none", "small")
    assert verdict.prioritizer_scores[0][2] == {"big": 100, "small": -100}


def test_prefer_no_select_has_no_effect() -> None:
    """The effect drops nothing and scores nothing."""
    verdict = run(
        cluster("c1", taints=[{"key": "k", "effect": "PreferNoSelect"}]), cluster("c2"), placement()
    )
    assert verdict.ranked == ("c1", "c2")


def test_toleration_seconds_count_for_no_select_if_new() -> None:
    """tolerationSeconds work for every effect, whatever the API's comment says."""
    taint = {"key": "k", "effect": "NoSelectIfNew", "timeAdded": "2026-05-31T23:59:00Z"}
    tolerations = [{"key": "k", "operator": "Exists", "tolerationSeconds": 61}]
    verdict = run(cluster("c1", taints=[taint]), placement(tolerations=tolerations))
    assert verdict.ranked == ("c1",)
    assert (
        run(
            cluster("c1", taints=[taint]), placement(tolerations=tolerations), now="2026-06-01T00:00:01Z"
        ).ranked
        == ()
    )


def test_requeue_at_the_end_of_a_toleration() -> None:
    """OCM comes back when the toleration of a selected cluster runs out, not for others."""
    taint = {"key": UNREACHABLE, "effect": "NoSelect", "timeAdded": "2026-05-31T23:59:00Z"}
    objects = [
        cluster("c1", taints=[taint]),
        placement(tolerations=[{"key": UNREACHABLE, "operator": "Exists", "tolerationSeconds": 300}]),
    ]
    requeued = run(*objects, decision("c1")).requeue_at
    assert requeued is not None
    assert requeued.isoformat() == "2026-06-01T00:04:00+00:00"
    assert run(*objects).requeue_at is None


def test_drop_reason_names_taint_and_time() -> None:
    """The reason for a taint says since when it is no longer tolerated."""
    taint = {"key": UNREACHABLE, "effect": "NoSelect", "timeAdded": "2026-05-31T23:00:00Z"}
    verdict = run(
        cluster("c1", taints=[taint]),
        placement(tolerations=[{"key": UNREACHABLE, "operator": "Exists", "tolerationSeconds": 300}]),
    )
    assert verdict.dropped["c1"].filter == "TaintToleration"
    assert (
        verdict.dropped["c1"].reason
        == f"taint {UNREACHABLE}:NoSelect is not tolerated since 2026-05-31T23:05:00+00:00 (tolerationSeconds"
        " 300)"
    )


def test_drop_reason_names_the_label() -> None:
    """The reason for a predicate says which requirement failed and what the cluster has."""
    predicates = [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"region": "eu"}}}}]
    verdict = run(cluster("c1", labels={"region": "us"}), cluster("c2"), placement(predicates=predicates))
    assert {name: drop.reason for name, drop in verdict.dropped.items()} == {
        "c1": "label region in (eu) does not hold: it is 'us'",
        "c2": "label region in (eu) does not hold: the cluster does not have it",
    }


@pytest.mark.parametrize(
    ("toleration", "message"),
    [
        ({"operator": "Equal"}, "If the key is empty, operator must be Exists."),
        (
            {"key": "k", "operator": "Exists", "value": "v"},
            "If the operator is Exists, the value should be empty.",
        ),
    ],
)
def test_contradictory_toleration_evicts_everything(toleration: dict[str, str], message: str) -> None:
    """It is Misconfigured, and existing decisions are emptied."""
    verdict = run(cluster("c1"), decision("c1"), placement(tolerations=[toleration]))
    assert verdict.misconfigured is not None
    assert verdict.misconfigured.message == f"TaintToleration:{message}"
    assert verdict.evicts_everything
    assert verdict.after == {"p-decision-1": ()}


def test_quoted_group_size_deletes_decisions_and_stays_satisfied() -> None:
    """clustersPerDecisionGroup "5" passes the CRD, deletes all decisions, and PlacementSatisfied
    stays True.
    """
    strategy = {"groupStrategy": {"clustersPerDecisionGroup": "5"}}
    verdict = run(cluster("c1"), decision("c1"), placement(decisionStrategy=strategy))
    assert verdict.satisfied is not None
    assert (verdict.satisfied.status, verdict.after, verdict.evicts_everything) == (True, {}, True)
    assert any("PlacementSatisfied stays True" in note for note in verdict.notes)


def test_groups_before_a_bad_one_remain() -> None:
    """A bad selector in the second group keeps the first group's decisions and drops the rest."""
    bad = {"labelSelector": {"matchExpressions": [{"key": "k", "operator": "in", "values": ["v"]}]}}
    groups = [
        {
            "groupName": "canary",
            "groupClusterSelector": {"labelSelector": {"matchLabels": {"canary": "yes"}}},
        },
        {"groupName": "bad", "groupClusterSelector": bad},
    ]
    verdict = run(
        cluster("c1", labels={"canary": "yes"}),
        cluster("c2"),
        placement(decisionStrategy={"groupStrategy": {"decisionGroups": groups}}),
    )
    assert verdict.after == {"p-decision-1": ("c1",)}
    assert verdict.status.code is Code.MISCONFIGURED


@pytest.mark.parametrize(
    ("written", "sizes"),
    [("50%", [3, 2]), (2, [2, 2, 1]), (0, [5]), (9, [5]), ("100%", [5]), ("1%", [1] * 5), (None, [5])],
)
def test_group_sizes(written: int | str | None, sizes: list[int]) -> None:
    """Percentages round up; nothing and too much mean all."""
    strategy = {"groupStrategy": {"clustersPerDecisionGroup": written}}
    verdict = run(*(cluster(f"c{number}") for number in range(5)), placement(decisionStrategy=strategy))
    assert [len(group.clusters) for group in verdict.groups] == sizes


def test_percentage_rounds_as_floats_do() -> None:
    """7 % of 100 clusters are 8, because 7/100*100 is a little more than 7."""
    strategy = {"groupStrategy": {"clustersPerDecisionGroup": "7%"}}
    verdict = run(*(cluster(f"c{number:03}") for number in range(100)), placement(decisionStrategy=strategy))
    assert len(verdict.groups[0].clusters) == 8


def test_decisions_are_cut_at_a_hundred_and_numbered_on() -> None:
    """Numbers go on across groups, indexes are the group's."""
    canary = {
        "groupName": "canary",
        "groupClusterSelector": {"labelSelector": {"matchLabels": {"canary": "yes"}}},
    }
    verdict = run(
        *(
            cluster(f"c{number:03}", labels={"canary": "yes"} if number < 150 else {})
            for number in range(151)
        ),
        placement(decisionStrategy={"groupStrategy": {"decisionGroups": [canary]}}),
    )
    found = [
        (item.name, item.labels[f"{GROUP}/decision-group-index"], len(item.clusters))
        for item in verdict.decisions
    ]
    assert found == [("p-decision-1", "0", 100), ("p-decision-2", "0", 50), ("p-decision-3", "1", 1)]


def test_rank_order_is_lost_in_decisions() -> None:
    """PlacementDecisions are in name order."""
    verdict = run(
        cluster("c1"),
        cluster("c2"),
        score("c1", a=1),
        score("c2", a=2),
        placement(prioritizerPolicy=exact(("r/a", 1))),
    )
    assert (verdict.ranked, verdict.decisions[0].clusters) == (("c2", "c1"), ("c1", "c2"))


def test_names_are_compared_bytewise() -> None:
    """c10 comes before c9."""
    assert run(cluster("c9"), cluster("c10"), placement(numberOfClusters=1)).ranked == ("c10",)


def test_negative_number_of_clusters_panics() -> None:
    """The verdict says what happens to the controller, and nothing else is claimed."""
    verdict = run(cluster("c1"), decision("c1"), placement(numberOfClusters=-1))
    assert verdict.outcome is Outcome.PANIC
    assert verdict.panic == "runtime error: slice bounds out of range [:-1]"
    assert verdict.evicted == ()
    assert "panics on each reconciliation of this Placement" in verdict.notes[0]
    assert "its old decision stays" in verdict.notes[0]
    assert "OPENSHIFT_ON_PANIC=crash" in verdict.notes[0]


def test_disabled_keeps_decisions() -> None:
    """The annotation freezes decisions; the verdict still says what the scheduler would select."""
    document = placement(numberOfClusters=1)
    document["metadata"]["annotations"] = {f"{GROUP}/experimental-scheduling-disable": "true"}
    verdict = run(cluster("c1"), decision("c9"), document)
    assert (verdict.outcome, verdict.after, verdict.ranked, verdict.evicted) == (
        Outcome.DISABLED,
        {"p-decision-1": ("c9",)},
        ("c1",),
        (),
    )


def test_deleting_placement_is_not_scheduled() -> None:
    """A deletionTimestamp keeps decisions as they are, and a negative number does not panic."""
    document = placement(numberOfClusters=-1)
    document["metadata"]["deletionTimestamp"] = NOW
    verdict = run(cluster("c1"), decision("c9"), document)
    assert (verdict.outcome, verdict.after) == (Outcome.DELETING, {"p-decision-1": ("c9",)})


def test_deleting_cluster_is_no_candidate() -> None:
    """A terminating ManagedCluster is left out before the filters."""
    verdict = run(cluster("c1", metadata={"deletionTimestamp": NOW}), cluster("c2"), placement())
    assert verdict.candidates == ("c2",)


def test_invalid_set_selector_ends_the_pass() -> None:
    """An eligible set with a selector nobody can build leaves everything as it was, with a retry."""
    objects = hub(cluster("c1"), decision("c9"), placement())
    objects[0]["spec"]["clusterSelector"] = {"selectorType": "Nonsense"}
    verdict = simulate(objects, "ns/p", NOW)
    assert verdict.outcome is Outcome.FAILED
    assert (
        verdict.sync_error
        == 'failed to get clusters from ClusterSet "s1": selectorType is not right: Nonsense'
    )
    assert plain(verdict)["afterSync"] == {"p-decision-1": 1}


@pytest.mark.parametrize(
    ("selector", "members"),
    [
        ({"selectorType": "LabelSelector"}, ()),
        ({"selectorType": "LabelSelector", "labelSelector": {}}, ("c1", "c2")),
    ],
)
def test_set_selector_nil_and_empty(selector: dict[str, Any], members: tuple[str, ...]) -> None:
    """A nil label selector selects nothing, an empty one everything."""
    objects = hub(cluster("c1"), cluster("c2", labels={f"{GROUP}/clusterset": "other"}), placement())
    objects[0]["spec"]["clusterSelector"] = selector
    assert simulate(objects, "ns/p", NOW).candidates == members


def test_binding_without_its_set_is_no_binding() -> None:
    """A binding counts only if its ManagedClusterSet exists."""
    objects = [found for found in hub(cluster("c1"), placement()) if found["kind"] != "ManagedClusterSet"]
    satisfied = simulate(objects, "ns/p", NOW).satisfied
    assert satisfied is not None
    assert satisfied.reason == "NoManagedClusterSetBindings"


def test_long_name_says_what_an_api_server_would_do() -> None:
    """64 characters are no label value."""
    document = placement(prioritizerPolicy=exact())
    document["metadata"]["name"] = "p" * 64
    verdict = simulate(hub(cluster("c1"), document), f"ns/{'p' * 64}", NOW)
    assert verdict.sync_error is not None
    assert "shorten the name" in verdict.notes[0]


def test_int64_sums_wrap() -> None:
    """Beyond any real score, but as Go does it."""
    huge = 2**31 - 1
    weights = exact(*(("r/a", 2**31 - 1) for _ in range(3)))
    verdict = run(cluster("c1"), score("c1", a=huge), placement(prioritizerPolicy=weights))
    assert verdict.scores == {"c1": (3 * huge * huge + 2**63) % 2**64 - 2**63}


def test_what_ocm_does_not_notice() -> None:
    """The verdict names the expiry that OCM does not wake up for."""
    verdict = run(
        cluster("c1"),
        score("c1", until="2026-06-01T00:05:00Z", a=1),
        placement(prioritizerPolicy=exact(("r/a", 1), ("Balance", 1))),
    )
    assert verdict.next_expiry is not None
    assert verdict.next_expiry.isoformat() == "2026-06-01T00:05:00+00:00"
    assert verdict.sync_error is None


def test_one_state_serves_many_moments() -> None:
    """What a HubState remembers does not leak from one `now` into the next."""
    state = HubState.build(
        hub(cluster("c1"), score("c1", until=NOW, a=7), placement(prioritizerPolicy=exact(("r/a", 1))))
    )
    moments = (NOW, "2026-06-01T00:00:01Z", NOW)
    assert [simulate(state, "ns/p", moment).scores for moment in moments] == [{"c1": 7}, {"c1": 0}, {"c1": 7}]


def test_a_verdict_as_data() -> None:
    """Keys that the oracle does not have."""
    taint = {"key": "k", "value": "v", "effect": "NoSelect"}
    tolerable = {"key": "t", "effect": "NoSelect", "timeAdded": "2026-05-31T23:59:00Z"}
    tolerations = [{"key": "t", "operator": "Exists", "tolerationSeconds": 300}]
    found = plain(
        run(
            cluster("c1", taints=[tolerable]),
            cluster("c2", taints=[tolerable, taint]),
            decision("c1", "c2"),
            placement(tolerations=tolerations),
        )
    )
    assert (found["placement"], found["outcome"], found["evicted"]) == ("ns/p", "Scheduled", ["c2"])
    assert found["dropped"] == {
        "c2": {"filter": "TaintToleration", "reason": "taint k=v:NoSelect is not tolerated"}
    }
    assert (found["requeue"], found["requeueAt"]) == (True, "2026-06-01T00:04:00+00:00")
    assert not {"syncError", "unsupported", "panic"} & found.keys()
    assert not {"requeue", "requeueAt"} & plain(run(cluster("c1"), placement())).keys()


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
        ({"effect": "NoSelect"}, {"key": "other", "operator": "Exists"}, "taint k:NoSelect is not tolerated"),
        (
            {"effect": "NoSelectIfNew"},
            {"key": "other", "operator": "Exists"},
            "taint k:NoSelectIfNew is not tolerated, and the cluster is not in the current decisions",
        ),
        (
            {"effect": "NoSelect"},
            {"key": "k", "operator": "Exists", "tolerationSeconds": 60},
            (
                "taint k:NoSelect is not tolerated: it has no timeAdded, so tolerationSeconds have always run"
                " out"
            ),
        ),
        (
            {"effect": "NoSelect"},
            {"key": "other", "operator": "Exists", "tolerationSeconds": 60},
            "taint k:NoSelect is not tolerated",
        ),
        (
            {"effect": "NoSelect", "value": "v"},
            {"key": "k", "operator": "Equal", "value": "w"},
            "taint k=v:NoSelect is not tolerated",
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
def test_why_a_taint_is_not_tolerated(taint: dict[str, Any], toleration: dict[str, Any], reason: str) -> None:
    verdict = run(cluster("c1", taints=[{"key": "k", **taint}]), placement(tolerations=[toleration]))
    assert verdict.dropped["c1"].reason == reason


@pytest.mark.parametrize(
    "toleration",
    [
        {"operator": "Exists"},
        {"key": "k", "operator": "Exists"},
        {"key": "k", "operator": "Equal", "value": "v"},
        {"key": "k", "value": "v", "effect": "NoSelect"},
    ],
)
def test_a_tolerated_taint(toleration: dict[str, Any]) -> None:
    taint = {"key": "k", "value": "v", "effect": "NoSelect"}
    assert run(cluster("c1", taints=[taint]), placement(tolerations=[toleration])).ranked == ("c1",)


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
    assert verdict.decisions[0].to_object() == {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "PlacementDecision",
        "metadata": {
            "name": "p-decision-1",
            "namespace": "ns",
            "labels": {
                f"{GROUP}/placement": "p",
                f"{GROUP}/decision-group-name": "zone-a",
                f"{GROUP}/decision-group-index": "0",
            },
        },
        "status": {"decisions": [{"clusterName": "c1", "reason": ""}]},
    }


@pytest.mark.parametrize(
    ("written", "sizes"),
    [("1e999%", [3]), ("-50%", [3]), ("0%", [3]), ("33.4%", [2, 1]), (-1, [3]), (3, [3])],
)
def test_odd_group_sizes(written: int | str, sizes: list[int]) -> None:
    strategy = {"groupStrategy": {"clustersPerDecisionGroup": written}}
    verdict = run(*(cluster(f"c{number}") for number in range(3)), placement(decisionStrategy=strategy))
    assert [len(group.clusters) for group in verdict.groups] == sizes


def test_a_cluster_without_a_status_has_no_resources() -> None:
    bare = {key: value for key, value in cluster("c1").items() if key != "status"}
    verdict = run(bare, placement(prioritizerPolicy=exact(("ResourceAllocatableCPU", 1))))
    assert verdict.prioritizer_scores == (("ResourceAllocatableCPU", 1, {}),)


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


def test_the_note_on_zero_clusters() -> None:
    assert run(cluster("c1"), placement(numberOfClusters=0)).notes == (
        "numberOfClusters is 0: nothing is selected, and PlacementSatisfied is False",
    )
    assert run(cluster("c1"), placement(numberOfClusters=1)).notes == ()


def test_a_taint_without_effect_hides_no_other() -> None:
    taints = [{"key": "p", "effect": "PreferNoSelect"}, {"key": "k", "effect": "NoSelect"}]
    assert run(cluster("c1", taints=taints), placement()).ranked == ()


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
            "AddOnPlacementScores c1/r expired: each counts as 0, which beats every negative score, and OCM"
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


def test_the_notes_on_what_is_not_scheduled() -> None:
    disabled, deleting = placement(), placement()
    disabled["metadata"]["annotations"] = {f"{GROUP}/experimental-scheduling-disable": "true"}
    deleting["metadata"]["deletionTimestamp"] = NOW
    assert run(cluster("c1"), disabled).notes == (
        "scheduling is disabled by annotation: PlacementDecisions stay as they are",
    )
    assert run(cluster("c1"), deleting).notes == ("the Placement is being deleted: OCM does not schedule it",)


def test_a_bad_selector_of_a_cluster_set_ends_the_pass() -> None:
    objects = hub(cluster("c1"), placement())
    bad = {"matchExpressions": [{"key": "k", "operator": "in", "values": ["v"]}]}
    objects[0]["spec"]["clusterSelector"] = {"selectorType": "LabelSelector", "labelSelector": bad}
    verdict = simulate(objects, "ns/p", NOW)
    assert verdict.outcome is Outcome.FAILED
    assert str(verdict.sync_error).startswith('failed to get clusters from ClusterSet "s1": ')


def test_each_predicate_has_its_reason() -> None:
    predicates = [
        {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"a": "b"}}}},
        *cel("managedCluster.metadata.name == 'c9'"),
    ]
    assert run(cluster("c1"), placement(predicates=predicates)).dropped["c1"].reason == (
        "predicates[0]: label a in (b) does not hold: the cluster does not have it; predicates[1]: CEL"
        " expression \"managedCluster.metadata.name == 'c9'\" is false"
    )


def test_a_toleration_that_ends_after_the_last_year_has_not_run_out() -> None:
    taint = {"key": "k", "effect": "NoSelect", "timeAdded": "9998-01-01T00:00:00Z"}
    tolerations = [{"key": "k", "operator": "Exists", "tolerationSeconds": 9_000_000_000}]
    assert run(cluster("c1", taints=[taint]), placement(tolerations=tolerations)).ranked == ("c1",)
