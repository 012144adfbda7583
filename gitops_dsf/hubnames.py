"""Labels, annotations and conditions by which Open Cluster Management and Argo CD know things."""

from typing import Final

PLACEMENT_LABEL: Final = "cluster.open-cluster-management.io/placement"
"""On a PlacementDecision: the Placement it belongs to (OCM api, cluster/v1beta1 PlacementLabel)."""
AVAILABLE_CONDITION: Final = "ManagedClusterConditionAvailable"
"""Of a ManagedCluster: whether its agent renews its lease (OCM api, cluster/v1 types.go)."""
REFRESH_ANNOTATION: Final = "argocd.argoproj.io/application-set-refresh"
"""On an ApplicationSet: its controller looks at once (docs/contributing/argocd-behaviour.md#refresh-annotation)."""
