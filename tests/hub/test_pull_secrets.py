"""Credentials for registries.

Named by the Deployments, and copied within a managed cluster by the operator of OCM's klusterlet.
"""

import base64
import json
from collections.abc import Iterator

import pytest

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from gitops_dsf.hub.names import OCM_PULL_SECRET, OCM_PULL_SECRET_LABEL
from tests.hub.controlplane.api import Object, is_true, manifest
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for, wait_until_there
from tests.hub.scenario.agents import DEPLOYMENT, wait_for_deployment
from tests.hub.scenario.fleet import Fleet, new_fleet
from tests.hub.scenario.installation import WORK, Installation, installed

pytestmark = [pytest.mark.family("kubernetes", "ocm")]

CLUSTER = "cluster1"
OPERATOR_NAMESPACE = "open-cluster-management"
SECRET, NAMESPACE = "v1/Secret", "v1/Namespace"
CREDENTIALS = base64.b64encode(
    json.dumps({"auths": {"registry.example.com": {"auth": "eDp5"}}}).encode()
)


@pytest.fixture
def installation(control_plane: ControlPlane, git_server: GitServer) -> Iterator[Installation]:
    fleet = new_fleet(git_server, "pullsecrets", clusters=[CLUSTER], guestbook=False)
    configure(fleet, [OCM_PULL_SECRET, "regcred"])
    with installed(fleet, control_plane) as installation:
        wait_for_deployment(control_plane, CLUSTER)
        yield installation


def configure(fleet: Fleet, names: list[str]) -> None:
    fleet.configure(agent={"imagePullSecrets": names}, reconciler={"imagePullSecrets": names})


def test_ocm_copies_its_pull_secret_to_the_agent(
    installation: Installation, control_plane: ControlPlane
) -> None:
    spoke, hub = control_plane.spokes[CLUSTER].admin, control_plane.hub.admin
    content: Object = {
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": CREDENTIALS.decode()},
    }
    spoke.apply(manifest(NAMESPACE, OPERATOR_NAMESPACE))
    spoke.apply(manifest(SECRET, OCM_PULL_SECRET, namespace=OPERATOR_NAMESPACE, **content))
    for work in ("gitops-dsf-config", f"addon-{ADDON_NAME}-deploy-0"):
        wait_for(
            lambda work=work: is_true(hub.find(WORK, work, namespace=CLUSTER), "Applied"),  # type: ignore[misc]
            what=f"{work}, which has the namespace as well, is applied",
        )
    with control_plane.copying_pull_secrets(CLUSTER, namespace=OPERATOR_NAMESPACE):
        copy = wait_until_there(spoke, SECRET, OCM_PULL_SECRET, namespace=AGENT_NAMESPACE)
    assert {key: copy[key] for key in content} == content
    named = [{"name": OCM_PULL_SECRET}, {"name": "regcred"}]
    assert pod_of(control_plane, CLUSTER)["imagePullSecrets"] == named
    reconciler = hub.get(DEPLOYMENT, "gitops-dsf-reconciler", namespace="gitops-dsf")
    assert reconciler["spec"]["template"]["spec"]["imagePullSecrets"] == named

    configure(installation.fleet, [])
    installation.sync()
    wait_for(
        lambda: "imagePullSecrets" not in pod_of(control_plane, CLUSTER),
        what="the Deployment names no pull secrets any more",
    )
    # OCM's work agent removes no labels, and the operator deletes no copies: people do that.
    assert (
        spoke.get(NAMESPACE, AGENT_NAMESPACE)["metadata"]["labels"][OCM_PULL_SECRET_LABEL] == "true"
    )
    assert spoke.find(SECRET, OCM_PULL_SECRET, namespace=AGENT_NAMESPACE) is not None
    spoke.patch(NAMESPACE, AGENT_NAMESPACE, {"metadata": {"labels": {OCM_PULL_SECRET_LABEL: None}}})
    for namespace in (AGENT_NAMESPACE, OPERATOR_NAMESPACE):
        spoke.delete(SECRET, OCM_PULL_SECRET, namespace=namespace)


def pod_of(plane: ControlPlane, cluster: str) -> dict[str, object]:
    deployment = plane.spokes[cluster].admin.get(DEPLOYMENT, ADDON_NAME, namespace=AGENT_NAMESPACE)
    pod: dict[str, object] = deployment["spec"]["template"]["spec"]
    return pod
