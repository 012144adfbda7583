"""Kinds of OCM and Argo CD that a fleet repository may hold.

The inventory is read and never rendered. Raw Placements, ManagedClusterSetBindings and
ApplicationSets are carried as they are, and checked for what OCM and Argo CD would do with them.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from gitops_dsf.repository.model.base import DnsLabel, DnsName, Foreign, Labels, LabelSelector

BUILT_IN_SETS: Final = ("default", "global")
"""Sets that OCM's registration controller creates on every hub; the inventory need not repeat them.
"""
DUCK_TYPE_CONFIGMAP: Final = "gitops-dsf-placement-decisions"
"""ConfigMap that tells clusterDecisionResource generators how to read decisions: rendered, with
matchKey clusterName.
"""


class ClusterMetadata(Foreign):
    """The fields of a cluster's metadata that are read."""

    name: DnsLabel
    """Name of the cluster, and of its namespace on the hub."""
    labels: Labels = Field(default_factory=dict)


class Claim(Foreign):
    """A ClusterClaim that the cluster reported."""

    name: str
    value: str = ""


class ManagedClusterSpec(Foreign):
    """The fields of a cluster's spec that are read."""

    # OCM 1.2.1 also schedules to clusters that are not accepted. Only taints keep it from them.
    hub_accepts_client: bool = True
    taints: list[dict[str, Any]] = Field(default_factory=list)


class ManagedClusterStatus(Foreign):
    """The fields of a cluster's status that are read; `import` copies them from a hub."""

    # OCM's agent reports at most 20 claims that people made for a cluster, in order of name.
    cluster_claims: list[Claim] = Field(default_factory=list)
    # OCM's prioritizers for resources need both fields. A cluster without one of them counts as 0,
    # which beats each cluster below the middle (OCM 1.2.1).
    allocatable: dict[str, str | int] = Field(default_factory=dict)
    capacity: dict[str, str | int] = Field(default_factory=dict)


class ManagedCluster(Foreign):
    """A cluster of the fleet."""

    api_version: Literal["cluster.open-cluster-management.io/v1"]
    kind: Literal["ManagedCluster"]
    metadata: ClusterMetadata
    spec: ManagedClusterSpec = ManagedClusterSpec()
    status: ManagedClusterStatus = ManagedClusterStatus()


class SetSelector(Foreign):
    """Which clusters are members of a set."""

    selector_type: Literal["ExclusiveClusterSetLabel", "LabelSelector", ""] = (
        "ExclusiveClusterSetLabel"
    )
    # With type LabelSelector an absent selector selects nothing, an empty one all (OCM 1.2.1).
    label_selector: LabelSelector | None = None


class ManagedClusterSetSpec(Foreign):
    """The fields of a set's spec that are read."""

    cluster_selector: SetSelector = SetSelector()


class SetMetadata(Foreign):
    """The fields of a set's metadata that are read."""

    # Clusters name their set in a label, and Kubernetes limits values of labels to 63 characters.
    name: Annotated[str, Field(min_length=1, max_length=63)]


class ManagedClusterSet(Foreign):
    """A set of clusters."""

    api_version: Literal["cluster.open-cluster-management.io/v1beta2"]
    kind: Literal["ManagedClusterSet"]
    metadata: SetMetadata
    spec: ManagedClusterSetSpec = ManagedClusterSetSpec()


class RawMetadata(Foreign):
    """Metadata of a document that is carried as it is."""

    model_config = ConfigDict(extra="allow")

    name: DnsName
    namespace: Annotated[DnsLabel | None, BeforeValidator(lambda written: written or None)] = None
    """The AppProject allows it, and would read `*` and `!` in it as a pattern."""
    labels: Labels = {}
    annotations: Labels = {}


class RawPlacement(Foreign):
    """An OCM Placement that somebody wrote by hand; its traps are rules, not types."""

    api_version: Literal["cluster.open-cluster-management.io/v1beta1"]
    kind: Literal["Placement"]
    metadata: RawMetadata
    # OCM's CRD has neither an enum on mode nor names of built-in prioritizers. A strict type would
    # refuse what OCM accepts, and could not say what OCM does with it.
    spec: dict[str, Any] = Field(default_factory=dict)


class BindingSpec(Foreign):
    """The fields of a binding's spec that are read."""

    cluster_set: DnsLabel
    """Name of the ManagedClusterSet; OCM requires it to be the name of the binding, too."""


class RawBinding(Foreign):
    """An OCM ManagedClusterSetBinding that somebody wrote by hand.

    It lets the Placements of its namespace choose from a ManagedClusterSet.
    """

    api_version: Literal["cluster.open-cluster-management.io/v1beta2"]
    kind: Literal["ManagedClusterSetBinding"]
    metadata: RawMetadata
    spec: BindingSpec


class RawApplicationSet(Foreign):
    """An Argo CD ApplicationSet that somebody wrote by hand."""

    api_version: Literal["argoproj.io/v1alpha1"]
    kind: Literal["ApplicationSet"]
    metadata: RawMetadata
    spec: dict[str, Any]
