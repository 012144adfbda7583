"""Names of labels, annotations, conditions and finalizers of OCM, Argo CD and gitops-dsf."""

import re
from typing import Final

OCM_GROUP: Final = "cluster.open-cluster-management.io"
PLACEMENT_LABEL: Final = f"{OCM_GROUP}/placement"
"""Label of a PlacementDecision: its Placement (OCM api, cluster/v1beta1 PlacementLabel)."""
GROUP_NAME_LABEL: Final = f"{OCM_GROUP}/decision-group-name"
GROUP_INDEX_LABEL: Final = f"{OCM_GROUP}/decision-group-index"
CLUSTER_SET_LABEL: Final = f"{OCM_GROUP}/clusterset"
DISABLE_ANNOTATION: Final = f"{OCM_GROUP}/experimental-scheduling-disable"
"""Annotation of a Placement: OCM 1.2.1 leaves its decision as it is, also for a cluster that is
gone.
"""
AVAILABLE_CONDITION: Final = "ManagedClusterConditionAvailable"
"""Condition of a ManagedCluster: whether its agent renews its lease (OCM api, cluster/v1 types.go).
"""
REFRESH_ANNOTATION: Final = "argocd.argoproj.io/application-set-refresh"
"""Annotation of an ApplicationSet: reconcile at once
(docs/contributing/behaviour.md#refresh-annotation).
"""
APPLICATION_REFRESH_ANNOTATION: Final = "argocd.argoproj.io/refresh"
"""Annotation of an Application
(docs/contributing/behaviour.md#refresh-annotation-of-an-application).
"""
SKIP_RECONCILE_ANNOTATION: Final = "argocd.argoproj.io/skip-reconcile"
"""Annotation of an Application or a cluster Secret: Argo CD's Application controller ignores the
object.
"""
PULL_ANNOTATION: Final = "apps.open-cluster-management.io/ocm-managed-cluster"
"""Annotation of an Application that OCM's pull integration delivers: its cluster.

Its destination is the hub.
"""
PULL_LABEL: Final = "apps.open-cluster-management.io/pull-to-ocm-managed-cluster"
"""Label of an Application that OCM's pull integration delivers.

It is in the template of its ApplicationSet.
"""
APPLICATION_LABEL: Final = "gitops-dsf.io/application"
"""Label of an Application: the ApplicationSet that was rendered for it."""
PART_OF_LABEL: Final = "app.kubernetes.io/part-of"
RECONCILER: Final = "gitops-dsf-reconciler"
"""Deployment, ServiceAccount, Service and Lease of the reconciler."""
HUB_NAMESPACE: Final = "gitops-dsf"
"""The hub namespace, unless gitops-dsf.yaml names another one.

It is not `open-cluster-management`: the operator of Red Hat Advanced Cluster Management owns that
namespace, and removes what it does not manage there.
"""
ARGOCD_NAMESPACE: Final = "argocd"
"""The namespace of Argo CD, unless gitops-dsf.yaml names another one."""
IN_CLUSTER: Final = "https://kubernetes.default.svc"
"""The cluster on which an Argo CD runs, as its Applications name it."""
POD_LABEL: Final = f"app.kubernetes.io/name={RECONCILER}"
WORK_NAME: Final = "gitops-dsf-config"
"""The ManifestWork with the agent's ConfigMap, in each cluster's namespace."""
STRATEGY_ANNOTATION: Final = "gitops-dsf.io/moves-strategy"
TIMEOUT_ANNOTATION: Final = "gitops-dsf.io/moves-timeout-seconds"
BOARD_ANNOTATION: Final = "link.argocd.argoproj.io/fleet"
"""Annotation of Applications: a link to the board of the fleet, which Argo CD shows."""
BOARD_FILE: Final = "README.md"
"""The file of the state branch that is the board."""
DELIVERY_APPLICATION: Final = "gitops-dsf-delivery"
"""The Application of Argo CD that applies Placements and ApplicationSets."""
OWN_APPLICATION: Final = re.compile(r"gitops-dsf-(?:platform|delivery|reconciler|works-[0-9]+)")
"""The names of the Applications of rendered/argocd. People apply them, so no object owns them."""
JOURNAL_BRANCH: Final = "gitops-dsf-journal"
"""The branch of the journal, unless gitops-dsf.yaml names another one."""
MASKS_CONFIGMAP: Final = "gitops-dsf-masks"
"""ConfigMap in the hub namespace with the masks.

Without it a masked score would look like a missing one.
"""
MASKS_KEY: Final = "masks"
"""The only key of that ConfigMap: a JSON array of masks."""
STATUS_CONFIGMAP: Final = "gitops-dsf-status"
"""ConfigMap in the hub namespace with statuses of scorers that no DynamicScorer can hold."""
MOVES_CONFIGMAP: Final = "gitops-dsf-moves"
"""ConfigMap in the hub namespace with the ledger of paced moves."""
ACKNOWLEDGED_STOP_ANNOTATION: Final = "gitops-dsf.io/acknowledged-stop"
"""Annotation of that ConfigMap: the time (RFC 3339) of a stop after which moves go on.

People write it.
"""
MAINTENANCE_CONFIGMAP: Final = "gitops-dsf-maintenance"
"""ConfigMap in the hub namespace with maintenance.

Without it the reconciler leaves taints as they are.
"""
MAINTENANCE_KEY: Final = "maintenance"
"""The key of that ConfigMap with the windows.

In the ConfigMap gitops-dsf-moves the same key says which applications are still on drained
clusters.
"""
INVENTORY_KEY: Final = "inventory"
"""Another key of the ConfigMap gitops-dsf-maintenance: a digest of each cluster of the inventory.

It is rendered while an application verifies its moves. The two share a ConfigMap because the
reconciler may read no others.
"""
MAINTENANCE_TAINT: Final = "gitops-dsf.io/maintenance"
"""Key of the taint on clusters that are cordoned or drained."""
SYNC_WAVE: Final = "argocd.argoproj.io/sync-wave"
OCM_PULL_SECRET: Final = "open-cluster-management-image-pull-credentials"  # noqa: S105 - a name
"""Credentials for registries that OCM copies (docs/contributing/behaviour.md#secrets-of-an-add-on).
"""
OCM_PULL_SECRET_LABEL: Final = "addon.open-cluster-management.io/namespace"  # noqa: S105 - a label
"""Label of a namespace, with the value `true`: OCM copies its pull secret there."""

HUB_SCORER: Final = "gitops-dsf-hub-scorer"
"""Deployment and ServiceAccount on the hub of the process that runs scorers with runsOn: Hub."""
