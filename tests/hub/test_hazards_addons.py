"""What OCM's add-on manager does with an add-on unlike ours: the reason of each choice in what we render.
docs/decisions/scheduler.md lists them.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.hub.controlplane.api import ApiError, Client, Object, condition
from tests.hub.controlplane.kubeconfig import Identity
from tests.hub.controlplane.manifests import HUB_NAMESPACE, namespace
from tests.hub.controlplane.plane import ControlPlane, addon_identity
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.placements import CLUSTER, SCORE, clusters_in_set, exact, placement

pytestmark = [pytest.mark.family("kubernetes", "ocm")]

ADDON = "addon.open-cluster-management.io/v1alpha1"
WORK = "work.open-cluster-management.io/v1/ManifestWork"
INSTALLED = f"{ADDON}/ManagedClusterAddOn"
DEFINITION = f"{ADDON}/ClusterManagementAddOn"
TEMPLATE = f"{ADDON}/AddOnTemplate"
CONFIG = f"{ADDON}/AddOnDeploymentConfig"
ROLE = "rbac.authorization.k8s.io/v1/ClusterRole"
BINDING = "rbac.authorization.k8s.io/v1/ClusterRoleBinding"
SPOKES = ("cluster1", "cluster2")


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


def definition(items: list[Object], kind: str) -> Object:
    return next(item for item in items if item["kind"] == kind)


@contextmanager
def defined(hub: Client, items: list[Object]) -> Iterator[None]:
    """The add-on and all of its installations, for as long as the block runs."""
    name = definition(items, "ClusterManagementAddOn")["metadata"]["name"]
    for item in [*items, grant_to_addon_manager(name)]:
        hub.apply(item)

    def installed() -> list[Object]:
        return [item for item in hub.list(INSTALLED) if item["metadata"]["name"] == name]

    try:
        yield
    finally:
        # A definition that installs by Placements would put back what is deleted.
        hub.patch(DEFINITION, name, {"spec": {"installStrategy": {"type": "Manual", "placements": None}}})
        for item in installed():
            hub.delete(INSTALLED, name, namespace=item["metadata"]["namespace"])
        wait_for(lambda: not installed(), what=f"every {name} is gone", seen=installed)
        hub.delete(DEFINITION, name)
        hub.delete(TEMPLATE, f"{name}-1")
        hub.delete(BINDING, f"{name}-addon-manager")
        for role in (f"{name}-agent", f"{name}-second"):
            hub.delete(ROLE, role)


def test_rights_of_the_template_let_one_clusters_agent_write_another_clusters_scores(
    control_plane: ControlPlane, hub: Client
) -> None:
    """OCM binds to the group of all agents of the add-on; our works carry a RoleBinding for the one cluster
    instead.
    """
    addon = "hazard-rights"
    with defined(hub, tiny_addon(addon)):
        for cluster in SPOKES:
            hub.apply(managed_cluster_addon(addon, cluster))
        body: Object = {
            "apiVersion": f"{CLUSTER}/v1alpha1",
            "kind": "AddOnPlacementScore",
            "metadata": {"name": addon},
        }
        try:
            with control_plane.hub.client(addon_identity(cluster="cluster1", addon=addon)) as agent:
                elsewhere = {**body, "metadata": {"name": addon, "namespace": "cluster2"}}
                wait_for(lambda: agent.create(elsewhere), what="the agent of cluster1 writes into cluster2")
            subjects = hub.get(
                "rbac.authorization.k8s.io/v1/RoleBinding",
                f"open-cluster-management:{addon}:clusterrole:agent",
                namespace="cluster2",
            )["subjects"]
            assert f"system:open-cluster-management:addon:{addon}" in [
                subject["name"] for subject in subjects
            ]
            # Without the shared group: the rights are those of the cluster's own.
            alone = Identity(
                user="agent", groups=(f"system:open-cluster-management:cluster:cluster1:addon:{addon}",)
            )
            with control_plane.hub.client(alone) as agent, pytest.raises(ApiError, match="403 Forbidden"):
                agent.list(SCORE, namespace="cluster2")
        finally:
            hub.delete(SCORE, addon, namespace="cluster2")


def test_the_add_on_manager_gives_no_rights_that_it_lacks(hub: Client) -> None:
    addon = "hazard-grant"
    with defined(hub, tiny_addon(addon)):
        hub.delete(BINDING, f"{addon}-addon-manager")
        hub.apply(managed_cluster_addon(addon, "cluster1"))
        wait_for(
            lambda: registration(hub, addon).get("reason") == "SetPermissionFailed",
            what="the missing grant is reported",
            seen=lambda: registration(hub, addon),
        )
        hub.apply(grant_to_addon_manager(addon))
        wait_for(
            lambda: registration(hub, addon).get("status") == "True",
            what="with it the agent is registered",
            seen=lambda: registration(hub, addon),
        )


def registration(hub: Client, addon: str) -> dict[str, str]:
    return condition(hub.get(INSTALLED, addon, namespace="cluster1"), "RegistrationApplied")


def test_two_current_cluster_permissions_collide(hub: Client) -> None:
    """Both want the RoleBinding of one name, and the role of a RoleBinding cannot change."""
    addon = "hazard-two-roles"
    items = tiny_addon(addon)
    role = definition(items, "ClusterRole")
    second = {**role, "metadata": {"name": f"{addon}-second"}}
    permissions = definition(items, "AddOnTemplate")["spec"]["registration"][0]["kubeClient"][
        "hubPermissions"
    ]
    permissions.append({"type": "CurrentCluster", "currentCluster": {"clusterRoleName": f"{addon}-second"}})
    with defined(hub, [second, *items]):
        hub.apply(managed_cluster_addon(addon, "cluster1"))
        wait_for(
            lambda: "roleRef: Invalid value" in registration(hub, addon).get("message", ""),
            what="the registration fails for good",
            seen=lambda: registration(hub, addon),
        )
        assert registration(hub, addon)["reason"] == "SetPermissionFailed"


def test_a_deployment_config_without_a_namespace_moves_the_agent(hub: Client) -> None:
    """The CRD fills in a default, and with it every namespaced object moves and the Namespace itself is
    renamed.
    """
    addon = "hazard-moved"
    items = tiny_addon(addon)
    config: Object = {
        "apiVersion": ADDON,
        "kind": "AddOnDeploymentConfig",
        "metadata": {"name": addon, "namespace": "default"},
        "spec": {"customizedVariables": []},
    }
    hub.apply(config)
    definition(items, "ClusterManagementAddOn")["spec"]["supportedConfigs"].append(
        {
            "group": "addon.open-cluster-management.io",
            "resource": "addondeploymentconfigs",
            "defaultConfig": {"name": addon, "namespace": "default"},
        }
    )
    try:
        with defined(hub, items):
            hub.apply(managed_cluster_addon(addon, "cluster1"))
            manifests = delivered(hub, addon)
            moved = "open-cluster-management-agent-addon"
            assert {item["metadata"]["namespace"] for item in manifests if item["kind"] != "Namespace"} == {
                moved
            }
            assert [item["metadata"]["name"] for item in manifests if item["kind"] == "Namespace"] == [moved]
    finally:
        hub.delete(CONFIG, addon, namespace="default")


def test_braces_in_a_template_are_erased(hub: Client) -> None:
    """Any other template language inside (alerts, dashboards, Helm) loses its variables without a word."""
    addon = "hazard-braces"
    items = tiny_addon(addon)
    manifests = definition(items, "AddOnTemplate")["spec"]["agentSpec"]["workload"]["manifests"]
    text = "cluster {{CLUSTER_NAME}}: {{ CLUSTER_NAME }} and {{ $labels.pod }}"
    manifests.append(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "alerts", "namespace": addon},
            "data": {"text": text},
        }
    )
    with defined(hub, items):
        hub.apply(managed_cluster_addon(addon, "cluster1"))
        alerts = next(item for item in delivered(hub, addon) if item["kind"] == "ConfigMap")
        assert alerts["data"]["text"] == "cluster cluster1:  and "


def test_installing_by_placement_removes_what_people_installed(
    control_plane: ControlPlane, hub: Client
) -> None:
    """Every ManagedClusterAddOn outside of the decision goes; and a Placement that is not there counts as an
    empty decision.
    """
    addon, place = "hazard-install", "hazard-install"
    chosen, other = "hazard-install-a", "hazard-install-b"
    with (
        clusters_in_set(control_plane, place, {chosen: {"env": "prod"}, other: {}}),
        defined(hub, tiny_addon(addon)),
    ):
        for cluster in (chosen, other):
            hub.apply(managed_cluster_addon(addon, cluster))
        predicate = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "prod"}}}}
        hub.create(placement(place, namespace=place, predicates=[predicate], prioritizerPolicy=exact()))
        hold_for(
            lambda: installed_on(hub, addon) == [chosen, other], what="Manual leaves both alone", seconds=2
        )
        by_placement(hub, addon, place)
        wait_for(lambda: installed_on(hub, addon) == [chosen], what=f"the one on {other} is deleted")
        by_placement(hub, addon, "a-placement-that-is-not-there")
        wait_for(
            lambda: installed_on(hub, addon) == [], what="a Placement that is not there uninstalls everywhere"
        )


def by_placement(hub: Client, addon: str, name: str) -> None:
    strategy = {"type": "Placements", "placements": [{"name": name, "namespace": "hazard-install"}]}
    hub.patch(DEFINITION, addon, {"spec": {"installStrategy": strategy}})


def installed_on(hub: Client, addon: str) -> list[str]:
    """The clusters whose installation is not being deleted."""
    found = [item["metadata"] for item in hub.list(INSTALLED) if item["metadata"]["name"] == addon]
    return sorted(metadata["namespace"] for metadata in found if "deletionTimestamp" not in metadata)


def delivered(hub: Client, addon: str) -> list[Object]:
    """What the add-on manager makes of the template for cluster1."""
    name = f"addon-{addon}-deploy-0"
    found = wait_for(lambda: hub.find(WORK, name, namespace="cluster1"), what=f"the work {name}")
    manifests: list[Object] = found["spec"]["workload"]["manifests"]
    return manifests
