"""The fields that are kept of each kind's objects, and references to objects for Events.

Typed decoding skips all other fields, so that an informer of a large hub stays small.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Final, TypeVar

import msgspec

from gitops_dsf.hub.application_sets import read_application_set
from gitops_dsf.hub.applications import ArgoApplication, read_application
from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.names import APPLICATION_REFRESH_ANNOTATION, PULL_ANNOTATION
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterAddOn, Placement, PlacementDecision
from gitops_dsf.hub.placements import PlacementSummary, summary_of
from gitops_dsf.hub.resources import APPLICATION_SETS, PLACEMENTS, SCORERS
from gitops_dsf.hub.scorerlist import INDEX_CONFIGMAP
from gitops_dsf.hub.scorers import DynamicScorer

T = TypeVar("T")


class InvolvedObject(msgspec.Struct, frozen=True, rename="camel"):
    """The namespaced object that an Event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class StoredMetadata(Metadata, frozen=True, rename="camel"):
    """Metadata of an object that is read in order to be changed."""

    resource_version: str = ""


class StoredObject(msgspec.Struct, frozen=True):
    """The metadata of any object that is read in order to be changed."""

    metadata: StoredMetadata


class VersionedApplication(msgspec.Struct, frozen=True):
    """An Application with its resourceVersion."""

    copy: ArgoApplication
    version: str
    hard_refresh: bool = False
    """Whether a hard refresh by this hub's Argo CD was requested and is not done yet."""


def _keyed(read: Callable[[msgspec.Raw], T], key: str) -> Callable[[msgspec.Raw], tuple[str, T]]:
    """Reads objects of a kind, with the attribute that is their key."""
    key_of = attrgetter(key)

    def project(raw: msgspec.Raw) -> tuple[str, T]:
        decoded = read(raw)
        return key_of(decoded), decoded

    return project


scorer: Final = _keyed(msgspec.json.Decoder(DynamicScorer).decode, "metadata.name")
cluster: Final = _keyed(msgspec.json.Decoder(ManagedCluster).decode, "metadata.name")
decision_page: Final = _keyed(msgspec.json.Decoder(PlacementDecision).decode, "metadata.name")
addon: Final = _keyed(msgspec.json.Decoder(ManagedClusterAddOn).decode, "cluster")
application_set: Final = _keyed(read_application_set, "name")
application: Final = _keyed(read_application, "name")


def placement(raw: msgspec.Raw) -> tuple[str, PlacementSummary]:
    """A Placement by its name."""
    decoded = msgspec.json.decode(raw, type=Placement)
    return decoded.metadata.name, summary_of(decoded)


def versioned(raw: msgspec.Raw) -> VersionedApplication:
    """An Application that is read in order to be changed or deleted."""
    metadata = msgspec.json.decode(raw, type=StoredObject).metadata
    # On the hub nothing compares an Application of OCM's pull integration or removes its
    # annotation.
    is_pulled = PULL_ANNOTATION in (metadata.annotations or {})
    return VersionedApplication(
        copy=read_application(raw),
        version=metadata.resource_version,
        hard_refresh=metadata.annotation(APPLICATION_REFRESH_ANNOTATION) == "hard"
        and not is_pulled,
    )


def scorer_reference(item: DynamicScorer) -> InvolvedObject:
    """A reference to a DynamicScorer, with its UID.

    Because of the UID, Events about a deleted scorer do not belong to a new one of the same name.
    For a scorer without an object, the reference is to the list that names it.
    """
    metadata = item.metadata
    namespace = metadata.namespace or ""
    if not metadata.uid:
        return InvolvedObject("v1", "ConfigMap", namespace, INDEX_CONFIGMAP, "")
    return InvolvedObject(
        SCORERS.api_version, "DynamicScorer", namespace, metadata.name, metadata.uid
    )


def application_set_reference(name: str, uid: str, namespace: str) -> InvolvedObject:
    return InvolvedObject(APPLICATION_SETS.api_version, "ApplicationSet", namespace, name, uid)


def placement_reference(name: str, item: PlacementSummary, namespace: str) -> InvolvedObject:
    return InvolvedObject(PLACEMENTS.api_version, "Placement", namespace, name, item.uid)
