"""What OCM's add-on manager does with an add-on unlike ours.

The reason of each choice in what we render. docs/decisions/scheduler.md lists them.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.hub.controlplane.api import (
    CLUSTER_ROLE_BINDING,
    RBAC,
    ROLE_BINDING,
    ApiError,
    Client,
    Object,
    bound,
    condition,
    manifest,
)
from tests.hub.controlplane.kubeconfig import Identity
from tests.hub.controlplane.ocm import HUB_NAMESPACE
from tests.hub.controlplane.plane import SPOKES, ControlPlane, addon_identity
from tests.hub.controlplane.waiting import hold_for, wait_for, wait_until_there
from tests.hub.scenario.installation import WORK
from tests.hub.scenario.placements import CLUSTER, SCORE, clusters_in_set, exact, placement

pytestmark = [pytest.mark.family("kubernetes", "ocm")]

ADDON = "addon.open-cluster-management.io/v1alpha1"
INSTALLED = f"{ADDON}/ManagedClusterAddOn"
DEFINITION = f"{ADDON}/ClusterManagementAddOn"
TEMPLATE = f"{ADDON}/AddOnTemplate"
CONFIG = f"{ADDON}/AddOnDeploymentConfig"
ROLE = f"{RBAC}/ClusterRole"


def tiny_addon(addon: str, *others: Object) -> list[Object]:
    """An add-on whose agent may read and create scores in its cluster's namespace on the hub,
    installed by hand per cluster. Its template has these other manifests, too.
    """
    name, labels = f"{addon}-agent", {"app": f"{addon}-agent"}
    pod = {
        "serviceAccountName": name,
        "containers": [{"name": "agent", "image": "example.invalid/agent:1"}],
    }
    template = {"metadata": {"labels": labels}, "spec": pod}
    deployed = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    manifests = [
        manifest("v1/Namespace", addon),
        manifest("v1/ServiceAccount", name, namespace=addon),
        manifest("apps/v1/Deployment", name, namespace=addon, spec=deployed),
        *others,
    ]
    registration = {"type": "KubeClient", "kubeClient": {"hubPermissions": [permission(name)]}}
    verbs = ["get", "list", "create"]
    rules = [{"apiGroups": [CLUSTER], "resources": ["addonplacementscores"], "verbs": verbs}]
    spec = {
        "addonName": addon,
        "agentSpec": {"workload": {"manifests": manifests}},
        "registration": [registration],
    }
    configs = [config("addontemplates", name=f"{addon}-1")]
    return [
        manifest(ROLE, name, rules=rules),
        manifest(TEMPLATE, f"{addon}-1", spec=spec),
        manifest(
            DEFINITION,
            addon,
            spec={"installStrategy": {"type": "Manual"}, "supportedConfigs": configs},
        ),
    ]


def permission(role: str) -> Object:
    return {"type": "CurrentCluster", "currentCluster": {"clusterRoleName": role}}


def config(resource: str, **where: str) -> Object:
    """A kind of configuration, and the one that counts by default."""
    return {
        "group": "addon.open-cluster-management.io",
        "resource": resource,
        "defaultConfig": where,
    }


def managed_cluster_addon(addon: str, cluster: str) -> Object:
    return manifest(INSTALLED, addon, namespace=cluster, spec={})


def grant_to_addon_manager(addon: str) -> Object:
    account = (HUB_NAMESPACE, "addon-manager-controller-sa")
    return bound(f"{addon}-addon-manager", f"{addon}-agent", account=account)


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
        hub.patch(
            DEFINITION, name, {"spec": {"installStrategy": {"type": "Manual", "placements": None}}}
        )
        for item in installed():
            hub.delete(INSTALLED, name, namespace=item["metadata"]["namespace"])
        wait_for(lambda: not installed(), what=f"every {name} is gone", seen=installed)
        hub.delete(DEFINITION, name)
        hub.delete(TEMPLATE, f"{name}-1")
        hub.delete(CLUSTER_ROLE_BINDING, f"{name}-addon-manager")
        for role in (f"{name}-agent", f"{name}-second"):
            hub.delete(ROLE, role)


def test_rights_of_the_template_let_one_clusters_agent_write_another_clusters_scores(
    control_plane: ControlPlane, hub: Client
) -> None:
    """OCM binds to the group of all agents of the add-on; our works carry a RoleBinding for the one
    cluster instead.
    """
    addon = "hazard-rights"
    with defined(hub, tiny_addon(addon)):
        for cluster in SPOKES:
            hub.apply(managed_cluster_addon(addon, cluster))
        try:
            with control_plane.hub.client(addon_identity(cluster="cluster1", addon=addon)) as agent:
                elsewhere = manifest(SCORE, addon, namespace="cluster2")
                wait_for(
                    lambda: agent.create(elsewhere),
                    what="the agent of cluster1 writes into cluster2",
                )
            binding = f"open-cluster-management:{addon}:clusterrole:agent"
            subjects = hub.get(ROLE_BINDING, binding, namespace="cluster2")["subjects"]
            group = f"system:open-cluster-management:addon:{addon}"
            assert group in [subject["name"] for subject in subjects]
            # Without the shared group: the rights are those of the cluster's own.
            alone = Identity(
                user="agent",
                groups=(f"system:open-cluster-management:cluster:cluster1:addon:{addon}",),
            )
            with (
                control_plane.hub.client(alone) as agent,
                pytest.raises(ApiError, match="403 Forbidden"),
            ):
                agent.list(SCORE, namespace="cluster2")
        finally:
            hub.delete(SCORE, addon, namespace="cluster2")


def test_the_add_on_manager_gives_no_rights_that_it_lacks(hub: Client) -> None:
    addon = "hazard-grant"
    with defined(hub, tiny_addon(addon)):
        hub.delete(CLUSTER_ROLE_BINDING, f"{addon}-addon-manager")
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
    [registered] = definition(items, "AddOnTemplate")["spec"]["registration"]
    registered["kubeClient"]["hubPermissions"].append(permission(f"{addon}-second"))
    with defined(hub, [second, *items]):
        hub.apply(managed_cluster_addon(addon, "cluster1"))
        wait_for(
            lambda: "roleRef: Invalid value" in registration(hub, addon).get("message", ""),
            what="the registration fails for good",
            seen=lambda: registration(hub, addon),
        )
        assert registration(hub, addon)["reason"] == "SetPermissionFailed"


def test_a_deployment_config_without_a_namespace_moves_the_agent(hub: Client) -> None:
    """The CRD fills in a default, and with it every namespaced object moves and the Namespace
    itself is renamed.
    """
    addon = "hazard-moved"
    items = tiny_addon(addon)
    hub.apply(manifest(CONFIG, addon, namespace="default", spec={"customizedVariables": []}))
    definition(items, "ClusterManagementAddOn")["spec"]["supportedConfigs"].append(
        config("addondeploymentconfigs", name=addon, namespace="default")
    )
    try:
        with defined(hub, items):
            hub.apply(managed_cluster_addon(addon, "cluster1"))
            manifests = delivered(hub, addon)
            moved = "open-cluster-management-agent-addon"
            places = {
                item["metadata"].get("namespace", item["metadata"]["name"]) for item in manifests
            }
            assert places == {moved}
    finally:
        hub.delete(CONFIG, addon, namespace="default")


def test_braces_in_a_template_are_erased(hub: Client) -> None:
    """Any other template language inside (alerts, dashboards, Helm) loses its variables without a
    word.
    """
    addon = "hazard-braces"
    text = "cluster {{CLUSTER_NAME}}: {{ CLUSTER_NAME }} and {{ $labels.pod }}"
    with defined(
        hub,
        tiny_addon(addon, manifest("v1/ConfigMap", "alerts", namespace=addon, data={"text": text})),
    ):
        hub.apply(managed_cluster_addon(addon, "cluster1"))
        alerts = next(item for item in delivered(hub, addon) if item["kind"] == "ConfigMap")
        assert alerts["data"]["text"] == "cluster cluster1:  and "


def test_installing_by_placement_removes_what_people_installed(
    control_plane: ControlPlane, hub: Client
) -> None:
    """Every ManagedClusterAddOn outside of the decision goes; and a Placement that is not there
    counts as an empty decision.
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
        hub.create(
            placement(place, namespace=place, predicates=[predicate], prioritizerPolicy=exact())
        )
        hold_for(
            lambda: installed_on(hub, addon) == [chosen, other],
            what="Manual leaves both alone",
            seconds=2,
        )
        by_placement(hub, addon, place)
        wait_for(
            lambda: installed_on(hub, addon) == [chosen], what=f"the one on {other} is deleted"
        )
        by_placement(hub, addon, "a-placement-that-is-not-there")
        wait_for(lambda: installed_on(hub, addon) == [], what="all are uninstalled")


def by_placement(hub: Client, addon: str, name: str) -> None:
    strategy = {"type": "Placements", "placements": [{"name": name, "namespace": "hazard-install"}]}
    hub.patch(DEFINITION, addon, {"spec": {"installStrategy": strategy}})


def installed_on(hub: Client, addon: str) -> list[str]:
    """The clusters whose installation is not being deleted."""
    found = [item["metadata"] for item in hub.list(INSTALLED) if item["metadata"]["name"] == addon]
    return sorted(
        metadata["namespace"] for metadata in found if "deletionTimestamp" not in metadata
    )


def delivered(hub: Client, addon: str) -> list[Object]:
    """What the add-on manager makes of the template for cluster1."""
    found = wait_until_there(hub, WORK, f"addon-{addon}-deploy-0", namespace="cluster1")
    manifests: list[Object] = found["spec"]["workload"]["manifests"]
    return manifests
