"""Why pods do not run."""

from typing import Any

import pytest

from gitops_dsf.hub.pods import obstacles


def container(**state: Any) -> dict[str, Any]:
    return {"name": "main", "image": "registry.example.com/a:1", **state}


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (
            {
                "containerStatuses": [
                    container(state={"waiting": {"reason": "ErrImagePull", "message": "denied"}})
                ]
            },
            ("image registry.example.com/a:1 cannot be pulled (ErrImagePull: denied)",),
        ),
        (
            {
                "initContainerStatuses": [
                    container(state={"waiting": {"reason": "ImagePullBackOff", "message": "Back-off"}})
                ]
            },
            ("image registry.example.com/a:1 cannot be pulled (ImagePullBackOff)",),
        ),
        (
            {
                "containerStatuses": [
                    container(
                        state={"waiting": {"reason": "CrashLoopBackOff"}},
                        lastState={"terminated": {"reason": "OOMKilled", "exitCode": 137}},
                    )
                ]
            },
            ("container main ends again and again, last with OOMKilled (exit code 137)",),
        ),
        (
            {
                "containerStatuses": [
                    container(
                        state={"waiting": {"reason": "CreateContainerConfigError", "message": "no secret"}}
                    )
                ]
            },
            ("container main cannot start (CreateContainerConfigError: no secret)",),
        ),
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}]},
            ("its pod cannot be scheduled: 0/3 nodes",),
        ),
        ({"containerStatuses": [container(state={"waiting": {"reason": "ContainerCreating"}})]}, ()),
        ({"containerStatuses": [container(state={"running": {}})]}, ()),
        ({}, ()),
    ],
)
def test_the_reason_is_told_once_for_all_pods(status: dict[str, Any], told: tuple[str, ...]) -> None:
    assert obstacles([{"status": status}, {"status": status}]) == told
