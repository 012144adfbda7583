"""Why pods do not run."""

from typing import Any

import pytest

from gitops_dsf.hub.pods import obstacles


def pod(kind: str = "containerStatuses", last: str = "", **state: Any) -> dict[str, Any]:
    """The status of a pod whose container is in this state."""
    ended = {"lastState": {"terminated": {"reason": last, "exitCode": 137}}} if last else {}
    return {kind: [{"name": "main", "image": "registry.example.com/a:1", "state": state, **ended}]}


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (
            pod(waiting={"reason": "ErrImagePull", "message": "denied"}),
            ("image registry.example.com/a:1 cannot be pulled (ErrImagePull: denied)",),
        ),
        (
            pod("initContainerStatuses", waiting={"reason": "ImagePullBackOff", "message": "Back-off"}),
            ("image registry.example.com/a:1 cannot be pulled (ImagePullBackOff)",),
        ),
        (
            pod(last="OOMKilled", waiting={"reason": "CrashLoopBackOff"}),
            ("container main ends again and again, last with OOMKilled (exit code 137)",),
        ),
        (
            pod(waiting={"reason": "CreateContainerConfigError", "message": "no secret"}),
            ("container main cannot start (CreateContainerConfigError: no secret)",),
        ),
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}]},
            ("its pod cannot be scheduled: 0/3 nodes",),
        ),
        (pod(waiting={"reason": "ContainerCreating"}), ()),
        (pod(running={}), ()),
        ({}, ()),
    ],
)
def test_the_reason_is_told_once_for_all_pods(status: dict[str, Any], told: tuple[str, ...]) -> None:
    assert obstacles([{"status": status}, {"status": status}]) == told
