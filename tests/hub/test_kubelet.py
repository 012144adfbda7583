"""Our images of the agent and of the reconciler as pods of real nodes.

Nothing is simulated but the registration agent of OCM, which would write the Secret with the
agent's hub credentials. The bridge of the pods enforces no NetworkPolicies, so nothing here says
anything about them.
"""

import base64
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from gitops_dsf.hub.names import RECONCILER
from tests.hub.controlplane.api import Client, Object, is_true, manifest
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.binaries import Binaries, obtain
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kube import WORKLOAD_CONTROLLERS, Kubernetes
from tests.hub.controlplane.kubeconfig import kubeconfig_of
from tests.hub.controlplane.node import Node, is_ready
from tests.hub.controlplane.plane import ControlPlane, addon_identity
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.registry import Registry
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario import realimages
from tests.hub.scenario.agents import HUB_NAMESPACE, wait_for_deployment
from tests.hub.scenario.fleet import RESOURCE, SCORING, new_fleet
from tests.hub.scenario.headroom import HeadroomApi
from tests.hub.scenario.installation import ADDON, Installation
from tests.hub.scenario.placements import scores

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd", "kubelet")]

CLUSTER = "cluster1"
SECRET = "api-token"
EVENT, LEASE = "v1/Event", "coordination.k8s.io/v1/Lease"
HUB_NAME = "hub-apiserver.example.com"
"""The hub's name for pods; a Service of their node leads from its port 443 to the API server."""
USER = 65532


@dataclass(kw_only=True)
class World:
    """The control plane with a node on the hub and one on the spoke."""

    plane: ControlPlane
    images: Mapping[str, str]
    api: HeadroomApi
    spoke_node: Node

    @property
    def hub(self) -> Client:
        return self.plane.hub.admin

    @property
    def spoke(self) -> Client:
        return self.plane.spokes[CLUSTER].admin

    def pods(self) -> list[Object]:
        """The ready pods of the agent."""
        found = self.spoke.list(
            "v1/Pod", namespace=AGENT_NAMESPACE, labels=f"app.kubernetes.io/name={ADDON_NAME}"
        )
        return [pod for pod in found if is_ready(pod)]

    def agent(self) -> Object:
        """The agent's pod, once it is ready."""
        (pod,) = wait_for(self.pods, what="the agent's pod is ready", seen=self.evidence)
        return pod

    def scores(self) -> list[int]:
        return [*scores(self.hub, CLUSTER, RESOURCE).values()]

    def expect(self, fixed: float) -> None:
        """Have the scoring API answer something else, and wait for the score of it."""
        self.api.fixed = fixed
        wanted = int(1 + 99 * fixed)
        wait_for(
            lambda: any(abs(score - wanted) <= 1 for score in self.scores()),
            what=f"the score follows the API to {wanted}",
            seen=lambda: (self.scores(), self.api.refused, self.evidence()),
        )

    def evidence(self) -> object:
        """What the kubelet says of the pods."""
        pods = self.spoke.list("v1/Pod", namespace=AGENT_NAMESPACE)
        events = self.spoke.list("v1/Event", namespace=AGENT_NAMESPACE)
        return [pod.get("status") for pod in pods], [event["message"] for event in events][-12:]


def container(pod: Object) -> Object:
    (status,) = pod["status"]["containerStatuses"]
    return status  # type: ignore[no-any-return]


def container_id(pod: Object) -> str:
    return str(container(pod)["containerID"]).removeprefix("containerd://")


def secret(name: str, content: dict[str, bytes]) -> Object:
    """A Secret in the namespace of the agent."""
    data = {key: base64.b64encode(value).decode("ascii") for key, value in content.items()}
    return manifest("v1/Secret", name, namespace=AGENT_NAMESPACE, type="Opaque", data=data)


def hub_kubeconfig(plane: ControlPlane, cluster: str) -> Object:
    """The Secret that OCM's registration agent would write: a kubeconfig with the names of the
    files beside it, and a new client certificate.
    """
    identity = addon_identity(cluster=cluster, addon=ADDON_NAME)
    pair = plane.hub.authority.client(identity.user, identity.groups)
    kubeconfig = kubeconfig_of(
        {
            "server": f"https://{HUB_NAME}:443",
            "certificate-authority-data": plane.hub.authority.bundle,
        },
        {"client-certificate": "tls.crt", "client-key": "tls.key"},
        namespace=cluster,
    )
    return secret(
        f"{ADDON_NAME}-hub-kubeconfig",
        {
            "kubeconfig": kubeconfig.encode(),
            "tls.crt": pair.certificate,
            "tls.key": pair.key,
            "cluster-name": cluster.encode(),
            "agent-name": b"agent1",
        },
    )


@pytest.fixture(scope="module", autouse=True)
def possible() -> None:
    realimages.require_nodes()


@pytest.fixture(scope="module")
def world(
    possible: None,
    kubernetes_binaries: Binaries,
    ocm_binaries: Binaries | None,
    argocd_binaries: Binaries,
    git_server: GitServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    """A control plane of its own: nothing else in the suite expects that Deployments get pods."""
    folder = tmp_path_factory.mktemp("nodes")
    kubelet = obtain("kubelet")
    processes = Processes(logs=folder / "logs")
    kubernetes = Kubernetes(binaries=kubernetes_binaries, processes=processes, folder=folder)
    plane = ControlPlane(
        kubernetes=kubernetes,
        ocm_binaries=ocm_binaries,
        spoke_names=(CLUSTER,),
        kube_controllers=WORKLOAD_CONTROLLERS,
    )
    with plane, ExitStack() as stack:
        registry = stack.enter_context(Registry(processes=processes, folder=folder / "registry"))
        sandbox, images = realimages.publish(
            registry, kubelet, folder, names=("agent", "reconciler")
        )
        api = stack.enter_context(HeadroomApi(fixed=0.5, token="first"))
        source = {"type": "None"}
        fleet = new_fleet(
            git_server, "kubelet", clusters=[CLUSTER], guestbook=False, secret=SECRET, source=source
        )
        fleet.configure(**{name: {"image": image} for name, image in images.items()})
        fleet.render()
        # Not removed at the end, because the control plane ends with it.
        installation = Installation(fleet=fleet, plane=plane)
        # Its kinds and roles: it does not run.
        ArgoCD(
            binaries=argocd_binaries, processes=processes, folder=folder, hub=plane.hub
        ).install()
        installation.label_clusters()
        installation.apply()
        wait_for_deployment(plane, CLUSTER)
        spoke = plane.spokes[CLUSTER]
        spoke.admin.apply(secret(SECRET, {"token": b"first"}))
        spoke.admin.apply(hub_kubeconfig(plane, CLUSTER))
        port = int(registry.authority.rpartition(":")[2])
        host, _, scoring_port = SCORING.rpartition(":")
        services = {
            "localhost": (port, registry.authority),
            host: (int(scoring_port), api.authority),
            HUB_NAME: (443, plane.hub.url.removeprefix("https://")),
        }
        nodes = [
            stack.enter_context(
                Node(
                    name=f"{server.name}-node",
                    server=server,
                    binaries=kubelet,
                    processes=processes,
                    folder=folder / f"{server.name}-node",
                    sandbox_image=sandbox,
                    services=services,
                    number=number,
                )
            )
            for number, server in enumerate((spoke, plane.hub), start=1)
        ]
        running = World(plane=plane, images=images, api=api, spoke_node=nodes[0])
        running.agent()
        processes.check_listeners()
        yield running
    left = processes.left_behind()
    assert not left, f"processes left behind: {left}"


def test_the_agent_runs_from_our_image_and_its_add_on_is_available(world: World) -> None:
    """The status of the Deployment is the kubelet's, not ours."""
    pod = world.agent()
    assert container(pod)["image"] == world.images["agent"]
    world.expect(0.4)
    wait_for(
        lambda: is_true(world.hub.get(ADDON, ADDON_NAME, namespace=CLUSTER), "Available"),
        what="the add-on is Available",
        seen=lambda: world.hub.get(ADDON, ADDON_NAME, namespace=CLUSTER),
    )


def test_the_reconciler_runs_from_our_image_and_leads(world: World) -> None:
    """Ready: it has read the hub, with the account and in the pod that we render."""

    def pods() -> list[Object]:
        return world.hub.list(
            "v1/Pod", namespace=HUB_NAMESPACE, labels=f"app.kubernetes.io/name={RECONCILER}"
        )

    ready = wait_for(
        lambda: [pod for pod in pods() if is_ready(pod)],
        what="a pod of the reconciler is ready",
        seen=lambda: (
            [pod.get("status") for pod in pods()],
            world.hub.list(EVENT, namespace=HUB_NAMESPACE),
        ),
    )
    assert {container(pod)["image"] for pod in ready} == {world.images["reconciler"]}
    wait_for(
        lambda: world.hub.get(LEASE, RECONCILER, namespace=HUB_NAMESPACE)["spec"][
            "holderIdentity"
        ].startswith(tuple(pod["metadata"]["name"] for pod in pods())),
        what="one of its pods leads",
    )


def test_the_kernel_confines_the_agent(world: World) -> None:
    """What the Deployment asks for, as the kernel enforces it for the process."""
    pod = world.agent()
    (process,) = world.spoke_node.processes_of(container_id(pod))
    status = dict(
        line.split(":\t", 1)
        for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
        if ":\t" in line
    )
    assert status["Uid"].split() == status["Gid"].split() == [str(USER)] * 4
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    mounts = [
        line.split() for line in Path(f"/proc/{process}/mounts").read_text("ascii").splitlines()
    ]
    options = {mount[1]: mount[3].split(",") for mount in mounts}
    assert "ro" in options["/"]
    assert "ro" in options["/etc/dynamic-scoring"]
    assert "rw" in options["/tmp"]  # noqa: S108 - in the pod
    assert world.spoke_node.limit_of(container_id(pod)) == 256 * 1024 * 1024
    shells = [
        Path(f"/proc/{process}/root/{path}") for path in ("bin/sh", "bin/bash", "bin/busybox")
    ]
    assert not any(shell.exists() for shell in shells)


def test_the_pages_of_the_agent_answer_on_the_pods_address(world: World) -> None:
    address = world.agent()["status"]["podIP"]
    assert world.spoke_node.get(f"http://{address}:8080/healthz").status_code == 200
    assert "dynamic_score{" in wait_for(
        lambda: (
            text
            if "dynamic_score{"
            in (text := world.spoke_node.get(f"http://{address}:8080/metrics").text)
            else None
        ),
        what="the agent shows the score",
    )


def test_a_token_in_a_secret_rotates(world: World) -> None:
    world.agent()
    world.expect(0.3)
    again = "second" if world.api.token == "first" else "first"
    world.api.token = again
    refused = world.api.refused
    wait_for(lambda: world.api.refused > refused, what="the old token is refused")
    world.spoke.apply(secret(SECRET, {"token": again.encode()}))
    world.expect(0.7)


def test_scores_go_on_after_the_agent_was_killed(world: World) -> None:
    """The kubelet starts the container again, and the same pod goes on."""
    pod = world.agent()
    (process,) = world.spoke_node.processes_of(container_id(pod))
    os.kill(process, signal.SIGKILL)
    wait_for(
        lambda: any(
            container(one)["restartCount"] > container(pod)["restartCount"]
            for one in world.pods()
            if one["metadata"]["uid"] == pod["metadata"]["uid"]
        ),
        what="the kubelet started the container again",
        seen=world.evidence,
    )
    world.expect(0.8)
