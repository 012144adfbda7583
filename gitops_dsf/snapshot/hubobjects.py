"""OCM's own objects, as the API server or an agent writes them, to the values of a snapshot."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.snapshot.errors import SnapshotError
from gitops_dsf.snapshot.values import Decision, Facts, PublishedScore

T = TypeVar("T")
Timestamp = Annotated[datetime, Meta(tz=True)]
Score = Annotated[int, Meta(ge=SCORE_MIN, le=SCORE_MAX)]
"""AddOnPlacementScore CRD: status.scores[].value."""


class _Metadata(Struct, frozen=True):
    name: Annotated[str, Meta(min_length=1)]
    namespace: Annotated[str, Meta(min_length=1)]
    labels: dict[str, str] | None = None


class _Item(Struct, frozen=True):
    name: str
    value: Score


class _ScoreStatus(Struct, frozen=True, rename="camel"):
    scores: list[_Item] | None = None
    valid_until: Timestamp | None = None


class _ScoreObject(Struct, frozen=True):
    metadata: _Metadata
    status: _ScoreStatus | None = None


class _ClusterDecision(Struct, frozen=True, rename="camel"):
    cluster_name: str


class _DecisionStatus(Struct, frozen=True):
    decisions: list[_ClusterDecision] | None = None


class _DecisionObject(Struct, frozen=True):
    metadata: _Metadata
    status: _DecisionStatus | None = None


class _ClusterMetadata(Struct, frozen=True):
    name: Annotated[str, Meta(min_length=1)]


class _Named(Struct, frozen=True):
    metadata: _ClusterMetadata


def score(data: Mapping[str, Any], *, place: str) -> tuple[str, str, PublishedScore]:
    """Name, cluster and content of an AddOnPlacementScore. Raises SnapshotError."""
    found = _read(data, _ScoreObject, place)
    status = found.status or _ScoreStatus()
    values = {item.name: item.value for item in status.scores or ()}
    return found.metadata.name, found.metadata.namespace, PublishedScore(values=values, valid_until=status.valid_until)


def decision(data: Mapping[str, Any], *, place: str) -> Decision:
    """A PlacementDecision. Raises SnapshotError."""
    found = _read(data, _DecisionObject, place)
    metadata = found.metadata
    clusters = tuple(item.cluster_name for item in (found.status.decisions if found.status else None) or ())
    placement = (metadata.labels or {}).get(PLACEMENT_LABEL, "")
    return Decision(namespace=metadata.namespace, name=metadata.name, placement=placement, clusters=clusters)


def cluster(data: Mapping[str, Any], *, place: str) -> tuple[str, Facts]:
    """Name and facts of a ManagedCluster: of a whole object, an absent label or taint is known to be absent. Raises SnapshotError."""
    name = _read(data, _Named, place).metadata.name
    metadata = data["metadata"]
    known: dict[str, Any] = {"name": name, "labels": metadata.get("labels") or {}}
    known |= {key: metadata[key] for key in ("creationTimestamp", "deletionTimestamp") if metadata.get(key)}
    spec, status = (_section(data, name, key, place) for key in ("spec", "status"))
    return name, {
        "metadata": known,
        "spec": {"taints": [], **spec},
        "status": {"clusterClaims": [], **status},
    }


def _section(data: Mapping[str, Any], name: str, key: str, place: str) -> Mapping[str, Any]:
    section = data.get(key)
    if section is not None and not isinstance(section, Mapping):
        msg = f"{place}: ManagedCluster {name}: {key} must be an object"
        raise SnapshotError(msg)
    return section or {}


def name_of(data: Mapping[str, Any], *, place: str) -> str:
    """metadata.name. Raises SnapshotError."""
    return _read(data, _Named, place).metadata.name


def namespaced(data: Mapping[str, Any], *, place: str) -> tuple[str, str]:
    """metadata.namespace and metadata.name. Raises SnapshotError."""
    metadata = _read(data, _DecisionObject, place).metadata
    return metadata.namespace, metadata.name


def _read(data: Mapping[str, Any], model: type[T], place: str) -> T:
    try:
        return msgspec.convert(data, model)
    except msgspec.ValidationError as error:
        metadata = data.get("metadata")
        known = [metadata[key] for key in ("namespace", "name") if metadata.get(key)] if isinstance(metadata, Mapping) else []
        which = " ".join(filter(None, (str(data.get("kind") or ""), "/".join(map(str, known)))))
        detail = str(error).replace(" - at `$.", " at `")
        msg = ": ".join(filter(None, (place, which, detail)))
        raise SnapshotError(msg) from error
