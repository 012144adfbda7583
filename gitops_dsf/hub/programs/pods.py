"""Pods of a program on the hub, and the reasons why they do not run."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

PULL_FAILURES: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "RegistryUnavailable",
    }
)
"""The kubelet's reasons for an image that it cannot get."""
STARTING: Final = frozenset({"ContainerCreating", "PodInitializing"})
"""The kubelet's reasons for a container that waits and is not in trouble."""


def obstacles(pods: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Returns why pods do not run, each reason once; empty if nothing keeps them from it."""
    reasons: dict[str, None] = {}
    for pod in pods:
        reasons.update(dict.fromkeys(_obstacles(pod.get("status") or {})))
    return tuple(reasons)


def _obstacles(status: Mapping[str, Any]) -> Iterator[str]:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            yield f"its pod cannot be scheduled: {condition.get('message', '')}"
    # Init containers run first, so what keeps one of them also keeps the others.
    for container in status.get("initContainerStatuses") or ():
        yield from _container_obstacles(container)
    for container in status.get("containerStatuses") or ():
        yield from _container_obstacles(container)


def _container_obstacles(container: Mapping[str, Any]) -> Iterator[str]:
    waiting = (container.get("state") or {}).get("waiting") or {}
    reason = waiting.get("reason", "")
    message = waiting.get("message", "")
    name = container.get("name")
    image = container.get("image")
    if reason == "ImagePullBackOff":
        # The message of a back-off does not say why the last pull failed, so it is left out.
        yield f"image {image} cannot be pulled ({reason})"
    elif reason in PULL_FAILURES and message:
        yield f"image {image} cannot be pulled ({reason}: {message})"
    elif reason in PULL_FAILURES:
        yield f"image {image} cannot be pulled ({reason})"
    elif reason == "CrashLoopBackOff":
        last = (container.get("lastState") or {}).get("terminated") or {}
        exit_code = last.get("exitCode", "unknown")
        yield (
            f"container {name} ends again and again, last with"
            f" {last.get('reason') or 'an error'} (exit code {exit_code})"
        )
    elif reason and reason not in STARTING and message:
        yield f"container {name} cannot start ({reason}: {message})"
    elif reason and reason not in STARTING:
        yield f"container {name} cannot start ({reason})"
