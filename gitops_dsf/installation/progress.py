"""What an installation waits for: CRDs that are established, Applications that are synced, and a reconciler
that leads. Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gitops_dsf.hub.pods import obstacles, read_leadership
from gitops_dsf.views.doctor.facts import condition

Object = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that is waited for."""

    name: str
    done: bool
    state: str
    """Its state in words for people."""


def definition(name: str, item: Object | None) -> Step:
    """Our kind: the hub serves it once its CRD is established."""
    established = condition(item or {}, "Established")
    done = established is not None and established.get("status") == "True"
    state = "not there yet" if item is None else "established" if done else "not established yet"
    return Step(name=f"CustomResourceDefinition {name}", done=done, state=state)


def application(wanted: Object, item: Object | None) -> Step:
    """An Application of the rendered tree. It is done when Argo CD has applied the wanted source. Its health
    is not waited for, because it depends on the managed clusters.
    """
    name = f"Application {wanted['metadata']['name']}"
    status: Object = (item or {}).get("status") or {}
    sync = status.get("sync") or {}
    compared = (sync.get("comparedTo") or {}).get("source") or {}
    source = wanted["spec"]["source"]
    if any(compared.get(field) != source[field] for field in source):
        return Step(
            name=name, done=False, state=_problem(status) or "Argo CD has not compared it with git yet"
        )
    operation = status.get("operationState") or {}
    done = sync.get("status") == "Synced" and operation.get("phase", "Succeeded") == "Succeeded"
    health = (status.get("health") or {}).get("status")
    state = ", ".join(filter(None, (sync.get("status"), health)))
    if not done and (problem := _problem(status)):
        state = f"{state}: {problem}"
    return Step(name=name, done=done, state=state)


def _problem(status: Object) -> str:
    """What Argo CD says is wrong; empty if nothing is."""
    for one in status.get("conditions") or ():
        if str(one.get("type", "")).endswith("Error"):
            return str(one.get("message", ""))
    operation = status.get("operationState") or {}
    return "" if operation.get("phase") in {None, "Succeeded"} else str(operation.get("message", ""))


def leadership(
    lease: Object | None, *, deployment: Object | None, pods: Iterable[Object], now: datetime
) -> Step:
    """The reconciler. It works once a pod is ready and a replica holds the Lease, which outlives a pod that
    was killed.
    """
    name = "reconciler"
    if deployment is None:
        return Step(name=name, done=False, state="its Deployment is not there yet")
    if not (deployment.get("status") or {}).get("readyReplicas"):
        image = deployment["spec"]["template"]["spec"]["containers"][0].get("image")
        why = "; ".join(obstacles(pods)) or f"its image is {image}"
        return Step(name=name, done=False, state=f"no pod is ready; {why}")
    found = read_leadership(lease or {})
    if found.holder and found.stands(now):
        return Step(name=name, done=True, state=f"{found.holder} leads")
    return Step(name=name, done=False, state="no replica leads yet")
