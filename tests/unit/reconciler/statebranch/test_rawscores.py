"""From dynamic_score to the raw scores of a snapshot."""

from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.statebranch.rawscores import _Sample, by_cluster


def scorer(**spec: Any) -> DynamicScorer:
    body = {"metadata": {"name": "cpu"}, "spec": {"scoring": {"params": {"name": "cpu"}}, **spec}}
    return msgspec.json.decode(msgspec.json.encode(body), type=DynamicScorer)


def sample(cluster: str, value: str, **labels: str) -> _Sample:
    return _Sample(metric={"ds_cluster": cluster, "ds_score_name": "cpu", **labels}, value=(0.0, value))


def test_dimensions_are_filled_as_the_agent_does() -> None:
    found = by_cluster(
        scorer(scoreDimensionFormat="${node}/${scoreName}"),
        [sample("a", "1.5", ds_node="n1"), sample("a", "2", ds_node="")],
    )
    assert found == {"a": {"n1/cpu": 1.5, "/cpu": 2.0}}


@pytest.mark.parametrize(("how", "expected"), [("Mean", 3.0), ("Min", 2.0), ("Max", 4.0), ("Sum", 6.0)])
def test_results_that_share_a_dimension_are_aggregated(how: str, expected: float) -> None:
    samples = [sample("a", "2", ds_node="n1"), sample("a", "4", ds_node="n2")]
    assert by_cluster(scorer(scoreAggregation=how), samples) == {"a": {"cpu": expected}}


def test_the_last_of_different_results_is_not_known() -> None:
    assert by_cluster(scorer(), [sample("a", "2", ds_node="n1"), sample("a", "4", ds_node="n2")]) == {"a": {}}
    assert by_cluster(scorer(), [sample("a", "2", ds_node="n1"), sample("a", "2", ds_node="n2")]) == {
        "a": {"cpu": 2.0}
    }


def test_what_is_no_number_or_of_no_cluster_is_left_out() -> None:
    assert by_cluster(
        scorer(),
        [sample("a", "NaN"), sample("b", "+Inf"), sample("", "1"), sample("c", "x"), sample("d", "1")],
    ) == {"d": {"cpu": 1.0}}
