"""Applications of Argo CD: one copy of an application on one cluster.

The fields that are kept decide whether an old copy may be deleted. Not guaranteed: that health and
sync are of now. Argo CD writes them after its last comparison, which may be long ago where it does
not reach the cluster.
"""

from typing import Final

import msgspec

from gitops_dsf.hub import names
from gitops_dsf.hub.metadata import Metadata, ObjectCondition

PRUNES: Final = "resources-finalizer.argocd.argoproj.io"
"""A finalizer. A suffix after a slash sets the order in which Argo CD deletes."""
INVALID: Final = "InvalidSpecError"
"""Condition of an Application whose destination Argo CD does not know."""


class _Destination(msgspec.Struct, frozen=True):
    name: str = ""
    server: str = ""


class _ApplicationSpec(msgspec.Struct, frozen=True):
    destination: _Destination = _Destination()


class _StatusPart(msgspec.Struct, frozen=True):
    """`status.health`, `status.sync` or `status.operationState`; each has one of the two fields."""

    status: str = ""
    phase: str = ""


class _ApplicationStatus(msgspec.Struct, frozen=True, rename="camel"):
    conditions: tuple[ObjectCondition, ...] | None = None
    health: _StatusPart = _StatusPart()
    sync: _StatusPart = _StatusPart()
    operation_state: _StatusPart = _StatusPart()


class _ApplicationObject(msgspec.Struct, frozen=True):
    metadata: Metadata
    spec: _ApplicationSpec = _ApplicationSpec()
    status: _ApplicationStatus = _ApplicationStatus()


class ArgoApplication(msgspec.Struct, frozen=True, kw_only=True):
    """The kept part of an Application; resources and history, most of it, are left out."""

    name: str
    uid: str
    namespace: str = ""
    owner: str = ""
    """Name of the ApplicationSet that controls it; empty if there is none."""
    owner_uid: str = ""
    application: str = ""
    """Value of the label gitops-dsf.io/application. `recognised` fills it in where it is absent."""
    cluster: str = ""
    """The destination: by the annotation of OCM's pull integration, else its name or server."""
    health: str = ""
    """Healthy, Progressing, Degraded, Suspended, Missing or Unknown.

    Empty before Argo CD's first comparison.
    """
    sync: str = ""
    """Synced, OutOfSync or Unknown; empty before Argo CD's first comparison."""
    # While retries are left, a failed sync is Running (Argo CD 3.6.1).
    phase: str = ""
    """The phase of the last sync: Running, Terminating, Succeeded, Failed or Error; else empty."""
    prunes: bool = False
    """Whether deleting the Application deletes the workload."""
    deleting: bool = False
    refusal: str = ""
    """The reason why Argo CD rejects the destination; empty if it does not."""


def prunes(finalizer: str) -> bool:
    """Whether Argo CD deletes the workload together with an Application of this finalizer."""
    return finalizer == PRUNES or finalizer.startswith(f"{PRUNES}/")


def read_application(raw: bytes | msgspec.Raw) -> ArgoApplication:
    """Decodes an Application from JSON. Raises msgspec.DecodeError."""
    application = msgspec.json.decode(raw, type=_ApplicationObject)
    metadata = application.metadata
    status = application.status
    destination = application.spec.destination
    owner = metadata.controller("ApplicationSet")
    # The destination of a pulled Application is the hub; only the annotation names its cluster
    # (docs/contributing/behaviour.md#pull-integration).
    pulled_to = metadata.annotation(names.PULL_ANNOTATION)
    return ArgoApplication(
        name=metadata.name,
        uid=metadata.uid,
        namespace=metadata.namespace or "",
        owner=owner.name,
        owner_uid=owner.uid,
        application=metadata.label(names.APPLICATION_LABEL),
        cluster=pulled_to or destination.name or destination.server,
        health=status.health.status,
        sync=status.sync.status,
        phase=status.operation_state.phase,
        prunes=any(map(prunes, metadata.finalizers or ())),
        deleting=metadata.deleting,
        refusal=_refusal(status.conditions or ()),
    )


def _refusal(conditions: tuple[ObjectCondition, ...]) -> str:
    """The reason why Argo CD rejects the destination; empty if it does not."""
    for condition in conditions:
        # Argo CD 3.6.1 also reports mistakes in sources by this condition (util/argo/argo.go). Only
        # messages about the destination speak of a cluster.
        if condition.type == INVALID and "cluster" in condition.message:
            return condition.message
    return ""
