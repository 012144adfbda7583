"""Labels, annotations, conditions and finalizers by which Open Cluster Management, Argo CD and gitops-dsf
know things on a hub.
"""

from typing import Final

OCM_GROUP: Final = "cluster.open-cluster-management.io"
PLACEMENT_LABEL: Final = f"{OCM_GROUP}/placement"
"""On a PlacementDecision: the Placement it belongs to (OCM api, cluster/v1beta1 PlacementLabel)."""
GROUP_NAME_LABEL: Final = f"{OCM_GROUP}/decision-group-name"
GROUP_INDEX_LABEL: Final = f"{OCM_GROUP}/decision-group-index"
CLUSTER_SET_LABEL: Final = f"{OCM_GROUP}/clusterset"
DISABLE_ANNOTATION: Final = f"{OCM_GROUP}/experimental-scheduling-disable"
AVAILABLE_CONDITION: Final = "ManagedClusterConditionAvailable"
"""Of a ManagedCluster: whether its agent renews its lease (OCM api, cluster/v1 types.go)."""
REFRESH_ANNOTATION: Final = "argocd.argoproj.io/application-set-refresh"
"""On an ApplicationSet: its controller looks at once
(docs/contributing/argocd-behaviour.md#refresh-annotation).
"""
PULL_ANNOTATION: Final = "apps.open-cluster-management.io/ocm-managed-cluster"
"""On an Application that OCM's pull integration delivers: the cluster. Its destination is the hub itself."""
PULL_LABEL: Final = "apps.open-cluster-management.io/pull-to-ocm-managed-cluster"
"""On such an Application, and in the template of its ApplicationSet."""
APPLICATION_LABEL: Final = "gitops-dsf.io/application"
"""On an Application: the ApplicationSet that was rendered for it."""
STRATEGY_ANNOTATION: Final = "gitops-dsf.io/moves-strategy"
TIMEOUT_ANNOTATION: Final = "gitops-dsf.io/moves-timeout-seconds"
MASKS_CONFIGMAP: Final = "gitops-dsf-masks"
"""ConfigMap in the hub namespace that carries the masks as they were authored: with delivery.mode
ManifestWork the DynamicScoringConfig itself stays in git, and without the masks a score that is masked looks
like one that was never published.
"""
MASKS_KEY: Final = "masks"
"""Its one key: a JSON array of masks."""
SYNC_WAVE: Final = "argocd.argoproj.io/sync-wave"
NAMESPACES_OF_OTHERS: Final = ("default", "kube-*", "open-cluster-management*")
"""Namespaces of a hub (globs) that belong to Kubernetes and OCM. A cluster of such a name would have its
namespace there.
"""
