"""What an installation still waits for."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gitops_dsf.installation.steps import application, definition, leadership

SOURCE = {
    "repoURL": "https://git.example.com/fleet.git",
    "targetRevision": "main",
    "path": "rendered/platform",
}
WANTED: dict[str, Any] = {"metadata": {"name": "gitops-dsf-platform"}, "spec": {"source": SOURCE}}
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def live(*, source: dict[str, str] = SOURCE, sync: str = "Synced", **status: Any) -> dict[str, Any]:
    return {"status": {"sync": {"status": sync, "comparedTo": {"source": source}}, **status}}


@pytest.mark.parametrize(
    ("item", "done", "state"),
    [
        (None, False, "Argo CD has not compared it with git yet"),
        ({"status": {}}, False, "Argo CD has not compared it with git yet"),
        (
            live(source={**SOURCE, "repoURL": "other"}),
            False,
            "Argo CD has not compared it with git yet",
        ),
        (
            {
                "status": {
                    "conditions": [
                        {"type": "ComparisonError", "message": "authentication required"}
                    ]
                }
            },
            False,
            "authentication required",
        ),
        (live(), True, "Synced"),
        (
            live(health={"status": "Progressing"}, operationState={"phase": "Succeeded"}),
            True,
            "Synced, Progressing",
        ),
        (live(operationState={"phase": "Running", "message": "waiting"}), False, "Synced: waiting"),
        (
            live(sync="OutOfSync", operationState={"phase": "Failed", "message": "not permitted"}),
            False,
            "OutOfSync: not permitted",
        ),
    ],
)
def test_an_application_is_done_when_the_wanted_source_is_applied(
    item: dict[str, Any] | None, done: bool, state: str
) -> None:
    step = application(WANTED, item)
    assert (step.name, step.done, step.state) == ("Application gitops-dsf-platform", done, state)


@pytest.mark.parametrize(
    ("item", "done", "state"),
    [
        (None, False, "not there yet"),
        ({}, False, "not established yet"),
        (
            {"status": {"conditions": [{"type": "Established", "status": "True"}]}},
            True,
            "established",
        ),
    ],
)
def test_a_kind_is_done_when_it_is_established(
    item: dict[str, Any] | None, done: bool, state: str
) -> None:
    step = definition("dynamicscorers", item)
    assert (step.done, step.state) == (done, state)


def lease(ago: float) -> dict[str, Any]:
    renewed = (NOW - timedelta(seconds=ago)).isoformat()
    return {"spec": {"holderIdentity": "pod-a", "leaseDurationSeconds": 15, "renewTime": renewed}}


def deployment(ready: int) -> dict[str, Any]:
    pod = {"containers": [{"image": "registry.example.com/reconciler:1"}]}
    return {"spec": {"template": {"spec": pod}}, "status": {"readyReplicas": ready}}


@pytest.mark.parametrize(
    ("held", "runs", "done", "state"),
    [
        (lease(15), deployment(1), True, "pod-a leads"),
        (lease(16), deployment(1), False, "no replica leads yet"),
        (
            lease(15),
            deployment(0),
            False,
            "no pod is ready; its image is registry.example.com/reconciler:1",
        ),
        (lease(15), None, False, "its Deployment is not there yet"),
        (
            None,
            deployment(0),
            False,
            "no pod is ready; its image is registry.example.com/reconciler:1",
        ),
        (None, None, False, "its Deployment is not there yet"),
    ],
)
def test_the_reconciler_is_done_when_a_pod_is_ready_and_leads(
    held: dict[str, Any] | None, runs: dict[str, Any] | None, done: bool, state: str
) -> None:
    step = leadership(held, pods=(), deployment=runs, now=NOW)
    assert (step.done, step.state) == (done, state)
