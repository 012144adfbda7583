"""Which jobs are on which clusters, as Workloads and AdmissionChecks of Kueue say it."""

from typing import Any

import msgspec
import pytest

from gitops_dsf.multikueue.assumed import PlacedJob
from gitops_dsf.reconciler.multikueue.jobs import (
    CheckedConfig,
    JobPlace,
    JobPlaces,
    WorkloadReader,
    admission_check,
    jobs_of,
)

READY = {"name": "mk", "state": "Ready", "lastTransitionTime": "2026-06-01T12:00:00Z"}
READY_AT = 1_780_315_200.0


def read(status: dict[str, Any]) -> JobPlace:
    item = {"metadata": {"name": "job", "namespace": "team"}, "status": status}
    key, place = WorkloadReader()(msgspec.Raw(msgspec.json.encode(item)))
    assert key == "team/job"
    return place


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, JobPlace()),
        ({"admissionChecks": [{"name": "mk", "state": "Pending"}]}, JobPlace()),
        (
            {"admissionChecks": [READY], "clusterName": "a"},
            JobPlace(("mk",), "a", READY_AT),
        ),
        # A check of another controller was ready an hour before.
        (
            {
                "admissionChecks": [
                    READY,
                    {**READY, "name": "quota", "lastTransitionTime": "2026-06-01T11:00:00Z"},
                ],
                "clusterName": "a",
            },
            JobPlace(("mk", "quota"), "a", READY_AT),
        ),
        (
            {
                "admissionChecks": [READY],
                "clusterName": "a",
                "conditions": [{"type": "Finished", "status": "True"}],
            },
            JobPlace(),
        ),
        (
            {"admissionChecks": [READY], "nominatedClusterNames": ["a"]},
            JobPlace(("mk",), "a", None),
        ),
        ({"admissionChecks": [READY], "nominatedClusterNames": ["a", "b"]}, JobPlace()),
        (
            {"admissionChecks": [{**READY, "lastTransitionTime": "soon"}], "clusterName": "a"},
            JobPlace(("mk",), "a", 0.0),
        ),
    ],
)
def test_where_a_job_is(status: dict[str, Any], expected: JobPlace) -> None:
    assert read(status) == expected


def test_a_job_that_finished_is_kept_no_longer() -> None:
    places = JobPlaces()
    places["team/job"] = JobPlace(("mk",), "a", 1.0)
    places["team/other"] = JobPlace(("mk",), "b", 1.0)
    places["team/job"] = JobPlace()
    assert list(places) == ["team/other"]


@pytest.mark.parametrize(
    ("spec", "config"),
    [
        (
            {
                "controllerName": "kueue.x-k8s.io/multikueue",
                "parameters": {"kind": "MultiKueueConfig", "name": "gpu"},
            },
            "gpu",
        ),
        ({"controllerName": "kueue.x-k8s.io/multikueue"}, ""),
        (
            {
                "controllerName": "open-cluster-management.io/placement",
                "parameters": {"kind": "Placement", "name": "gpu"},
            },
            "",
        ),
        (
            {
                "controllerName": "kueue.x-k8s.io/provisioning-request",
                "parameters": {"kind": "ProvisioningRequestConfig", "name": "gpu"},
            },
            "",
        ),
    ],
)
def test_the_config_of_a_check(spec: dict[str, Any], config: str) -> None:
    raw = msgspec.Raw(msgspec.json.encode({"metadata": {"name": "mk"}, "spec": spec}))
    assert admission_check(raw) == ("mk", CheckedConfig(config))


def test_jobs_are_of_the_config_that_their_check_names() -> None:
    checks = {
        "mk": CheckedConfig("gpu"),
        "cpu": CheckedConfig("cpu"),
        "quota": CheckedConfig(),
    }
    places = [
        JobPlace(("mk", "quota"), "a", 100.0),
        JobPlace(("mk",), "b", 50.0),
        JobPlace(("mk",), "c", None),
        JobPlace(("cpu",), "d", 100.0),
        # Its check was deleted, so nobody knows of which config it is.
        JobPlace(("deleted", "quota"), "e", 100.0),
    ]
    jobs = jobs_of("gpu", places, checks, admitted_after=50.0)
    assert jobs.busy == {"a", "b", "c"}
    assert jobs.doubtful == {"e"}
    assert jobs.placed == (PlacedJob("a", 100.0), PlacedJob("c", None))
