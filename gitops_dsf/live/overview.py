"""Reads what a view of a hub is made of (gitops_dsf.views.status). Objects are reduced while their page is read."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from dsf_wire.constants import (
    ADDON_NAME,
    AGENT_MANAGER,
    DSF_GROUP,
    DSF_VERSION,
    MANAGED_BY_LABEL,
    SCORE_GROUP,
    SCORE_PLURAL,
    SCORE_VERSION,
    SUSPENDED_CONFIGMAP,
    SUSPENDED_KEY,
)
from dsf_wire.ownership import FieldsEntry, Writer, other_writers
from gitops_dsf.errors import HubError
from gitops_dsf.hub.addons import ManagedClusterAddOn
from gitops_dsf.hub.masks import Mask, read_masks
from gitops_dsf.hub.names import APPLICATION_LABEL, MASKS_CONFIGMAP, MASKS_KEY
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.live.reader import Object, Reader, Resource, T, whole
from gitops_dsf.snapshot import Snapshot, SnapshotError, hubobjects
from gitops_dsf.snapshot.unread import Unread, Why
from gitops_dsf.snapshot.values import PublishedScore
from gitops_dsf.views.status import Inputs, Part

CLUSTERS: Final = Resource(group=SCORE_GROUP, version="v1", plural="managedclusters")
SETS: Final = Resource(group=SCORE_GROUP, version="v1beta2", plural="managedclustersets")
BINDINGS: Final = Resource(group=SCORE_GROUP, version="v1beta2", plural="managedclustersetbindings")
DECISIONS: Final = Resource(group=SCORE_GROUP, version="v1beta1", plural="placementdecisions")
PLACEMENTS: Final = Resource(group=SCORE_GROUP, version="v1beta1", plural="placements")
SCORES: Final = Resource(group=SCORE_GROUP, version=SCORE_VERSION, plural=SCORE_PLURAL)
ADDONS: Final = Resource(group="addon.open-cluster-management.io", version="v1alpha1", plural="managedclusteraddons")


def scorers_in(namespace: str) -> Resource:
    """DynamicScorers."""
    return Resource(group=DSF_GROUP, version=DSF_VERSION, plural="dynamicscorers", namespace=namespace)


def argo(plural: str, namespace: str) -> Resource:
    """One of Argo CD's kinds."""
    return Resource(group="argoproj.io", version="v1alpha1", plural=plural, namespace=namespace)


def read_inputs(reader: Reader, *, hub_namespace: str, argocd_namespace: str) -> Inputs:
    """One look at a hub. Raises HubError when it does not answer, or when it is none."""
    parts = _Parts()
    clusters = parts.take(Part.CLUSTERS, reader.read(CLUSTERS, whole))
    if (unread := parts.unread.get(Part.CLUSTERS)) is not None and unread.why is Why.NOT_INSTALLED:
        msg = f"context {reader.context}: {unread}; this cluster is no OCM hub"
        raise HubError(msg)
    sets = parts.take(Part.SETS, reader.read(SETS, _with_kind("ManagedClusterSet")))
    bindings = parts.take(Part.BINDINGS, reader.read(BINDINGS, whole))
    decisions = parts.take(Part.DECISIONS, reader.read(DECISIONS, whole))
    scorers = parts.take(Part.SCORERS, reader.read(scorers_in(hub_namespace), lambda raw: msgspec.json.decode(raw, type=DynamicScorer)))
    resources = {item.resource for item in scorers}
    scores: dict[str, dict[str, PublishedScore]] = {}
    foreign: list[tuple[str, str]] = []
    unowned: list[tuple[str, str]] = []
    contested: list[tuple[str, str, str]] = []
    for name, cluster, ours, others, found in parts.take(Part.SCORES, reader.read(SCORES, _score)):
        scores.setdefault(name, {})[cluster] = found
        if ours != (name in resources):
            (unowned if ours else foreign).append((cluster, name))
        if ours:
            contested += [(cluster, name, other.manager) for other in others]
    place = f"context {reader.context}"
    snapshot = Snapshot(
        origin=place,
        observed_at=reader.now(),
        scores=scores,
        decisions=tuple(sorted((hubobjects.decision(item, place=place) for item in decisions), key=lambda one: (one.namespace, one.name))),
        clusters=dict(hubobjects.cluster(item, place=place) for item in clusters),
        sets={str(item["metadata"]["name"]): item for item in sets},
        bindings=tuple(sorted(hubobjects.namespaced(item, place=place) for item in bindings)),
    )
    settings = Resource(plural="configmaps", namespace=hub_namespace)
    masks = _masks(reader.find(settings, MASKS_CONFIGMAP), settings)
    suspended = _suspended(reader.find(settings, SUSPENDED_CONFIGMAP), settings)
    applications = reader.read(argo("applications", argocd_namespace), reduced_application, labels=APPLICATION_LABEL)
    return Inputs(
        snapshot=snapshot,
        now=reader.now(),
        scorers=scorers,
        placements=parts.take(Part.PLACEMENTS, reader.read(PLACEMENTS, whole)),
        application_sets=parts.take(Part.APPLICATION_SETS, reader.read(argo("applicationsets", argocd_namespace), whole)),
        applications=parts.take(Part.APPLICATIONS, applications),
        addons={item.cluster: item for item in parts.take(Part.ADDONS, reader.read(ADDONS, _addon, name=ADDON_NAME, metadata_only=True))},
        masks=parts.take(Part.MASKS, masks),
        suspended=frozenset(parts.take(Part.SUSPENDED, suspended)),
        foreign=tuple(sorted(foreign)),
        contested=tuple(sorted(contested)),
        unowned=tuple(sorted(unowned)) if Part.SCORERS not in parts.unread else (),
        unread=parts.unread,
    )


class _Parts:
    """Collects what could not be read."""

    def __init__(self) -> None:
        self.unread: dict[Part, Unread] = {}

    def take(self, part: Part, found: tuple[T, ...] | Unread) -> tuple[T, ...]:
        if isinstance(found, Unread):
            self.unread[part] = found
            return ()
        return found


def reduced_application(raw: msgspec.Raw) -> Object:
    """An Application without its resources, history and sync results, which are most of it."""
    item = whole(raw)
    metadata, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    kept = ("name", "namespace", "labels", "annotations", "deletionTimestamp")
    operation = status.get("operationState") or {}
    return {
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "spec": {"destination": spec.get("destination") or {}},
        "status": {
            "health": status.get("health") or {},
            "sync": {"status": (status.get("sync") or {}).get("status", "")},
            "conditions": status.get("conditions") or [],
            "operationState": {key: operation.get(key, "") for key in ("phase", "message")},
        },
    }


def _with_kind(kind: str) -> Callable[[msgspec.Raw], Object]:
    """The API server leaves the kind out of the items of a list."""
    return lambda raw: {"kind": kind, **whole(raw)}


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    managed_fields: tuple[FieldsEntry, ...] = ()


class _Owned(msgspec.Struct, frozen=True):
    metadata: _Metadata


def _score(raw: msgspec.Raw) -> tuple[str, str, bool, tuple[Writer, ...], PublishedScore]:
    """Name, cluster, whether an agent of ours wrote it, who else writes it, and what it says.

    One spoke must not hide the others: the API server stores a validUntil that is no moment, such as one with the offset +99:99. Such a
    score holds nothing that can be used.
    """
    item = whole(raw)
    writer = (item["metadata"].get("labels") or {}).get(MANAGED_BY_LABEL)
    try:
        name, cluster, found = hubobjects.score(item, place="AddOnPlacementScore")
    except SnapshotError:
        cluster, name = hubobjects.namespaced({"metadata": item["metadata"]}, place="AddOnPlacementScore")
        found = PublishedScore(values={}, valid_until=None)
    entries = msgspec.json.decode(raw, type=_Owned).metadata.managed_fields
    ours = writer == AGENT_MANAGER
    return name, cluster, ours, other_writers(entries, labelled=ours, scored=bool(found.values)), found


def _addon(raw: msgspec.Raw) -> ManagedClusterAddOn:
    return msgspec.json.decode(raw, type=ManagedClusterAddOn)


def _masks(found: Object | Unread | None, where: Resource) -> tuple[Mask, ...] | Unread:
    if isinstance(found, Unread):
        return found
    what = where.describe(MASKS_CONFIGMAP)
    if found is None:
        return Unread(what=what, why=Why.FAILED, verb="get", detail="it is not there, so a masked score is shown as missing")
    try:
        return read_masks((found.get("data") or {}).get(MASKS_KEY, "[]"))
    except (msgspec.DecodeError, TypeError) as error:
        return Unread(what=what, why=Why.FAILED, verb="get", detail=f"{MASKS_KEY} is not a list of masks: {error}")


def _suspended(found: Object | Unread | None, where: Resource) -> tuple[str, ...] | Unread:
    if isinstance(found, Unread):
        return found
    data: Mapping[str, Any] = (found or {}).get("data") or {}
    try:
        return msgspec.json.decode(data.get(SUSPENDED_KEY, "[]"), type=tuple[str, ...])
    except msgspec.DecodeError as error:
        detail = f"{SUSPENDED_KEY} is not a list of score names: {error}"
        return Unread(what=where.describe(SUSPENDED_CONFIGMAP), why=Why.FAILED, verb="get", detail=detail)
