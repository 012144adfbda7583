"""Applications that an ApplicationSet made: the copies of a workload, one per cluster."""

from typing import Final

import msgspec

from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.names import APPLICATION_LABEL, PULL_ANNOTATION

PRUNES: Final = "resources-finalizer.argocd.argoproj.io"
"""With this finalizer Argo CD deletes the workload with its Application; a suffix says in which order."""
INVALID: Final = "InvalidSpecError"
"""Condition of an Application whose destination Argo CD does not know."""


class _Destination(msgspec.Struct, frozen=True):
    name: str = ""
    server: str = ""


class _Spec(msgspec.Struct, frozen=True):
    destination: _Destination = _Destination()


class _Health(msgspec.Struct, frozen=True):
    status: str = ""


class _Sync(msgspec.Struct, frozen=True):
    status: str = ""


class _Operation(msgspec.Struct, frozen=True):
    phase: str = ""


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    message: str = ""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    conditions: list[_Condition] | None = None
    health: _Health = _Health()
    sync: _Sync = _Sync()
    operation_state: _Operation = _Operation()


class _Application(msgspec.Struct, frozen=True):
    metadata: Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class Application(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of an Application: where it runs and how it stands. Most of the object is its resources
    and its history.
    """

    name: str
    uid: str
    namespace: str = ""
    owner: str = ""
    """Name of the ApplicationSet; empty for an Application that none controls."""
    owner_uid: str = ""
    application: str = ""
    """The label gitops-dsf.io/application."""
    cluster: str = ""
    """Where it runs: the annotation of OCM's pull integration, or the name or server of its destination."""
    health: str = ""
    """Healthy, Progressing, Degraded, Suspended, Missing, Unknown; empty where Argo CD has not looked."""
    sync: str = ""
    """Synced, OutOfSync, Unknown; empty where Argo CD has not looked."""
    phase: str = ""
    """Of the last sync: Running, Terminating, Succeeded, Failed, Error; empty before the first."""
    prunes: bool = False
    """Whether the workload goes with it."""
    deleting: bool = False
    """Whether it has a deletionTimestamp."""
    refusal: str = ""
    """Why Argo CD does not take its destination; empty where it does."""


def read_application(raw: bytes | msgspec.Raw) -> Application:
    """From JSON. Raises msgspec.DecodeError."""
    item = msgspec.json.decode(raw, type=_Application)
    meta, status, destination = item.metadata, item.status, item.spec.destination
    owner = meta.controller("ApplicationSet")
    refusals = (
        each.message for each in status.conditions or () if each.type == INVALID and "cluster" in each.message
    )
    return Application(
        name=meta.name,
        uid=meta.uid,
        namespace=meta.namespace or "",
        owner=owner.name,
        owner_uid=owner.uid,
        application=meta.label(APPLICATION_LABEL),
        cluster=meta.annotation(PULL_ANNOTATION) or destination.name or destination.server,
        health=status.health.status,
        sync=status.sync.status,
        phase=status.operation_state.phase,
        prunes=any(each == PRUNES or each.startswith(f"{PRUNES}/") for each in meta.finalizers or ()),
        deleting=meta.deleting,
        refusal=next(refusals, ""),
    )
