"""Where scorers should run, by what the hub knows."""

import json
from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.objects import LabelSelector, ManagedCluster
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.targets import Mask, TargetClusters
from gitops_dsf.reconciler.hub.kinds import addon, cluster, scorer
from tests.support.typed import agent

THEN = "2026-01-01T00:00:00Z"


def raw(item: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(item).encode())


def land(name: str, **labels: str) -> ManagedCluster:
    return cluster(raw({"metadata": {"name": name, "labels": labels, "creationTimestamp": THEN}}))[
        1
    ]


def made(**spec: Any) -> DynamicScorer:
    whole = {
        "configURL": "http://a/config",
        "scoring": {"params": {"name": "cpu", "interval": 5}},
        **spec,
    }
    return scorer(raw({"metadata": {"name": "cpu"}, "spec": whole}))[1]


CLUSTERS = {
    name: land(name, zone=zone) for name, zone in (("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"))
}
HERE = agent(available="True", created=100.0)
ADDONS = dict.fromkeys("abc", HERE)


YOUNGER = addon(
    raw({"metadata": {"name": "x", "namespace": "a", "creationTimestamp": "2026-01-01T00:01:00Z"}})
)[1]


def runs(item: DynamicScorer, *masks: Mask) -> str:
    return "".join(
        sorted(TargetClusters(clusters=CLUSTERS, addons=ADDONS, masks=masks).expected(item))
    )


def test_everywhere_means_where_the_agent_is() -> None:
    assert runs(made()) == "abc"
    assert runs(made(clusterSelector={})) == "abc"


@pytest.mark.parametrize(
    ("selector", "clusters"),
    [
        ({"matchLabels": {"zone": "y"}}, "c"),
        ({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["y"]}]}, "ab"),
        ({"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}, ""),
        (
            {
                "matchLabels": {"zone": "x"},
                "matchExpressions": [{"key": "gpu", "operator": "DoesNotExist"}],
            },
            "ab",
        ),
        ({"matchExpressions": [{"key": "zone", "operator": "Near", "values": ["y"]}]}, ""),
    ],
)
def test_a_selector_chooses_by_the_labels_of_the_hub(selector: Any, clusters: str) -> None:
    assert runs(made(clusterSelector=selector)) == clusters


def test_masks_keep_a_score_off_by_name_glob_or_label() -> None:
    assert runs(made(), Mask(cluster_name="a", score_name="cpu")) == "bc"
    assert runs(made(), Mask(cluster_name="*", score_name="c?u")) == ""
    assert runs(made(), Mask(cluster_name="[ab]", score_name="*")) == "c"
    zone = LabelSelector(match_labels={"zone": "x"})
    assert runs(made(), Mask(cluster_selector=zone, score_name="cpu")) == "c"
    assert runs(made(), Mask(cluster_name="a", score_name="mem")) == "abc"


def test_what_is_suspended_or_not_published_runs_nowhere() -> None:
    assert runs(made(suspend=True)) == ""
    assert runs(made(scoreDestination="None")) == ""


def test_what_goes_is_not_counted_on() -> None:
    going = cluster(raw({"metadata": {"name": "a", "deletionTimestamp": THEN}}))[1]
    left = TargetClusters(
        clusters={**CLUSTERS, "a": going},
        addons={**ADDONS, "b": agent(available="", deleting=True)},
        masks=(),
    ).expected(made())
    assert left == {"c"}


def test_both_cluster_and_add_on_must_have_been_there() -> None:
    targets = TargetClusters(clusters=CLUSTERS, addons={"a": YOUNGER, "b": HERE}, masks=())
    assert targets.since("a", made()) == CLUSTERS["a"].created + 60
    assert targets.since("b", made()) == CLUSTERS["b"].created


def test_a_scorer_on_the_hub_needs_no_agent() -> None:
    here = made(runsOn="Hub")
    assert runs(here) == "abcd"
    assert runs(made(runsOn="Hub", clusterSelector={"matchLabels": {"zone": "y"}})) == "cd"
    assert runs(here, Mask(score_name="cpu", cluster_name="d")) == "abc"
    assert runs(made(runsOn="Hub", suspend=True)) == ""
    targets = TargetClusters(clusters=CLUSTERS, addons={"a": YOUNGER}, masks=())
    assert targets.since("a", here) == CLUSTERS["a"].created
