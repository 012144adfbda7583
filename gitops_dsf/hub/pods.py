"""Why a pod does not run, as the kubelet and the scheduler say it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

PULL_FAILURES: Final = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
)
STARTING: Final = frozenset({"ContainerCreating", "PodInitializing"})


def obstacles(pods: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Why pods do not run, each reason once; empty if nothing keeps them from it."""
    return tuple(dict.fromkeys(reason for pod in pods for reason in _obstacles(pod.get("status") or {})))


def _obstacles(status: Mapping[str, Any]) -> Iterator[str]:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            yield f"its pod cannot be scheduled: {condition.get('message', '')}"
    for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        state = container.get("state") or {}
        waiting = state.get("waiting") or {}
        reason, message = waiting.get("reason", ""), waiting.get("message", "")
        if reason in PULL_FAILURES:
            # A back-off does not say why the last pull failed.
            why = f": {message}" if message and reason != "ImagePullBackOff" else ""
            yield f"image {container.get('image')} cannot be pulled ({reason}{why})"
        elif reason == "CrashLoopBackOff":
            ended = (container.get("lastState") or {}).get("terminated") or {}
            yield (
                f"container {container.get('name')} ends again and again, last with"
                f" {ended.get('reason') or 'an error'} (exit code {ended.get('exitCode', 'unknown')})"
            )
        elif reason and reason not in STARTING:
            why = f": {message}" if message else ""
            yield f"container {container.get('name')} cannot start ({reason}{why})"
