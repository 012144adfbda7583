"""The control plane itself: the real programs do here what they do in a cluster, only on loopback, and they
can be broken.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hub.controlplane.api import ApiError, Client, Object
from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.kube import Kubernetes
from tests.hub.controlplane.kubeconfig import Identity
from tests.hub.controlplane.kubelet import Volume
from tests.hub.controlplane.listeners import session_members
from tests.hub.controlplane.manifests import namespace
from tests.hub.controlplane.plane import CLUSTER_SET_LABEL, ControlPlane, addon_identity
from tests.hub.controlplane.pod import Pod
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.tinyaddon import (
    ADDON,
    CLUSTER,
    grant_to_addon_manager,
    managed_cluster_addon,
    tiny_addon,
)
from tests.hub.controlplane.waiting import hold_for, wait_for

WORK = "work.open-cluster-management.io/v1/ManifestWork"
SCORE = f"{CLUSTER}/v1alpha1/AddOnPlacementScore"
NAMESPACE = "control-plane-test"


def test_all_api_servers_are_healthy_and_know_their_rights(control_plane: ControlPlane) -> None:
    for server in (control_plane.hub, *control_plane.spokes.values()):
        assert "readyz check passed" in server.kubectl("get", "--raw", "/readyz?verbose").stdout
        # Filled in by the aggregation controller: without it the built-in roles are empty.
        wait_for(
            lambda server=server: server.admin.get("rbac.authorization.k8s.io/v1/ClusterRole", "admin").get(
                "rules"
            ),  # type: ignore[misc]
            what=f"the role admin has rules on {server.name}",
        )
        with server.client(Identity(user="nobody")) as nobody, pytest.raises(ApiError, match="403 Forbidden"):
            nobody.list("v1/Secret", namespace="default")


def test_every_listener_is_on_loopback(control_plane: ControlPlane) -> None:
    listening = control_plane.processes.listening()
    assert {name for name, _ in listening} == set(control_plane.processes.running)
    assert {listener.address for _, listener in listening} <= {"127.0.0.1", "::1"}
    assert control_plane.processes.check_listeners() == len(listening)


def test_a_write_with_an_unknown_field_is_refused(hub: Client) -> None:
    wrong = {**config_map("strict", {"a": "b"}), "dat": {}}
    with pytest.raises(ApiError, match=r"unknown field|field not declared"):
        hub.apply(wrong)


@pytest.mark.family("ocm")
def test_a_work_reaches_its_spoke_and_heals(control_plane: ControlPlane, hub: Client, tmp_path: Path) -> None:
    spoke = control_plane.spokes["cluster1"]
    started = time.monotonic()
    hub.apply(work("cluster1", "delivery", [namespace(NAMESPACE), config_map("delivered", {"key": "one"})]))
    wait_for(
        lambda: spoke.admin.find("v1/ConfigMap", "delivered", namespace=NAMESPACE),
        what="the ConfigMap is on the spoke",
    )
    print(f"a ManifestWork reached its spoke after {time.monotonic() - started:.1f} s")
    wait_for(
        lambda: condition(hub.get(WORK, "delivery", namespace="cluster1"), "Applied") == "True",
        what="the work says Applied",
    )
    volume = Volume(
        kubeconfig=spoke.kubeconfig(),
        kind="ConfigMap",
        namespace=NAMESPACE,
        name="delivered",
        directory=tmp_path / "mounted",
    )
    with volume:
        volume.wait_for_content("key", "one")
        before = (volume.directory / "..data").readlink()
        control_plane.restart_work_agent("cluster1", kill=True)
        control_plane.restart_hub_apiserver(kill=True)
        hub.apply(
            work("cluster1", "delivery", [namespace(NAMESPACE), config_map("delivered", {"key": "two"})])
        )
        volume.wait_for_content("key", "two", timeout=90)
        assert (volume.directory / "..data").readlink() != before
        assert sorted(
            path.name for path in volume.directory.iterdir() if not path.name.startswith("..2")
        ) == [
            "..data",
            "key",
        ]
        hub.delete(WORK, "delivery", namespace="cluster1")
        wait_for(lambda: volume.read("key") is None, what="the file goes with the ConfigMap", timeout=60)
    wait_for(lambda: hub.find(WORK, "delivery", namespace="cluster1") is None, what="the work is gone")


@pytest.mark.family("ocm")
def test_a_score_decides_and_a_changed_score_moves_the_decision(
    control_plane: ControlPlane, hub: Client, placed: str
) -> None:
    score(hub, "cluster1", 80)
    score(hub, "cluster2", 20)
    wait_for(
        lambda: decided(hub, placed) == ["cluster1"],
        what="cluster1 is chosen",
        seen=lambda: decisions(hub, placed),
    )
    started = time.monotonic()
    score(hub, "cluster2", 90)
    wait_for(
        lambda: decided(hub, placed) == ["cluster2"],
        what="cluster2 is chosen",
        seen=lambda: decisions(hub, placed),
    )
    print(f"a changed score moved the decision after {time.monotonic() - started:.2f} s")
    control_plane.placement.restart(kill=True)
    score(hub, "cluster1", 100)
    wait_for(lambda: decided(hub, placed) == ["cluster1"], what="the restarted controller follows scores")


@pytest.mark.family("ocm")
def test_a_cluster_that_leaves_is_tainted_and_returns(
    control_plane: ControlPlane, hub: Client, placed: str
) -> None:
    score(hub, "cluster1", 80)
    score(hub, "cluster2", 20)
    wait_for(lambda: decided(hub, placed) == ["cluster1"], what="cluster1 is chosen")
    control_plane.set_available("cluster1", "Unknown")
    try:
        wait_for(
            lambda: decided(hub, placed) == ["cluster2"], what="the decision leaves an unreachable cluster"
        )
        assert control_plane.taints("cluster1") == [f"{CLUSTER}/unreachable"]
    finally:
        control_plane.set_available("cluster1", "True")
    wait_for(lambda: decided(hub, placed) == ["cluster1"], what="the decision returns")


@pytest.mark.family("ocm")
def test_ocm_admission_holds(control_plane: ControlPlane, hub: Client) -> None:
    # The work webhook's size limit: ocm pkg/work/webhook/common/validator.go.
    too_large = work("cluster1", "too-large", [config_map("large", {"key": "x" * 513 * 1024})])
    with pytest.raises(ApiError, match="the size of manifests is"):
        hub.apply(too_large)
    # The registration webhook puts a cluster without a set into the default one.
    control_plane.add_cluster("short-lived")
    labels = hub.get(f"{CLUSTER}/v1/ManagedCluster", "short-lived")["metadata"]["labels"]
    assert labels[CLUSTER_SET_LABEL] == "default"
    control_plane.remove_cluster("short-lived")


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


def test_a_second_control_plane_starts_and_leaves_nothing_behind(
    control_plane: ControlPlane, kubernetes_binaries: Binaries, tmp_path: Path
) -> None:
    processes = Processes(logs=tmp_path / "logs")
    kubernetes = Kubernetes(binaries=kubernetes_binaries, processes=processes, folder=tmp_path)
    with ControlPlane(kubernetes=kubernetes, ocm_binaries=None, spoke_names=()) as second:
        leaders = [process.pid for process in processes.running.values()]
        assert second.hub.url != control_plane.hub.url
        assert uid(second.hub.admin) != uid(control_plane.hub.admin), "each has its own data"
        assert sorted(session_members(leaders)) == sorted(leaders)
    assert session_members(leaders) == {}
    hold_for(
        lambda: control_plane.hub.admin.get("v1/Namespace", "default"),
        what="the first one is unharmed",
        seconds=0.5,
    )


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


def decided(hub: Client, placed: str) -> list[str]:
    pages = [page.get("status", {}).get("decisions", []) for page in decisions(hub, placed)]
    return sorted(decision["clusterName"] for page in pages for decision in page)


def conditions(item: Object) -> dict[str, Any]:
    return {entry["type"]: entry for entry in item.get("status", {}).get("conditions", [])}


def condition(item: Object, kind: str) -> str | None:
    found: str | None = conditions(item).get(kind, {}).get("status")
    return found


def registration(hub: Client, addon: str) -> Object:
    found: Object = conditions(hub.get(f"{ADDON}/ManagedClusterAddOn", addon, namespace="cluster1")).get(
        "RegistrationApplied", {}
    )
    return found


def config_map(name: str, data: dict[str, str]) -> Object:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


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
