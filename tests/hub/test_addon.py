"""The add-on installs from our YAML alone.

A ServiceMonitor where the Prometheus operator is, and what is said where it is not; a pod that
sends raw scores; another image and other nodes of the agent; and it leaves what people own when it
goes.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE, CONFIGMAP_NAME
from tests.hub.controlplane.api import Client, Object, is_true, manifest
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import (
    CRD,
    hold_for,
    wait_for,
    wait_until_gone,
    wait_until_served,
    wait_until_there,
)
from tests.hub.scenario.agents import DEPLOYMENT, wait_for_deployment
from tests.hub.scenario.fleet import new_fleet
from tests.hub.scenario.installation import ADDON, WORK, Installation, installed

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

OPERATED, BARE = "cluster1", "cluster2"
MONITOR = "monitoring.coreos.com/v1/ServiceMonitor"
NAME = "servicemonitors.monitoring.coreos.com"
SENDER, REMOTE_WRITE = "apps/v1/StatefulSet", "gitops-dsf-remote-write"
SELECTED = {"clusterSelector": {"matchLabels": {"monitoring": "operator"}}}


@pytest.fixture(scope="module")
def operator(control_plane: ControlPlane) -> Iterator[None]:
    """The operator's kind on one of the two clusters.

    It stays for all tests: OCM's work agent may need more than a minute to find a kind that was
    removed and comes back.
    """
    spoke = control_plane.spokes[OPERATED].admin
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spec = {
        "group": "monitoring.coreos.com",
        "scope": "Namespaced",
        "names": {
            "kind": "ServiceMonitor",
            "plural": "servicemonitors",
            "singular": "servicemonitor",
        },
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }
    definition = spoke.apply(manifest(CRD, NAME, spec=spec))
    wait_until_served(spoke, [definition])
    yield
    spoke.delete(CRD, NAME)


@pytest.fixture
def installation(
    control_plane: ControlPlane,
    operator: None,
    argocd: object,
    git_server: GitServer,
    request: pytest.FixtureRequest,
) -> Iterator[Installation]:
    fleet = new_fleet(git_server, "addonparts", repository=request.node.name.replace("_", "-"))
    fleet.configure(agent={"serviceMonitor": SELECTED})
    fleet.join(OPERATED, monitoring="operator")
    with installed(fleet, control_plane) as installation:
        for name in (OPERATED, BARE):
            wait_for_deployment(control_plane, name)
        yield installation


def test_a_service_monitor_comes_where_the_operator_is_and_goes_again(
    installation: Installation, hub: Client
) -> None:
    operated, bare = (installation.plane.spokes[name].admin for name in (OPERATED, BARE))

    def endpoint() -> Object:
        """The part that we render of it, on the cluster with the operator."""
        found = operated.find(MONITOR, ADDON_NAME, namespace=AGENT_NAMESPACE) or {
            "spec": {"endpoints": [{}]}
        }
        return dict(found["spec"]["endpoints"][0])

    def becomes(state: str, **agent: Any) -> None:
        """The condition ManifestApplied of the add-on on the other cluster."""
        installation.fleet.configure(agent=agent)
        installation.sync()
        wait_for(
            lambda: (
                is_true(hub.get(ADDON, ADDON_NAME, namespace=BARE), "ManifestApplied")
                == (state == "True")
            ),
            what=f"ManifestApplied is {state}",
            seen=lambda: hub.find(ADDON, ADDON_NAME, namespace=BARE),
        )

    relabelings = [{"targetLabel": "cluster", "replacement": OPERATED}]
    wait_for(
        lambda: endpoint().get("relabelings") == relabelings, what="it is there", seen=endpoint
    )
    # The name of such a template stays, and OCM rolls out its new content.
    becomes("True", serviceMonitor={**SELECTED, "interval": "1m"})
    wait_for(lambda: endpoint().get("interval") == "1m", what="it is changed", seen=endpoint)
    becomes("False", serviceMonitor={})
    assert bare.find(DEPLOYMENT, ADDON_NAME, namespace=AGENT_NAMESPACE) is not None
    becomes("True")
    wait_until_gone(operated, MONITOR, ADDON_NAME, namespace=AGENT_NAMESPACE)


def test_raw_scores_are_sent_from_a_pod_without_the_agents_credentials(
    installation: Installation,
) -> None:
    """OCM fills in the name of the cluster. The pod goes with its setting."""
    operated, bare = (installation.plane.spokes[name].admin for name in (OPERATED, BARE))
    writing = {
        **SELECTED,
        "url": "https://prometheus.hub.example.com/api/v1/write",
        "image": "quay.io/prometheus/prometheus:v3.16.0",
        "auth": {"tokenSecretRef": {"name": "hub-token", "key": "token"}},
    }
    installation.fleet.configure(agent={"remoteWrite": writing})
    installation.sync()
    # The work agent creates the objects of a work one after another.
    settings = wait_until_there(operated, "v1/ConfigMap", REMOTE_WRITE, namespace=AGENT_NAMESPACE)
    sender = wait_until_there(operated, SENDER, REMOTE_WRITE, namespace=AGENT_NAMESPACE)
    assert f"cluster: {OPERATED}\n" in settings["data"]["prometheus.yml"].replace('"', "")
    pod = sender["spec"]["template"]["spec"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes.keys() == {"config", "data", "credentials"}
    assert volumes["credentials"]["projected"]["sources"] == [
        {"secret": {"name": "hub-token", "items": [{"key": "token", "path": "token"}]}}
    ]
    assert "HUB_KUBECONFIG" not in str(pod)
    assert bare.find(SENDER, REMOTE_WRITE, namespace=AGENT_NAMESPACE) is None
    installation.fleet.configure(agent={})
    installation.sync()
    wait_until_gone(operated, SENDER, REMOTE_WRITE, namespace=AGENT_NAMESPACE)


def test_a_rollout_reaches_its_clusters_first(installation: Installation) -> None:
    """OCM changes the Deployment in place. It is never deleted, also not when its template goes."""
    fleet = installation.fleet

    def deployment(cluster: str) -> Object:
        return installation.plane.spokes[cluster].admin.get(
            DEPLOYMENT, ADDON_NAME, namespace=AGENT_NAMESPACE
        )

    def images() -> list[str]:
        pods = (deployment(name)["spec"]["template"]["spec"] for name in (OPERATED, BARE))
        return [pod["containers"][0]["image"] for pod in pods]

    def become(first: str, second: str, *, what: str, **agent: Any) -> None:
        fleet.configure(agent=agent)
        installation.sync()
        wait_for(lambda: images() == [first, second], what=what, seen=images)

    old, new, newer = (f"registry.example.com/gitops-dsf-agent:{version}" for version in (1, 2, 3))
    before = [deployment(name)["metadata"]["uid"] for name in (OPERATED, BARE)]
    first, changed = {**SELECTED, "image": new}, {**SELECTED, "image": newer}
    become(new, old, what="the selected cluster runs another image", image=old, rollout=[first])
    become(newer, old, what="a changed entry is rolled out, too", image=old, rollout=[changed])

    # Two entries for one cluster: the image of one, the nodes of the other.
    infra = [{"key": "infra", "operator": "Exists"}]
    fleet.configure(agent={"image": old, "rollout": [changed, {**SELECTED, "tolerations": infra}]})
    installation.sync()
    wait_for(
        lambda: deployment(OPERATED)["spec"]["template"]["spec"].get("tolerations") == infra,
        what="the tolerations of the second entry count as well",
    )
    assert images() == [newer, old]
    assert not deployment(BARE)["spec"]["template"]["spec"].get("tolerations")

    become(
        newer, newer, what="the others follow, and the template of the entry is gone", image=newer
    )
    assert [deployment(name)["metadata"]["uid"] for name in (OPERATED, BARE)] == before


def test_removing_everything_leaves_the_namespace_and_peoples_secrets(
    installation: Installation, hub: Client
) -> None:
    spoke = installation.plane.spokes[OPERATED].admin
    spoke.apply(
        manifest("v1/Secret", "peoples-token", namespace=AGENT_NAMESPACE, stringData={"token": "x"})
    )
    hub.delete(ADDON, ADDON_NAME, namespace=OPERATED)
    hub.delete(WORK, "gitops-dsf-config", namespace=OPERATED)
    wait_until_gone(spoke, DEPLOYMENT, ADDON_NAME, namespace=AGENT_NAMESPACE)
    wait_until_gone(spoke, "v1/ConfigMap", CONFIGMAP_NAME, namespace=AGENT_NAMESPACE)
    wait_until_gone(hub, WORK, "gitops-dsf-config", namespace=OPERATED)

    def kept() -> bool:
        namespace = spoke.get("v1/Namespace", AGENT_NAMESPACE)
        secret = spoke.find("v1/Secret", "peoples-token", namespace=AGENT_NAMESPACE)
        return "deletionTimestamp" not in namespace["metadata"] and secret is not None

    hold_for(kept, what="the namespace and the Secret stay", seconds=3)
    spoke.delete("v1/Secret", "peoples-token", namespace=AGENT_NAMESPACE)
