"""The hub objects that decide a placement, read from plain dicts.

Only the fields that OCM's scheduler reads are modelled; others are ignored, as the Go decoder ignores them. Types and
ranges follow the CRDs of `cluster.open-cluster-management.io` (int32, date-time, int-or-string), so that a value no
API server would store is refused with its path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from gitops_dsf.simulator.errors import SimulatorInputError

GROUP = "cluster.open-cluster-management.io"
GROUP_NAME_LABEL = f"{GROUP}/decision-group-name"
GROUP_INDEX_LABEL = f"{GROUP}/decision-group-index"
CLUSTER_SET_LABEL = f"{GROUP}/clusterset"
DISABLE_ANNOTATION = f"{GROUP}/experimental-scheduling-disable"

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Timestamp = Annotated[datetime, Meta(tz=True)]
"""RFC 3339 with an offset, as metav1.Time; a datetime must know its time zone."""


class Metadata(Struct, frozen=True, rename="camel", gc=False):
    name: Annotated[str, Meta(min_length=1)]
    namespace: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    deletion_timestamp: Timestamp | None = None


class LabelRequirement(Struct, frozen=True, rename="camel", gc=False):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class LabelSelector(Struct, frozen=True, rename="camel", gc=False):
    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelRequirement, ...] | None = None


class ClaimSelector(Struct, frozen=True, rename="camel", gc=False):
    match_expressions: tuple[LabelRequirement, ...] | None = None


class CelSelector(Struct, frozen=True, rename="camel", gc=False):
    cel_expressions: tuple[str, ...] | None = None


class ClusterSelector(Struct, frozen=True, rename="camel", gc=False):
    label_selector: LabelSelector | None = None
    claim_selector: ClaimSelector | None = None
    cel_selector: CelSelector | None = None


class ClusterPredicate(Struct, frozen=True, rename="camel", gc=False):
    required_cluster_selector: ClusterSelector | None = None


class AddOnCoordinate(Struct, frozen=True, rename="camel", gc=False):
    resource_name: str = ""
    score_name: str = ""


class ScoreCoordinate(Struct, frozen=True, rename="camel", gc=False):
    type: str = ""
    built_in: str = ""
    add_on: AddOnCoordinate | None = None


class PrioritizerConfig(Struct, frozen=True, rename="camel", gc=False):
    score_coordinate: ScoreCoordinate | None = None
    weight: Int32 = 0


class PrioritizerPolicy(Struct, frozen=True, rename="camel", gc=False):
    mode: str | None = None
    configurations: tuple[PrioritizerConfig, ...] | None = None


class Toleration(Struct, frozen=True, rename="camel", gc=False):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class DecisionGroup(Struct, frozen=True, rename="camel", gc=False):
    group_name: str = ""
    group_cluster_selector: ClusterSelector | None = None


class GroupStrategy(Struct, frozen=True, rename="camel", gc=False):
    clusters_per_decision_group: Int32 | str | None = None
    decision_groups: tuple[DecisionGroup, ...] | None = None


class DecisionStrategy(Struct, frozen=True, rename="camel", gc=False):
    group_strategy: GroupStrategy | None = None


class PlacementSpec(Struct, frozen=True, rename="camel", gc=False):
    cluster_sets: tuple[str, ...] | None = None
    number_of_clusters: Int32 | None = None
    predicates: tuple[ClusterPredicate, ...] | None = None
    prioritizer_policy: PrioritizerPolicy | None = None
    tolerations: tuple[Toleration, ...] | None = None
    decision_strategy: DecisionStrategy | None = None


class Placement(Struct, frozen=True, rename="camel", gc=False):
    metadata: Metadata
    spec: PlacementSpec = PlacementSpec()

    @property
    def key(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"


class Taint(Struct, frozen=True, rename="camel", gc=False):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: Timestamp | None = None


class ManagedClusterSpec(Struct, frozen=True, rename="camel", gc=False):
    taints: tuple[Taint, ...] | None = None


class ClusterClaim(Struct, frozen=True, rename="camel", gc=False):
    name: str = ""
    value: str = ""


class ManagedClusterStatus(Struct, frozen=True, rename="camel", gc=False):
    allocatable: dict[str, str | int | float] | None = None
    capacity: dict[str, str | int | float] | None = None
    cluster_claims: tuple[ClusterClaim, ...] | None = None


class ManagedCluster(Struct, frozen=True, rename="camel", gc=False):
    metadata: Metadata
    spec: ManagedClusterSpec | None = None
    status: ManagedClusterStatus | None = None


class SetSelector(Struct, frozen=True, rename="camel", gc=False):
    selector_type: str = ""
    label_selector: LabelSelector | None = None


class ManagedClusterSetSpec(Struct, frozen=True, rename="camel", gc=False):
    cluster_selector: SetSelector | None = None


class ManagedClusterSet(Struct, frozen=True, rename="camel", gc=False):
    metadata: Metadata
    spec: ManagedClusterSetSpec | None = None


class ManagedClusterSetBinding(Struct, frozen=True, rename="camel", gc=False):
    metadata: Metadata


class ScoreItem(Struct, frozen=True, gc=False):
    name: str
    value: Int32


class ScoreStatus(Struct, frozen=True, rename="camel", gc=False):
    scores: tuple[ScoreItem, ...] | None = None
    valid_until: Timestamp | None = None


class ScoreMetadata(Struct, frozen=True, gc=False):
    name: Annotated[str, Meta(min_length=1)]
    namespace: str | None = None


class AddOnPlacementScore(Struct, frozen=True, gc=False):
    metadata: ScoreMetadata
    status: ScoreStatus | None = None


class ClusterDecision(Struct, frozen=True, rename="camel", gc=False):
    cluster_name: str = ""


class PlacementDecisionStatus(Struct, frozen=True, gc=False):
    decisions: tuple[ClusterDecision, ...] | None = None


class PlacementDecision(Struct, frozen=True, gc=False):
    metadata: Metadata
    status: PlacementDecisionStatus | None = None

    @property
    def cluster_names(self) -> tuple[str, ...]:
        decisions = self.status.decisions if self.status else None
        return tuple(decision.cluster_name for decision in decisions or ())


HubObject = Placement | ManagedCluster | ManagedClusterSet | ManagedClusterSetBinding | AddOnPlacementScore | PlacementDecision

KINDS: Mapping[str, type[HubObject]] = {
    "AddOnPlacementScore": AddOnPlacementScore,
    "ManagedCluster": ManagedCluster,
    "ManagedClusterSet": ManagedClusterSet,
    "ManagedClusterSetBinding": ManagedClusterSetBinding,
    "Placement": Placement,
    "PlacementDecision": PlacementDecision,
}
CLUSTER_SCOPED = frozenset({"ManagedCluster", "ManagedClusterSet"})


def describe(document: object, position: int) -> str:
    """Names a document for a message: kind and name where they can be read, its position in the list always."""
    if isinstance(document, Mapping):
        metadata = document.get("metadata")
        if isinstance(metadata, Mapping) and metadata.get("name"):
            namespace = metadata.get("namespace")
            name = f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
            return f"objects[{position}] ({document.get('kind', 'no kind')} {name})"
    return f"objects[{position}]"


def flatten(documents: object) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Every document with its position; `kind: List` (what `kubectl get -o json` prints) is opened."""
    if isinstance(documents, (str, bytes, Mapping)) or not hasattr(documents, "__iter__"):
        raise SimulatorInputError(
            f"objects must be a list of Kubernetes objects as dicts, not {type(documents).__name__}; parse files first"
        )
    for position, document in enumerate(documents):
        if not isinstance(document, (dict, Mapping)):  # dict first: the check of the abstract class is slow
            raise SimulatorInputError(f"objects[{position}] is {type(document).__name__}, not a dict; give one dict per Kubernetes object")
        if document.get("kind") == "List":
            for _, item in flatten(document.get("items") or ()):
                yield position, item
        else:
            yield position, document


def read(document: Mapping[str, Any], position: int) -> HubObject:
    """One typed object.

    Raises:
        SimulatorInputError: a kind the scheduler does not read, a missing name or namespace, a value of a wrong type.
    """
    kind = document.get("kind")
    model = KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        shown = f"kind {kind!r}" if kind is not None else "no kind"
        raise SimulatorInputError(f"{describe(document, position)} has {shown}; the simulator reads {', '.join(sorted(KINDS))}")
    version = document.get("apiVersion")
    if version is not None and (not isinstance(version, str) or not version.startswith(f"{GROUP}/")):
        raise SimulatorInputError(f"{describe(document, position)} has apiVersion {version!r}; expected {GROUP}/<version>")
    try:
        return msgspec.convert(document, model)
    except msgspec.ValidationError as error:
        detail = str(error).replace(" - at `$.", " at `").replace(" - at `$", " at `")
        raise SimulatorInputError(f"{describe(document, position)}: {detail}") from error
