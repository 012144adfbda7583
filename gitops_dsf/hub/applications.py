"""Applications of Argo CD: one copy of an application on one cluster."""

from typing import Final

import msgspec

from gitops_dsf.hub import names
from gitops_dsf.hub.metadata import Condition, Metadata

PRUNES: Final = "resources-finalizer.argocd.argoproj.io"
"""A finalizer. A suffix after a slash sets the order in which Argo CD deletes."""
INVALID: Final = "InvalidSpecError"
"""Condition of an Application whose destination Argo CD does not know."""


class _Destination(msgspec.Struct, frozen=True):
    name: str = ""
    server: str = ""


class _Spec(msgspec.Struct, frozen=True):
    destination: _Destination = _Destination()


class _State(msgspec.Struct, frozen=True):
    status: str = ""
    phase: str = ""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    conditions: tuple[Condition, ...] | None = None
    health: _State = _State()
    sync: _State = _State()
    operation_state: _State = _State()


class _Application(msgspec.Struct, frozen=True):
    metadata: Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class Application(msgspec.Struct, frozen=True, kw_only=True):
    """The kept part of an Application; resources and history, most of it, are left out."""

    name: str
    uid: str
    namespace: str = ""
    owner: str = ""
    """Name of the ApplicationSet that controls it; empty if there is none."""
    owner_uid: str = ""
    application: str = ""
    """Value of the label gitops-dsf.io/application."""
    cluster: str = ""
    """The destination: by the annotation of OCM's pull integration, else its name or server."""
    health: str = ""
    """Healthy, Progressing, Degraded, Suspended, Missing or Unknown; empty before the first
    comparison.
    """
    sync: str = ""
    """Synced, OutOfSync or Unknown; empty before Argo CD's first comparison."""
    phase: str = ""
    """Of the last sync: Running, Terminating, Succeeded, Failed or Error; empty before the first
    one.
    """
    prunes: bool = False
    """Whether deleting the Application deletes the workload."""
    deleting: bool = False
    refusal: str = ""
    """Why Argo CD rejects the destination; empty if it does not."""


def prunes(finalizer: str) -> bool:
    """Says whether Argo CD deletes the workload together with an Application that has this finalizer."""
    return finalizer == PRUNES or finalizer.startswith(f"{PRUNES}/")


def read_application(raw: bytes | msgspec.Raw) -> Application:
    """Decodes an Application from JSON. Raises msgspec.DecodeError."""
    item = msgspec.json.decode(raw, type=_Application)
    meta, status, destination = item.metadata, item.status, item.spec.destination
    owner = meta.controller("ApplicationSet")
    invalid = (each.message for each in status.conditions or () if each.type == INVALID)
    return Application(
        name=meta.name,
        uid=meta.uid,
        namespace=meta.namespace or "",
        owner=owner.name,
        owner_uid=owner.uid,
        application=meta.label(names.APPLICATION_LABEL),
        cluster=meta.annotation(names.PULL_ANNOTATION) or destination.name or destination.server,
        health=status.health.status,
        sync=status.sync.status,
        phase=status.operation_state.phase,
        prunes=any(map(prunes, meta.finalizers or ())),
        deleting=meta.deleting,
        refusal=next((message for message in invalid if "cluster" in message), ""),
    )
