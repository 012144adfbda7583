"""What tests ask of Argo CD's Applications.

Their state, when they settle, and a look at git now instead of at the next poll.
"""

import time
from dataclasses import dataclass
from typing import Any

from gitops_dsf.hub.names import APPLICATION_LABEL
from tests.hub.controlplane.api import Client, Object, condition
from tests.hub.controlplane.waiting import wait_for

APPLICATION = "argoproj.io/v1alpha1/Application"
APPLICATION_SET = "argoproj.io/v1alpha1/ApplicationSet"


@dataclass(frozen=True, kw_only=True)
class ApplicationState:
    """The parts of an Application's status that tests compare.

    `resources` maps Kind/name to (sync, health, message).
    """

    sync: str
    health: str
    revision: str
    message: str
    resources: dict[str, tuple[str, str, str]]


def copies(client: Client, name: str, *, going: bool = False) -> dict[str, Object]:
    """Cluster to Application of a ScoredApplication; those that are being deleted only if asked
    for.
    """
    found = client.list(APPLICATION, namespace="argocd", labels=f"{APPLICATION_LABEL}={name}")
    return {
        item["spec"]["destination"]["name"]: item
        for item in found
        if going or "deletionTimestamp" not in item["metadata"]
    }


def is_healthy(item: Object) -> bool:
    """Whether an Application is Healthy and Synced."""
    status = item.get("status", {})
    health = status.get("health", {}).get("status")
    return (health, status.get("sync", {}).get("status")) == ("Healthy", "Synced")


def error_of(client: Client, name: str, *, namespace: str = "argocd") -> str:
    """What the controller of an ApplicationSet complains of, or nothing."""
    found = condition(client.get(APPLICATION_SET, name, namespace=namespace), "ErrorOccurred")
    return found["message"] if found.get("status") == "True" else ""


def state(client: Client, name: str) -> ApplicationState:
    status: dict[str, Any] = client.get(APPLICATION, name, namespace="argocd").get("status", {})
    resources = {}
    for entry in status.get("resources", []):
        health = entry.get("health", {})
        found = (entry.get("status", ""), health.get("status", ""), health.get("message", ""))
        resources[f"{entry['kind']}/{entry['name']}"] = found
    return ApplicationState(
        sync=status.get("sync", {}).get("status", ""),
        health=status.get("health", {}).get("status", ""),
        revision=status.get("sync", {}).get("revision", ""),
        message=status.get("operationState", {}).get("message", "")
        or "; ".join(entry["message"] for entry in status.get("conditions", [])),
        resources=resources,
    )


def wait_until_settled(
    client: Client, name: str, *, revision: str | None, health: str = "Healthy"
) -> ApplicationState:
    """Wait until the Application is Synced, of this health and, when given, at this commit."""

    def look() -> ApplicationState | None:
        found = state(client, name)
        settled = (
            found.sync == "Synced" and found.health == health and revision in (None, found.revision)
        )
        return found if settled else None

    what = f"Application {name} is Synced and {health}" + (f" at {revision}" if revision else "")
    return wait_for(look, what=what, seen=lambda: state(client, name))


def refresh(client: Client, name: str, *, hard: bool = False) -> None:
    """Ask Argo CD to compare now; `hard` also forgets cached manifests."""
    annotations = {"argocd.argoproj.io/refresh": "hard" if hard else "normal"}
    client.patch(APPLICATION, name, {"metadata": {"annotations": annotations}}, namespace="argocd")


def refresh_set(client: Client, name: str, *, namespace: str = "argocd") -> None:
    """Ask the ApplicationSet controller to generate now."""
    # A new value each time: one that stayed after a look that failed would ask for nothing.
    annotations = {"argocd.argoproj.io/application-set-refresh": str(time.time_ns())}
    client.patch(
        APPLICATION_SET, name, {"metadata": {"annotations": annotations}}, namespace=namespace
    )
