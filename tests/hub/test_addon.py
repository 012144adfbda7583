"""The add-on installs from our YAML alone, follows an edit, and leaves what people own when it goes."""

from collections.abc import Iterator

import pytest

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE, CONFIGMAP_NAME
from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import Fleet, settings, write_fleet
from tests.hub.scenario.installation import ADDON, WORK, Installation, installed
from tests.hub.scenario.spokeagent import DEPLOYMENT, wait_for_deployment

pytestmark = pytest.mark.family("kubernetes", "ocm", "argocd")

CLUSTERS = ("cluster1", "cluster2")
TEMPLATE = "addon.open-cluster-management.io/v1alpha1/AddOnTemplate"


@pytest.fixture
def installation(
    control_plane: ControlPlane, argocd: object, git_server: GitServer, request: pytest.FixtureRequest
) -> Iterator[Installation]:
    name = request.node.name.replace("_", "-")[:40].strip("-")
    fleet = Fleet(repository=git_server.create(name), name="addon")
    write_fleet(fleet, clusters=list(CLUSTERS))
    fleet.render()
    with installed(fleet, control_plane, clusters=CLUSTERS) as installation:
        for cluster in CLUSTERS:
            wait_for_deployment(control_plane, cluster)
        yield installation


def test_one_add_on_per_cluster_becomes_available_with_its_deployment(
    installation: Installation, hub: Client
) -> None:
    for cluster in CLUSTERS:
        spoke = installation.plane.spokes[cluster].admin
        container = spoke.get(DEPLOYMENT, ADDON_NAME, namespace=AGENT_NAMESPACE)["spec"]["template"]["spec"][
            "containers"
        ][0]
        assert {"CLUSTER_NAME", "HUB_KUBECONFIG"} <= {entry["name"] for entry in container["env"]}
        # No kubelet runs here: what a ready replica would make of the status.
        ready = {
            "replicas": 1,
            "readyReplicas": 1,
            "availableReplicas": 1,
            "updatedReplicas": 1,
            "observedGeneration": 1,
        }
        spoke.patch_status(DEPLOYMENT, ADDON_NAME, ready, namespace=AGENT_NAMESPACE)
    for cluster in CLUSTERS:
        wait_for(
            lambda cluster=cluster: (
                conditions(hub.get(ADDON, ADDON_NAME, namespace=cluster)).get("Available") == "True"
            ),  # type: ignore[misc]
            what=f"the add-on of {cluster} is Available",
            timeout=90,
            seen=lambda cluster=cluster: hub.get(ADDON, ADDON_NAME, namespace=cluster),  # type: ignore[misc]
        )


def test_a_changed_image_rolls_out_under_a_new_template_name(installation: Installation, hub: Client) -> None:
    before = template_names(hub)
    changed = settings(installation.fleet)
    changed["spec"]["agent"] = {"image": "registry.example.com/agent:2"}
    installation.fleet.write("gitops-dsf.yaml", changed)
    installation.fleet.render()
    installation.apply()
    assert len(template_names(hub) - before) == 1
    for cluster in CLUSTERS:
        spoke = installation.plane.spokes[cluster].admin
        wait_for(
            lambda spoke=spoke: image(spoke) == "registry.example.com/agent:2",  # type: ignore[misc]
            what=f"the new image is on {cluster}",
            timeout=60,
        )
    for name in before:
        hub.delete(TEMPLATE, name)


def test_removing_everything_leaves_the_namespace_and_peoples_secrets(
    installation: Installation, hub: Client
) -> None:
    spoke = installation.plane.spokes["cluster1"].admin
    token: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "peoples-token", "namespace": AGENT_NAMESPACE},
        "stringData": {"token": "x"},
    }
    spoke.apply(token)
    hub.delete(ADDON, ADDON_NAME, namespace="cluster1")
    hub.delete(WORK, "gitops-dsf-config", namespace="cluster1")
    wait_for(
        lambda: spoke.find(DEPLOYMENT, ADDON_NAME, namespace=AGENT_NAMESPACE) is None,
        what="the agent is gone",
        timeout=60,
    )
    wait_for(
        lambda: spoke.find("v1/ConfigMap", CONFIGMAP_NAME, namespace=AGENT_NAMESPACE) is None,
        what="its configuration is gone",
    )
    wait_for(
        lambda: hub.find(WORK, "gitops-dsf-config", namespace="cluster1") is None,
        what="the work is gone",
        timeout=60,
    )

    def kept() -> bool:
        namespace = spoke.get("v1/Namespace", AGENT_NAMESPACE)
        secret = spoke.find("v1/Secret", "peoples-token", namespace=AGENT_NAMESPACE)
        return "deletionTimestamp" not in namespace["metadata"] and secret is not None

    hold_for(kept, what="the namespace and the Secret stay", seconds=5)
    spoke.delete("v1/Secret", "peoples-token", namespace=AGENT_NAMESPACE)


def conditions(item: Object) -> dict[str, str]:
    return {one["type"]: one["status"] for one in item.get("status", {}).get("conditions") or []}


def template_names(hub: Client) -> set[str]:
    return {
        item["metadata"]["name"] for item in hub.list(TEMPLATE) if item["spec"]["addonName"] == ADDON_NAME
    }


def image(spoke: Client) -> str:
    containers = spoke.get(DEPLOYMENT, ADDON_NAME, namespace=AGENT_NAMESPACE)["spec"]["template"]["spec"][
        "containers"
    ]
    return str(containers[0]["image"])
