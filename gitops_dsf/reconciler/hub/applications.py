"""Applications that an ApplicationSet made: the copies of a workload, one per cluster."""

from datetime import datetime
from typing import Final

import msgspec

from gitops_dsf.reconciler.hub.metadata import Metadata
from gitops_dsf.render.applicationsets import APPLICATION_LABEL

APPLICATIONS_PATH: Final = "/apis/argoproj.io/v1alpha1/namespaces/{}/applications"
PRUNES: Final = "resources-finalizer.argocd.argoproj.io"
"""With this finalizer Argo CD deletes the workload with its Application; a suffix says in which order."""
PULLED: Final = "apps.open-cluster-management.io/ocm-managed-cluster"
"""Annotation that names the cluster, with delivery Pull, whose destination is the hub itself."""


class _Owner(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class _Metadata(Metadata, frozen=True, rename="camel"):
    owner_references: list[_Owner] = []
    deletion_timestamp: datetime | None = None
    finalizers: list[str] = []
    resource_version: str = ""


class _Destination(msgspec.Struct, frozen=True):
    name: str = ""


class _Spec(msgspec.Struct, frozen=True):
    destination: _Destination = _Destination()


class _Health(msgspec.Struct, frozen=True):
    status: str = ""


class _Sync(msgspec.Struct, frozen=True):
    status: str = ""


class _Operation(msgspec.Struct, frozen=True):
    phase: str = ""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    health: _Health = _Health()
    sync: _Sync = _Sync()
    operation_state: _Operation = _Operation()


class _Application(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """An Application, as one of the copies that an ApplicationSet made."""

    name: str
    uid: str
    owner: str = ""
    """Name of the ApplicationSet; empty for an Application that none controls."""
    owner_uid: str = ""
    application: str = ""
    """The label gitops-dsf.io/application."""
    cluster: str = ""
    """Where it runs: the annotation of OCM's pull integration, or spec.destination.name; empty when it names none."""
    health: str = ""
    """Healthy, Progressing, Degraded, Suspended, Missing, Unknown; empty where Argo CD has not looked."""
    sync: str = ""
    """Synced, OutOfSync, Unknown; empty where Argo CD has not looked."""
    phase: str = ""
    """Of the last sync: Running, Terminating, Succeeded, Failed, Error; empty before the first."""
    prunes: bool = False
    """Whether the workload goes with it."""
    going: bool = False
    """Whether it has a deletionTimestamp."""


class Versioned(msgspec.Struct, frozen=True):
    """A copy as it was at a version."""

    copy: Copy
    version: str


def application(raw: msgspec.Raw) -> tuple[str, Copy]:
    """Keyed by name."""
    item = msgspec.json.decode(raw, type=_Application)
    return item.metadata.name, _copy(item)


def versioned(raw: msgspec.Raw) -> Versioned:
    """With the resourceVersion, for what is read in order to be changed."""
    item = msgspec.json.decode(raw, type=_Application)
    return Versioned(copy=_copy(item), version=item.metadata.resource_version)


def _copy(item: _Application) -> Copy:
    meta = item.metadata
    owner = next((each for each in meta.owner_references if each.controller and each.kind == "ApplicationSet"), _Owner())
    return Copy(
        name=meta.name,
        uid=meta.uid,
        owner=owner.name,
        owner_uid=owner.uid,
        application=meta.labels.get(APPLICATION_LABEL, ""),
        cluster=meta.annotations.get(PULLED) or item.spec.destination.name,
        health=item.status.health.status,
        sync=item.status.sync.status,
        phase=item.status.operation_state.phase,
        prunes=any(each == PRUNES or each.startswith(f"{PRUNES}/") for each in meta.finalizers),
        going=meta.deletion_timestamp is not None,
    )
