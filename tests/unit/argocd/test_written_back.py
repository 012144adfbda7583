"""What is rendered of an ApplicationSet is what Argo CD writes back when it updates the object."""

from typing import Any

import pytest

from gitops_dsf.argocd import fields


@pytest.mark.parametrize(
    ("spec", "kept"),
    [
        ({"syncPolicy": {"preserveResourcesOnDeletion": False}}, {"syncPolicy": {}}),
        (
            {"syncPolicy": {"preserveResourcesOnDeletion": True}},
            {"syncPolicy": {"preserveResourcesOnDeletion": True}},
        ),
        ({"goTemplate": False, "goTemplateOptions": []}, {}),
        (
            {"template": {"metadata": {"labels": {}, "annotations": {"team": ""}}}},
            {"template": {"metadata": {"annotations": {"team": ""}}}},
        ),
        # Pointers: false is not the default of `enabled`.
        (
            {"template": {"spec": {"syncPolicy": {"automated": {"enabled": False, "prune": False}}}}},
            {"template": {"spec": {"syncPolicy": {"automated": {"enabled": False}}}}},
        ),
        ({"template": {"spec": {"syncPolicy": {"automated": {}}}}},) * 2,
        ({"generators": [{"list": {"elements": [{"name": "", "on": False}]}}]},) * 2,
        ({"generators": [{"clusterDecisionResource": {"requeueAfterSeconds": 0}}]},) * 2,
    ],
)
def test_fields_that_are_false_or_empty(spec: dict[str, Any], kept: dict[str, Any]) -> None:
    assert fields.written_back(fields.application_set_spec(), spec) == kept
