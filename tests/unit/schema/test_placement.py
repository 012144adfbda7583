"""The schema of hand-written Placements, as an editor applies it."""

from copy import deepcopy
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from gitops_dsf.packagedata import packaged
from gitops_dsf.schema.editor import kind_schema
from tests.support import yamlfast

SCHEMA = Draft202012Validator(
    kind_schema("cluster.open-cluster-management.io/v1beta1", "Placement")
)
PLACEMENT: dict[str, Any] = next(
    item
    for item in yamlfast.load_all(
        packaged("repo-template/on-request/examples/apps/raw-guestbook.yaml").read_text("utf-8")
    )
    if item["kind"] == "Placement"
)


def wrong(**spec: Any) -> list[str]:
    """Paths of the mistakes."""
    item = deepcopy(PLACEMENT)
    item["spec"].update(spec)
    return sorted("/".join(map(str, error.instance_path)) for error in SCHEMA.iter_errors(item))


def scored(**changes: Any) -> dict[str, Any]:
    coordinate = {"type": "AddOn", "addOn": {"resourceName": "cpu", "scoreName": "cpu"}}
    return {
        "mode": "Exact",
        "configurations": [{"scoreCoordinate": coordinate, "weight": 1, **changes}],
    }


def test_the_placement_of_the_template_is_valid() -> None:
    assert wrong() == []


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"prioritizerPolicy": scored(weight=10)}, None),
        (
            {"prioritizerPolicy": scored(weight=11)},
            "spec/prioritizerPolicy/configurations/0/weight",
        ),
        ({"prioritizerPolicy": scored(weigth=1)}, "spec/prioritizerPolicy/configurations/0"),
        ({"prioritizerPolicy": {"mode": "exact"}}, "spec/prioritizerPolicy/mode"),
        ({"numberOfCluster": 1}, "spec"),
        ({"numberOfClusters": "1"}, "spec/numberOfClusters"),
        ({"clusterSets": "fleet"}, "spec/clusterSets"),
        ({"tolerations": [{"operator": "Exist"}]}, "spec/tolerations/0/operator"),
        (
            {
                "predicates": [
                    {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"a": "b"}}}}
                ]
            },
            None,
        ),
        ({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "25%"}}}, None),
        ({"sortBy": {"anything": 1}}, None),
    ],
)
def test_a_mistake_has_its_path(spec: dict[str, Any], path: str | None) -> None:
    assert wrong(**spec) == ([] if path is None else [path])
