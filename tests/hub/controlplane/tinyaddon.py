"""The smallest add-on that still uses everything: an agent with rights on the hub, installed by hand per
cluster.
"""

from tests.hub.controlplane.api import Object
from tests.hub.controlplane.manifests import HUB_NAMESPACE, namespace

CLUSTER = "cluster.open-cluster-management.io"
ADDON = "addon.open-cluster-management.io/v1alpha1"


def tiny_addon(addon: str) -> list[Object]:
    """An add-on whose agent may read and create scores in its cluster's namespace on the hub, installed by
    hand per cluster.
    """
    role = f"{addon}-agent"
    labels = {"app": f"{addon}-agent"}
    container = {"name": "agent", "image": "example.invalid/agent:1"}
    pod = {"serviceAccountName": f"{addon}-agent", "containers": [container]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"{addon}-agent", "namespace": addon},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": f"{addon}-agent", "namespace": addon},
    }
    permission = {"type": "CurrentCluster", "currentCluster": {"clusterRoleName": role}}
    return [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": role},
            "rules": [
                {
                    "apiGroups": [CLUSTER],
                    "resources": ["addonplacementscores"],
                    "verbs": ["get", "list", "create"],
                }
            ],
        },
        {
            "apiVersion": ADDON,
            "kind": "AddOnTemplate",
            "metadata": {"name": f"{addon}-1"},
            "spec": {
                "addonName": addon,
                "agentSpec": {"workload": {"manifests": [namespace(addon), account, deployment]}},
                "registration": [{"type": "KubeClient", "kubeClient": {"hubPermissions": [permission]}}],
            },
        },
        {
            "apiVersion": ADDON,
            "kind": "ClusterManagementAddOn",
            "metadata": {"name": addon},
            "spec": {
                "installStrategy": {"type": "Manual"},
                "supportedConfigs": [
                    {
                        "group": "addon.open-cluster-management.io",
                        "resource": "addontemplates",
                        "defaultConfig": {"name": f"{addon}-1"},
                    }
                ],
            },
        },
    ]


def managed_cluster_addon(addon: str, cluster: str) -> Object:
    return {
        "apiVersion": ADDON,
        "kind": "ManagedClusterAddOn",
        "metadata": {"name": addon, "namespace": cluster},
        "spec": {},
    }


def grant_to_addon_manager(addon: str) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{addon}-addon-manager"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"{addon}-agent"},
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": "addon-manager-controller-sa",
                "namespace": HUB_NAMESPACE,
            }
        ],
    }
