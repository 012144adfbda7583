"""The inventory: OCM's own ManagedCluster and ManagedClusterSet. Read, never rendered."""

from typing import Annotated, Any, Literal

from pydantic import Field

from gitops_dsf.repository.model.base import DnsLabel, Foreign, Labels, LabelSelector

BUILT_IN_SETS = ("default", "global")
"""Sets that OCM's registration controller creates on every hub; the inventory need not repeat them."""


class ClusterMetadata(Foreign):
    """What we read of a cluster's metadata."""

    name: DnsLabel
    """Name of the cluster, and of its namespace on the hub."""
    labels: Labels = {}


class Claim(Foreign):
    """A ClusterClaim as the cluster reported it."""

    name: str
    value: str = ""


class ManagedClusterSpec(Foreign):
    """What we read of a cluster's spec."""

    hub_accepts_client: bool = True
    taints: list[dict[str, Any]] = []


class ManagedClusterStatus(Foreign):
    """What we read of a cluster's status; `import` writes it from a hub."""

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
    """How a set finds its members."""

    selector_type: Literal["ExclusiveClusterSetLabel", "LabelSelector", ""] = "ExclusiveClusterSetLabel"
    label_selector: LabelSelector | None = None


class ManagedClusterSetSpec(Foreign):
    """What we read of a set's spec."""

    cluster_selector: SetSelector = SetSelector()


class SetMetadata(Foreign):
    """What we read of a set's metadata."""

    name: Annotated[str, Field(min_length=1, max_length=63)]


class ManagedClusterSet(Foreign):
    """A set of clusters."""

    api_version: Literal["cluster.open-cluster-management.io/v1beta2"]
    kind: Literal["ManagedClusterSet"]
    metadata: SetMetadata
    spec: ManagedClusterSetSpec = ManagedClusterSetSpec()
