"""What tests ask of Argo CD's Applications: their state, when they settle, and a look at git now instead of
at the next poll.
"""

import time
from dataclasses import dataclass
from typing import Any, Self

from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.waiting import LONGEST_SECONDS, wait_for

APPLICATION = "argoproj.io/v1alpha1/Application"
APPLICATION_SET = "argoproj.io/v1alpha1/ApplicationSet"


@dataclass(frozen=True, kw_only=True)
class ApplicationState:
    """The parts of an Application's status that tests compare. `resources` maps Kind/name to (sync, health,
    message).
    """

    sync: str
    health: str
    revision: str
    phase: str
    message: str
    resources: dict[str, tuple[str, str, str]]

    @classmethod
    def of(cls, item: Object) -> Self:
        status: dict[str, Any] = item.get("status", {})
        operation = status.get("operationState", {})
        resources = {
            f"{entry['kind']}/{entry['name']}": (
                entry.get("status", ""),
                entry.get("health", {}).get("status", ""),
                entry.get("health", {}).get("message", ""),
            )
            for entry in status.get("resources", [])
        }
        return cls(
            sync=status.get("sync", {}).get("status", ""),
            health=status.get("health", {}).get("status", ""),
            revision=status.get("sync", {}).get("revision", ""),
            phase=operation.get("phase", ""),
            message=operation.get("message", "")
            or "; ".join(entry["message"] for entry in status.get("conditions", [])),
            resources=resources,
        )


def state(client: Client, name: str, *, namespace: str = "argocd") -> ApplicationState:
    return ApplicationState.of(client.get(APPLICATION, name, namespace=namespace))


def wait_until_settled(
    client: Client,
    name: str,
    *,
    revision: str | None = None,
    health: str = "Healthy",
    namespace: str = "argocd",
    timeout: float = LONGEST_SECONDS,
) -> ApplicationState:
    """Wait until the Application is Synced, of this health and, when given, at this commit."""

    def look() -> ApplicationState | None:
        found = state(client, name, namespace=namespace)
        settled = found.sync == "Synced" and found.health == health and revision in (None, found.revision)
        return found if settled else None

    what = f"Application {name} is Synced and {health}" + (f" at {revision}" if revision else "")
    return wait_for(look, what=what, timeout=timeout, seen=lambda: state(client, name, namespace=namespace))


def refresh(client: Client, name: str, *, hard: bool = False, namespace: str = "argocd") -> None:
    """Ask Argo CD to compare now; `hard` also forgets cached manifests."""
    annotations = {"argocd.argoproj.io/refresh": "hard" if hard else "normal"}
    client.patch(APPLICATION, name, {"metadata": {"annotations": annotations}}, namespace=namespace)


def refresh_set(client: Client, name: str, *, namespace: str = "argocd") -> None:
    """Ask the ApplicationSet controller to generate now."""
    # A new value each time: one that stayed after a look that failed would ask for nothing.
    annotations = {"argocd.argoproj.io/application-set-refresh": str(time.time_ns())}
    client.patch(APPLICATION_SET, name, {"metadata": {"annotations": annotations}}, namespace=namespace)
