"""The add-on installs from our YAML alone: a ServiceMonitor where the Prometheus operator is, and what is
said where it is not; another image and other nodes of the agent; and it leaves what people own when it goes.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE, CONFIGMAP_NAME
from tests.hub.controlplane.api import Client, Object, condition
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import CRD, hold_for, wait_for
from tests.hub.scenario.agents import DEPLOYMENT, wait_for_deployment
from tests.hub.scenario.fleet import Fleet, settings, write_fleet
from tests.hub.scenario.installation import ADDON, WORK, Installation, installed

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

OPERATED, BARE = "cluster1", "cluster2"
MONITOR = "monitoring.coreos.com/v1/ServiceMonitor"
NAME = "servicemonitors.monitoring.coreos.com"
SELECTED = {"clusterSelector": {"matchLabels": {"monitoring": "operator"}}}


@pytest.fixture(scope="module")
def operator(control_plane: ControlPlane) -> Iterator[None]:
    """The operator's kind on one of the two clusters. It stays for all tests: OCM's work agent may need more
    than a minute to find a kind that was removed and comes back.
    """
    spoke = control_plane.spokes[OPERATED].admin
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spoke.apply(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": NAME},
            "spec": {
                "group": "monitoring.coreos.com",
                "scope": "Namespaced",
                "names": {
                    "kind": "ServiceMonitor",
                    "listKind": "ServiceMonitorList",
                    "plural": "servicemonitors",
                    "singular": "servicemonitor",
                },
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
            },
        }
    )
    wait_for(lambda: spoke.path(MONITOR), what="the cluster serves ServiceMonitors")
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
    fleet = Fleet(repository=git_server.create(request.node.name.replace("_", "-")), name="addonparts")
    write_fleet(fleet, clusters=[OPERATED, BARE])
    configure(fleet, SELECTED)
    path = fleet.root / f"clusters/{OPERATED}.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("labels:", "labels:\n    monitoring: operator"))
    fleet.render()
    with installed(fleet, control_plane, clusters=(OPERATED, BARE)) as installation:
        for name in (OPERATED, BARE):
            wait_for_deployment(control_plane, name)
        yield installation


def configure(fleet: Fleet, monitor: dict[str, Any] | None, **agent: Any) -> None:
    changed = settings(fleet)
    changed["spec"]["agent"] = agent if monitor is None else {"serviceMonitor": monitor, **agent}
    fleet.write("gitops-dsf.yaml", changed)


def test_a_service_monitor_comes_where_the_operator_is_and_goes_again(
    installation: Installation, hub: Client
) -> None:
    spokes = installation.plane.spokes
    monitor = wait_for(
        lambda: spokes[OPERATED].admin.find(MONITOR, ADDON_NAME, namespace=AGENT_NAMESPACE),
        what="the ServiceMonitor is on the cluster with the operator",
        seen=lambda: hub.find(ADDON, ADDON_NAME, namespace=OPERATED),
    )
    assert monitor["spec"]["endpoints"][0]["relabelings"] == [
        {"targetLabel": "cluster", "replacement": OPERATED}
    ]
    wait_for(lambda: applied(hub, BARE) == "True", what="the other cluster lacks nothing")

    # The name of such a template stays, and OCM rolls out its new content.
    configure(installation.fleet, {**SELECTED, "interval": "1m"})
    installation.fleet.render()
    installation.apply()
    wait_for(
        lambda: (
            spokes[OPERATED].admin.get(MONITOR, ADDON_NAME, namespace=AGENT_NAMESPACE)["spec"]["endpoints"][
                0
            ]["interval"]
            == "1m"
        ),
        what="the changed template is on the cluster",
    )

    configure(installation.fleet, {})
    installation.fleet.render()
    installation.apply()
    wait_for(
        lambda: applied(hub, BARE) == "False",
        what="the other cluster reports that it has no such kind",
        seen=lambda: hub.find(ADDON, ADDON_NAME, namespace=BARE),
    )
    assert spokes[BARE].admin.find(DEPLOYMENT, ADDON_NAME, namespace=AGENT_NAMESPACE) is not None

    configure(installation.fleet, None)
    installation.fleet.render()
    installation.apply()
    wait_for(
        lambda: spokes[OPERATED].admin.find(MONITOR, ADDON_NAME, namespace=AGENT_NAMESPACE) is None,
        what="it is gone",
    )
    wait_for(lambda: applied(hub, BARE) == "True", what="all is applied again")


def test_a_rollout_reaches_its_clusters_first(installation: Installation) -> None:
    """OCM changes the Deployment in place. It is never deleted, also not when its template goes."""
    fleet = installation.fleet

    def deployment(cluster: str) -> Object:
        return installation.plane.spokes[cluster].admin.get(DEPLOYMENT, ADDON_NAME, namespace=AGENT_NAMESPACE)

    def images() -> list[str]:
        pods = (deployment(name)["spec"]["template"]["spec"] for name in (OPERATED, BARE))
        return [pod["containers"][0]["image"] for pod in pods]

    def becomes(first: str, second: str, *, what: str) -> None:
        installation.sync()
        wait_for(lambda: images() == [first, second], what=what, seen=images)

    old, new, newer = (f"registry.example.com/gitops-dsf-agent:{version}" for version in (1, 2, 3))
    before = [deployment(name)["metadata"]["uid"] for name in (OPERATED, BARE)]
    configure(fleet, None, image=old, rollout=[{**SELECTED, "image": new}])
    becomes(new, old, what="the selected cluster runs another image")
    configure(fleet, None, image=old, rollout=[{**SELECTED, "image": newer}])
    becomes(newer, old, what="a changed entry is rolled out, too")

    # Two entries for one cluster: the image of one, the nodes of the other.
    infra = [{"key": "infra", "operator": "Exists"}]
    configure(
        fleet, None, image=old, rollout=[{**SELECTED, "image": newer}, {**SELECTED, "tolerations": infra}]
    )
    installation.sync()
    wait_for(
        lambda: deployment(OPERATED)["spec"]["template"]["spec"].get("tolerations") == infra,
        what="the tolerations of the second entry count as well",
    )
    assert images() == [newer, old]
    assert not deployment(BARE)["spec"]["template"]["spec"].get("tolerations")

    configure(fleet, None, image=newer)
    becomes(newer, newer, what="the others follow, and the template of the entry is gone")
    assert [deployment(name)["metadata"]["uid"] for name in (OPERATED, BARE)] == before


def test_removing_everything_leaves_the_namespace_and_peoples_secrets(
    installation: Installation, hub: Client
) -> None:
    spoke = installation.plane.spokes[OPERATED].admin
    token: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "peoples-token", "namespace": AGENT_NAMESPACE},
        "stringData": {"token": "x"},
    }
    spoke.apply(token)
    hub.delete(ADDON, ADDON_NAME, namespace=OPERATED)
    hub.delete(WORK, "gitops-dsf-config", namespace=OPERATED)
    wait_for(
        lambda: spoke.find(DEPLOYMENT, ADDON_NAME, namespace=AGENT_NAMESPACE) is None,
        what="the agent is gone",
    )
    wait_for(
        lambda: spoke.find("v1/ConfigMap", CONFIGMAP_NAME, namespace=AGENT_NAMESPACE) is None,
        what="its configuration is gone",
    )
    wait_for(lambda: hub.find(WORK, "gitops-dsf-config", namespace=OPERATED) is None, what="the work is gone")

    def kept() -> bool:
        namespace = spoke.get("v1/Namespace", AGENT_NAMESPACE)
        secret = spoke.find("v1/Secret", "peoples-token", namespace=AGENT_NAMESPACE)
        return "deletionTimestamp" not in namespace["metadata"] and secret is not None

    hold_for(kept, what="the namespace and the Secret stay", seconds=3)
    spoke.delete("v1/Secret", "peoples-token", namespace=AGENT_NAMESPACE)


def applied(hub: Client, cluster: str) -> str:
    """The condition ManifestApplied of the add-on."""
    return condition(hub.get(ADDON, ADDON_NAME, namespace=cluster), "ManifestApplied").get("status", "")
