"""The add-on manager rolls out an add-on from plain YAML, and needs the rights that it gives."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hub.controlplane.api import ApiError, Client, Object
from tests.hub.controlplane.kubeconfig import Identity
from tests.hub.controlplane.manifests import namespace
from tests.hub.controlplane.plane import ControlPlane, addon_identity
from tests.hub.controlplane.pod import Pod
from tests.hub.controlplane.tinyaddon import (
    ADDON,
    CLUSTER,
    grant_to_addon_manager,
    managed_cluster_addon,
    tiny_addon,
)
from tests.hub.controlplane.waiting import wait_for

SCORE = f"{CLUSTER}/v1alpha1/AddOnPlacementScore"


@pytest.mark.family("ocm")
def test_an_add_on_rolls_out_from_plain_yaml(
    control_plane: ControlPlane, hub: Client, tmp_path: Path
) -> None:
    addon, spoke = "tiny", control_plane.spokes["cluster1"]
    for item in tiny_addon(addon):
        hub.apply(item)
    try:
        hub.apply(managed_cluster_addon(addon, "cluster1"))
        # The addon manager may not give rights that it does not have itself.
        wait_for(
            lambda: registration(hub, addon).get("reason") == "SetPermissionFailed",
            what="the missing grant is reported",
            seen=lambda: registration(hub, addon),
        )
        hub.apply(grant_to_addon_manager(addon))
        wait_for(
            lambda: spoke.admin.find("apps/v1/Deployment", "tiny-agent", namespace=addon),
            what="the agent's Deployment is on the spoke",
            seen=lambda: hub.get(f"{ADDON}/ManagedClusterAddOn", addon, namespace="cluster1").get("status"),
        )
        identity = addon_identity(cluster="cluster1", addon=addon)
        with control_plane.hub.client(identity) as agent:
            wait_for(
                lambda: agent.create(score_object("tiny", "cluster1")),
                what="the agent may do what its template asks for",
            )
            assert "tiny" in [one["metadata"]["name"] for one in agent.list(SCORE, namespace="cluster1")]
            with pytest.raises(ApiError, match="403 Forbidden"):
                agent.list(SCORE, namespace="cluster2")
            with pytest.raises(ApiError, match="403 Forbidden"):
                agent.list("v1/Secret", namespace="cluster1")
        run_as_pod(control_plane, addon=addon, identity=identity, folder=tmp_path)
        # The v1beta1 face of the same object comes from the conversion webhook.
        assert hub.get(
            "addon.open-cluster-management.io/v1beta1/ManagedClusterAddOn", addon, namespace="cluster1"
        )
        hub.delete(f"{ADDON}/ManagedClusterAddOn", addon, namespace="cluster1")
        wait_for(
            lambda: spoke.admin.find("apps/v1/Deployment", "tiny-agent", namespace=addon) is None,
            what="the agent goes with its ManagedClusterAddOn",
            timeout=60,
        )
    finally:
        hub.delete(SCORE, "tiny", namespace="cluster1")
        hub.delete(f"{ADDON}/ManagedClusterAddOn", addon, namespace="cluster1")
        hub.delete(f"{ADDON}/ClusterManagementAddOn", addon)
        hub.delete(f"{ADDON}/AddOnTemplate", f"{addon}-1")
        hub.delete("rbac.authorization.k8s.io/v1/ClusterRoleBinding", f"{addon}-addon-manager")
        hub.delete("rbac.authorization.k8s.io/v1/ClusterRole", f"{addon}-agent")


@pytest.fixture
def placed(hub: Client) -> Iterator[str]:
    """A Placement over both spokes that ranks by one score; its namespace."""
    name = "placed"
    hub.apply(namespace(name))
    hub.apply(
        {
            "apiVersion": f"{CLUSTER}/v1beta2",
            "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "default", "namespace": name},
            "spec": {"clusterSet": "default"},
        }
    )
    prioritizer = {
        "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "load", "scoreName": "free"}},
        "weight": 1,
    }
    hub.apply(
        {
            "apiVersion": f"{CLUSTER}/v1beta1",
            "kind": "Placement",
            "metadata": {"name": "best", "namespace": name},
            "spec": {
                "numberOfClusters": 1,
                "prioritizerPolicy": {"mode": "Exact", "configurations": [prioritizer]},
                "predicates": [
                    {"requiredClusterSelector": {"claimSelector": {"matchExpressions": [spoke_claim()]}}}
                ],
            },
        }
    )
    yield name
    hub.delete(f"{CLUSTER}/v1beta1/Placement", "best", namespace=name)
    for cluster in ("cluster1", "cluster2"):
        hub.delete(SCORE, "load", namespace=cluster)
    wait_for(
        lambda: not decisions(hub, name),
        what="the decision is collected, before the next Placement takes it for its own",
    )


def uid(client: Client) -> str:
    return str(client.get("v1/Namespace", "kube-system")["metadata"]["uid"])


def spoke_claim() -> Object:
    return {"key": "id.k8s.io", "operator": "In", "values": ["cluster1", "cluster2"]}


def score(hub: Client, cluster: str, value: int) -> None:
    body = score_object("load", cluster)
    hub.apply(body)
    hub.apply_status({**body, "status": {"scores": [{"name": "free", "value": value}]}})


def score_object(name: str, cluster: str) -> Object:
    return {
        "apiVersion": f"{CLUSTER}/v1alpha1",
        "kind": "AddOnPlacementScore",
        "metadata": {"name": name, "namespace": cluster},
    }


def decisions(hub: Client, placed: str) -> list[Object]:
    selector = f"{CLUSTER}/placement=best"
    return hub.list(f"{CLUSTER}/v1beta1/PlacementDecision", namespace=placed, labels=selector)


def conditions(item: Object) -> dict[str, Any]:
    return {entry["type"]: entry for entry in item.get("status", {}).get("conditions", [])}


def registration(hub: Client, addon: str) -> Object:
    found: Object = conditions(hub.get(f"{ADDON}/ManagedClusterAddOn", addon, namespace="cluster1")).get(
        "RegistrationApplied", {}
    )
    return found


def work(cluster: str, name: str, manifests: list[Object]) -> Object:
    return {
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": {"name": name, "namespace": cluster},
        "spec": {"workload": {"manifests": manifests}},
    }


def run_as_pod(control_plane: ControlPlane, *, addon: str, identity: Identity, folder: Path) -> None:
    """Run a program as the add-on's Deployment would, and check what it is given."""
    spoke = control_plane.spokes["cluster1"]
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tiny", "namespace": addon}}
    spoke.admin.apply({**config, "data": {"key": "from the spoke"}})
    pod = Pod(
        name="tiny-agent",
        spoke=spoke,
        hub=control_plane.hub,
        hub_identity=identity,
        deployment="tiny-agent",
        namespace=addon,
        processes=control_plane.processes,
        folder=folder,
    )
    script = 'echo "$GREETING $CLUSTER_NAME $(cat "${1#--config=}")"; cat "$HUB_KUBECONFIG"; sleep 600'
    with pod:
        process = pod.start(["/bin/sh", "-c", script, "agent"])
        wait_for(lambda: "current-context" in process.written(), what="the program saw its hub kubeconfig")
        text = process.written()
        assert text.startswith("hello cluster1 from the spoke\n")
        assert control_plane.hub.url in text
        with Client(pod.spoke_kubeconfig) as account, pytest.raises(ApiError, match="403 Forbidden"):
            account.list("v1/Secret", namespace=addon)
    assert not process.running
