"""The inventory: OCM's own ManagedCluster and ManagedClusterSet. Read, never rendered."""

from typing import Annotated, Any, Literal

from pydantic import Field

from gitops_dsf.repository.model.base import DnsLabel, Foreign, Labels, LabelSelector

BUILT_IN_SETS = ("default", "global")
"""Sets that OCM's registration controller creates on every hub; the inventory need not repeat them."""


class ClusterMetadata(Foreign):
    """The fields of a cluster's metadata that are read."""

    name: DnsLabel
    """Name of the cluster, and of its namespace on the hub."""
    labels: Labels = {}


class Claim(Foreign):
    """A ClusterClaim that the cluster reported."""

    name: str
    value: str = ""


class ManagedClusterSpec(Foreign):
    """The fields of a cluster's spec that are read."""

    hub_accepts_client: bool = True
    taints: list[dict[str, Any]] = []


class ManagedClusterStatus(Foreign):
    """The fields of a cluster's status that are read; `import` copies them from a hub."""

    cluster_claims: list[Claim] = []
    allocatable: dict[str, str | int] = {}
    capacity: dict[str, str | int] = {}


class ManagedCluster(Foreign):
    """A cluster of the fleet."""

    api_version: Literal["cluster.open-cluster-management.io/v1"]
    kind: Literal["ManagedCluster"]
    metadata: ClusterMetadata
    spec: ManagedClusterSpec = ManagedClusterSpec()
    status: ManagedClusterStatus = ManagedClusterStatus()


class SetSelector(Foreign):
    """Which clusters are members of a set."""

    selector_type: Literal["ExclusiveClusterSetLabel", "LabelSelector", ""] = "ExclusiveClusterSetLabel"
    label_selector: LabelSelector | None = None


class ManagedClusterSetSpec(Foreign):
    """The fields of a set's spec that are read."""

    cluster_selector: SetSelector = SetSelector()


class SetMetadata(Foreign):
    """The fields of a set's metadata that are read."""

    name: Annotated[str, Field(min_length=1, max_length=63)]


class ManagedClusterSet(Foreign):
    """A set of clusters."""

    api_version: Literal["cluster.open-cluster-management.io/v1beta2"]
    kind: Literal["ManagedClusterSet"]
    metadata: SetMetadata
    spec: ManagedClusterSetSpec = ManagedClusterSetSpec()
