"""Raw Placement and ApplicationSet documents: carried as they are, and checked for what OCM and Argo CD would
do with them.
"""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from gitops_dsf.repository.model.base import DnsName, Foreign, Labels

DUCK_TYPE_CONFIGMAP = "gitops-dsf-placement-decisions"
"""ConfigMap that tells clusterDecisionResource generators how to read decisions: rendered, with matchKey
clusterName.
"""


class RawMetadata(Foreign):
    """Metadata of a document that is carried as it is."""

    model_config = ConfigDict(extra="allow")

    name: DnsName
    namespace: str | None = None
    labels: Labels = {}
    annotations: Labels = {}


class RawPlacement(Foreign):
    """An OCM Placement that somebody wrote by hand; its traps are rules, not types."""

    api_version: Literal["cluster.open-cluster-management.io/v1beta1"]
    kind: Literal["Placement"]
    metadata: RawMetadata
    spec: dict[str, Any] = Field(default_factory=dict)


class RawApplicationSet(Foreign):
    """An Argo CD ApplicationSet that somebody wrote by hand."""

    api_version: Literal["argoproj.io/v1alpha1"]
    kind: Literal["ApplicationSet"]
    metadata: RawMetadata
    spec: dict[str, Any]
