"""Clusters that a Placement counts as 0 because a score is missing."""

from typing import Any

from gitops_dsf.hub.scores import score_of
from gitops_dsf.reconciler.freshness.assessment import Assessment
from gitops_dsf.reconciler.scan import counted_as_zero
from tests.unit.reconciler.freshness.hubobjects import managed_cluster, ranking

HERE = score_of({"cpu": 1})
ZONE_X = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"zone": "x"}}}}
GPU = {
    "requiredClusterSelector": {"claimSelector": {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}}
}
CLUSTERS = {
    "a": managed_cluster("a", zone="x"),
    "b": managed_cluster("b", zone="x"),
    "c": managed_cluster("c", zone="y", claims={"gpu": "yes"}),
    "gone": managed_cluster("gone", deleting=True),
}


def zeros(
    *,
    published: str = "",
    dead: str = "",
    missing: str = "",
    waiting: str = "",
    decided: str = "",
    ours: bool = True,
    **placement: Any,
) -> str:
    assessment = (
        Assessment(missing=frozenset(missing.split()), waiting=frozenset(waiting.split())) if ours else None
    )
    found = counted_as_zero(
        ranking(("cpu", "free"), **placement),
        clusters=CLUSTERS,
        decided=decided.split(),
        scores=dict.fromkeys(published.split(), HERE),
        not_counted=frozenset(dead.split()),
        assessment=assessment,
    )
    return " ".join(sorted(found))


def test_dead_and_missing_scores_of_clusters_it_may_choose() -> None:
    assert zeros(published="a b", dead="b", missing="c") == "b c"
    assert zeros(published="a b c") == ""


def test_only_those_that_pass_a_predicate() -> None:
    assert zeros(missing="a c", predicates=[ZONE_X]) == "a"
    assert zeros(missing="a c", predicates=[GPU]) == "c"
    assert zeros(missing="a c", predicates=[ZONE_X, GPU]) == "a c"


def test_a_decided_cluster_without_a_score_counts_even_if_it_is_masked_or_nobody_is_known_to_publish() -> (
    None
):
    assert zeros(published="a", decided="a b") == "b"
    assert zeros(decided="b", ours=False) == "b"
    assert zeros(decided="c", missing="c", predicates=[ZONE_X]) == "c"


def test_what_is_new_or_goes_is_no_news() -> None:
    assert zeros(waiting="b", decided="b") == ""
    assert zeros(missing="gone never-there") == ""
