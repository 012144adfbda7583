"""The steps that an installation waits for, judged by live objects. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gitops_dsf.argocd.failures import failure_of
from gitops_dsf.hub.programs.leadership import read_lease_claim
from gitops_dsf.hub.programs.pods import obstacles
from gitops_dsf.views.doctor.objects import condition

Manifest = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class InstallStep:
    """One thing that is waited for."""

    name: str
    done: bool
    state: str
    """Its state in words for people."""


def definition(name: str, live: Manifest | None) -> InstallStep:
    """Our kind: the hub serves it once its CRD is established."""
    title = f"CustomResourceDefinition {name}"
    if live is None:
        return InstallStep(name=title, done=False, state="not there yet")
    established = condition(live, "Established")
    if established is None or established.get("status") != "True":
        return InstallStep(name=title, done=False, state="not established yet")
    return InstallStep(name=title, done=True, state="established")


def application(wanted: Manifest, live: Manifest | None) -> InstallStep:
    """Done when Argo CD has applied the wanted source.

    Health is not waited for: it depends on clusters.
    """
    name = f"Application {wanted['metadata']['name']}"
    status: Manifest = (live or {}).get("status") or {}
    sync = status.get("sync") or {}
    operation = status.get("operationState") or {}
    failure = failure_of(status)
    if not failure and operation.get("phase") != "Succeeded":
        failure = operation.get("message") or ""
    # The status is that of an earlier source until Argo CD has compared this one. An Application
    # that was there before is then Synced, but with another revision or path.
    compared = (sync.get("comparedTo") or {}).get("source") or {}
    source = wanted["spec"]["source"]
    if any(compared.get(field) != source[field] for field in source):
        state = failure or "Argo CD has not compared it with git yet"
        return InstallStep(name=name, done=False, state=state)
    # Argo CD starts no operation for an Application that is Synced from the beginning.
    is_applied = operation.get("phase", "Succeeded") == "Succeeded"
    done = sync.get("status") == "Synced" and is_applied
    health = (status.get("health") or {}).get("status")
    state = ", ".join(filter(None, (sync.get("status"), health)))
    if failure and not done:
        return InstallStep(name=name, done=False, state=f"{state}: {failure}")
    return InstallStep(name=name, done=done, state=state)


def leadership(
    lease: Manifest | None, *, deployment: Manifest | None, pods: Iterable[Manifest], now: datetime
) -> InstallStep:
    """The reconciler works once a pod is ready and a replica holds the Lease."""
    name = "reconciler"
    if deployment is None:
        return InstallStep(name=name, done=False, state="its Deployment is not there yet")
    if not (deployment.get("status") or {}).get("readyReplicas"):
        return InstallStep(name=name, done=False, state=_why_no_pod_is_ready(deployment, pods))
    claim = read_lease_claim(lease or {})
    if claim.holder and claim.is_valid(now):
        return InstallStep(name=name, done=True, state=f"{claim.holder} leads")
    return InstallStep(name=name, done=False, state="no replica leads yet")


def _why_no_pod_is_ready(deployment: Manifest, pods: Iterable[Manifest]) -> str:
    reasons = "; ".join(obstacles(pods))
    if reasons:
        return f"no pod is ready; {reasons}"
    # No pod says why: the image is the first thing to check.
    image = deployment["spec"]["template"]["spec"]["containers"][0].get("image")
    return f"no pod is ready; its image is {image}"
