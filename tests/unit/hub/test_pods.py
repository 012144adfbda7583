"""Why pods do not run."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gitops_dsf.hub.leadership import read_leadership
from gitops_dsf.hub.pods import obstacles


def pod(kind: str = "containerStatuses", last: str = "", **state: Any) -> dict[str, Any]:
    """The status of a pod whose container is in this state."""
    ended = {"lastState": {"terminated": {"reason": last, "exitCode": 137}}} if last else {}
    return {kind: [{"name": "main", "image": "a:1", "state": state, **ended}]}


def waiting(reason: str, message: str = "", **more: str) -> dict[str, Any]:
    return pod(waiting={"reason": reason, "message": message}, **more)


@pytest.mark.parametrize(
    ("status", "told"),
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
def test_the_reason_is_told_once_for_all_pods(status: dict[str, Any], told: str | None) -> None:
    assert obstacles([{"status": status}, {"status": status}]) == (() if told is None else (told,))


NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("spec", "stands"),
    [
        ({"renewTime": "2026-06-01T11:59:45.000000Z"}, True),
        ({"renewTime": "2026-06-01T11:59:44.999999Z"}, False),
        ({"renewTime": "2026-06-01T11:59:30.000000Z", "leaseDurationSeconds": 30}, True),
        ({"renewTime": "2026-06-01T11:59:50"}, True),
        ({"renewTime": "yesterday"}, False),
        ({"renewTime": None}, False),
        ({}, False),
    ],
)
def test_a_lease_stands_until_its_duration_after_the_last_renewal_is_over(
    spec: dict[str, Any], stands: bool
) -> None:
    assert read_leadership({"spec": spec}).stands(NOW) is stands


def test_a_lease_that_was_given_up_has_no_holder() -> None:
    found = read_leadership({"spec": {"holderIdentity": "", "renewTime": NOW.isoformat()}})
    assert (found.holder, found.stands(NOW + timedelta(seconds=15))) == ("", True)
    assert read_leadership({}).holder == ""
