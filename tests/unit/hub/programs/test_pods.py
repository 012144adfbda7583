"""Why pods do not run."""

from typing import Any

import pytest

from gitops_dsf.hub.programs.pods import obstacles


def pod(kind: str = "containerStatuses", last: str = "", **state: Any) -> dict[str, Any]:
    """The status of a pod whose container is in this state."""
    ended = {"lastState": {"terminated": {"reason": last, "exitCode": 137}}} if last else {}
    return {kind: [{"name": "main", "image": "a:1", "state": state, **ended}]}


def waiting(reason: str, message: str = "", **more: str) -> dict[str, Any]:
    return pod(waiting={"reason": reason, "message": message}, **more)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (waiting("ErrImagePull", "denied"), "image a:1 cannot be pulled (ErrImagePull: denied)"),
        (
            waiting("ImagePullBackOff", "Back-off", kind="initContainerStatuses"),
            "image a:1 cannot be pulled (ImagePullBackOff)",
        ),
        (
            waiting("CrashLoopBackOff", last="OOMKilled"),
            "container main ends again and again, last with OOMKilled (exit code 137)",
        ),
        (waiting("NoConfig", "no secret"), "container main cannot start (NoConfig: no secret)"),
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}]},
            "its pod cannot be scheduled: 0/3 nodes",
        ),
        (waiting("ContainerCreating"), None),
        (pod(running={}), None),
        ({}, None),
    ],
)
def test_a_reason_is_reported_once_for_all_pods(status: dict[str, Any], reason: str | None) -> None:
    assert obstacles([{"status": status}, {"status": status}]) == (
        () if reason is None else (reason,)
    )
