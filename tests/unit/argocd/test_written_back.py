"""What is rendered of an ApplicationSet is what Argo CD writes back when it updates the object."""

from typing import Any

import pytest

from gitops_dsf.argocd import fields
from gitops_dsf.argocd.writeback import written_back

EMPTY = {"metadata": {}, "spec": {"destination": {}, "project": ""}}


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
            {
                "template": {
                    "spec": {"syncPolicy": {"automated": {"enabled": False, "prune": False}}}
                }
            },
            {"template": {"spec": {"syncPolicy": {"automated": {"enabled": False}}}}},
        ),
        ({"template": {"spec": {"syncPolicy": {"automated": {}}}}},) * 2,
        # Elements may hold anything, and requeueAfterSeconds is a pointer. A generator always has a
        # template.
        (
            {"generators": [{"list": {"elements": [{"name": "", "on": False}]}}]},
            {
                "generators": [
                    {"list": {"elements": [{"name": "", "on": False}], "template": EMPTY}}
                ]
            },
        ),
        (
            {"generators": [{"clusterDecisionResource": {"requeueAfterSeconds": 0, "name": ""}}]},
            {
                "generators": [
                    {
                        "clusterDecisionResource": {
                            "requeueAfterSeconds": 0,
                            "configMapRef": "",
                            "labelSelector": {},
                            "template": EMPTY,
                        }
                    }
                ]
            },
        ),
    ],
)
def test_fields_that_are_false_or_empty(spec: dict[str, Any], kept: dict[str, Any]) -> None:
    assert written_back(fields.application_set_spec(), spec) == kept
