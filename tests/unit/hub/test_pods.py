"""Why pods do not run."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gitops_dsf.hub.pods import obstacles, read_leadership


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
