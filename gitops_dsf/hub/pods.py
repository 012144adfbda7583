"""Why the pods of a program on the hub do not run, and who leads by a Lease (coordination.k8s.io/v1)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
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
STARTING: Final = frozenset({"ContainerCreating", "PodInitializing"})


def obstacles(pods: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Why pods do not run, each reason once; empty if nothing keeps them from it."""
    return tuple(
        dict.fromkeys(reason for pod in pods for reason in _obstacles(pod.get("status") or {}))
    )


def _obstacles(status: Mapping[str, Any]) -> Iterator[str]:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            yield f"its pod cannot be scheduled: {condition.get('message', '')}"
    for container in (
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ):
        state = container.get("state") or {}
        waiting = state.get("waiting") or {}
        reason, message = waiting.get("reason", ""), waiting.get("message", "")
        if reason in PULL_FAILURES:
            # A back-off does not say why the last pull failed.
            why = f": {message}" if message and reason != "ImagePullBackOff" else ""
            yield f"image {container.get('image')} cannot be pulled ({reason}{why})"
        elif reason == "CrashLoopBackOff":
            ended = (container.get("lastState") or {}).get("terminated") or {}
            last = f"{ended.get('reason') or 'an error'} (exit code {ended.get('exitCode', 'unknown')})"
            yield f"container {container.get('name')} ends again and again, last with {last}"
        elif reason and reason not in STARTING:
            why = f": {message}" if message else ""
            yield f"container {container.get('name')} cannot start ({reason}{why})"


DEFAULT_DURATION: Final = 15
"""Seconds that the reconciler writes. A Lease without leaseDurationSeconds is judged by them."""


@dataclass(frozen=True, kw_only=True)
class Leadership:
    """The claim of a Lease."""

    holder: str
    """Empty after a leader has given up its Lease."""
    renewed: datetime | None
    """None if it was never renewed, or if its time can't be read."""
    lasts: timedelta

    def stands(self, now: datetime) -> bool:
        """Says whether the Lease has not expired at this time of the hub's clock."""
        return self.renewed is not None and now - self.renewed <= self.lasts


def read_leadership(lease: Mapping[str, Any]) -> Leadership:
    spec = lease.get("spec") or {}
    return Leadership(
        holder=str(spec.get("holderIdentity") or ""),
        renewed=_moment(str(spec.get("renewTime") or "")),
        lasts=timedelta(seconds=int(spec.get("leaseDurationSeconds") or DEFAULT_DURATION)),
    )


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
