"""Source type Kubernetes on a real API server.

The values of measures equal a calculation by hand, and the agent has the rights for it.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from tests.hub.controlplane.api import ApiError, Client, Object, manifest
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for, wait_until_there
from tests.hub.scenario.agents import AgentProgram, spoke_agent
from tests.hub.scenario.fleet import new_fleet, scorer
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.placements import scores
from tests.support.agent.clusterobjects import device, resource_slice

pytestmark = pytest.mark.family("kubernetes", "ocm", "argocd")

CLUSTER = "cluster1"
NAMESPACE = "measured"
GI = 2**30
SAMPLE = re.compile(
    r'^dynamic_score\{.*ds_node="([^"]*)".*ds_score_name="([^"]*)".*\} (\S+)', re.MULTILINE
)

CLUSTER_VALUES = {
    # Usable are only n1 and n2.
    "cpu_allocatable_cores": 12.0,
    # n1: 2 (an init container) + 1.8 (a sidecar during an init container) + 1.
    # n2: 0.75 (with overhead) + 1 (of the pod as a whole).
    "cpu_requested_cores": 6.55,
    "cpu_available_ratio": 5.45 / 12,
    "cpu_available_cores": 5.45,
    # n1: 2 + 1.25 + 0.5 of 32 Gi. n2: 1.125 + 1 of 16 Gi.
    "memory_available_bytes": 42.125 * GI,
    "pods_available": 35.0,
    "nodes_usable": 2.0,
    "pods_unschedulable": 1.0,
    'extended_available{resource="nvidia.com/gpu"}': 3.0,
    # 4 on n1, of which one is tainted, and 2 partitions of n2 that do not fit together. The device
    # of the cordoned node is not offered.
    'devices_allocatable{driver="gpu.example.com"}': 5.0,
    # The claim of a monitor and that of the tainted device do not count.
    'devices_allocated{driver="gpu.example.com"}': 2.0,
    'devices_available{driver="gpu.example.com"}': 2.0,
    'devices_available_ratio{driver="gpu.example.com"}': 0.4,
    # A fabric that all nodes reach, in two slices of its newest generation.
    'devices_allocatable{driver="fabric.example.com"}': 2.0,
}
NODE_VALUES = {
    "node_cpu_available_cores": {"n1": 3.2, "n2": 2.25},
    "node_memory_available_ratio": {"n1": 28.25 / 32, "n2": 13.875 / 16},
    "node_ready": {"cordoned": 1.0, "n1": 1.0, "n2": 1.0},
    'node_devices_available{driver="gpu.example.com"}': {"n1": 2.0, "n2": 0.0},
}


def node(
    name: str, more: Object | None = None, *, spec: Object | None = None, **offers: str
) -> Object:
    allocatable = {"cpu": "64", "memory": "64Gi", "pods": "20", **offers, **(more or {})}
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": allocatable, "capacity": allocatable, "conditions": conditions}
    return manifest("v1/Node", name, spec=spec or {}, status=status)


def container(name: str, **more: Any) -> Object:
    requests = {key: more.pop(key) for key in ("cpu", "memory", "nvidia.com/gpu") if key in more}
    limits = {key: value for key, value in requests.items() if key == "nvidia.com/gpu"}
    resources = {"requests": requests, "limits": limits}
    return {"name": name, "image": "registry.invalid/x", "resources": resources, **more}


def pod(name: str, *containers: Object, on: str = "", **spec: Any) -> Object:
    whole = {"automountServiceAccountToken": False, "containers": list(containers), **spec}
    whole |= {"nodeName": on} if on else {}
    return manifest("v1/Pod", name, namespace=NAMESPACE, spec=whole)


GPUS = {"nvidia.com/gpu": "4"}
NODES = (
    node("n1", GPUS, cpu="8", memory="32Gi"),
    node("n2", cpu="4", memory="16Gi"),
    node("cordoned", spec={"unschedulable": True}),
)
PODS = (
    pod(
        "init",
        container("a", cpu="1", memory="2Gi"),
        on="n1",
        initContainers=[container("prepare", cpu="2", memory="1Gi")],
    ),
    pod(
        "sidecar",
        container("a", cpu="1", memory="1Gi"),
        on="n1",
        initContainers=[
            container("proxy", cpu="300m", memory="256Mi", restartPolicy="Always"),
            container("prepare", cpu="1500m", memory="128Mi"),
        ],
    ),
    pod("gpu", container("a", cpu="1", memory="512Mi", **{"nvidia.com/gpu": "1"}), on="n1"),
    pod("sandboxed", container("a", cpu="500m", memory="1Gi"), on="n2", runtimeClassName="sandbox"),
    pod(
        "whole",
        container("a", cpu="200m"),
        on="n2",
        resources={"requests": {"cpu": "1", "memory": "1Gi"}},
    ),
    pod("done", container("a", cpu="3", memory="1Gi"), on="n2"),
    pod("waiting", container("a", cpu="100")),
)
SANDBOX = manifest(
    "node.k8s.io/v1/RuntimeClass",
    "sandbox",
    handler="sandbox",
    overhead={"podFixed": {"cpu": "250m", "memory": "128Mi"}},
)


def partition(name: str, slots: str) -> Object:
    consumed = {"counterSet": "gpu-0", "counters": {"slots": {"value": slots}}}
    return device(name, consumesCounters=[consumed])


def fabric(name: str, *ports: str, generation: int, slices: int = 1) -> Object:
    """A part of the pool that all nodes reach."""
    return resource_slice(
        name,
        *map(device, ports),
        driver=FABRIC,
        pool="fabric",
        generation=generation,
        slices=slices,
        allNodes=True,
    )


GPU, FABRIC = "gpu.example.com", "fabric.example.com"
BROKEN = {"key": "gpu.example.com/broken", "effect": "NoSchedule"}
SLOTS = [{"name": "gpu-0", "counters": {"slots": {"value": "4"}}}]
SLICES = (
    resource_slice(
        "n1-gpus",
        device(
            "gpu-0",
            attributes={"model": {"string": "a"}},
            capacity={"memory": {"value": "80Gi"}},
        ),
        device("gpu-1"),
        device("gpu-2"),
        device("gpu-3", taints=[BROKEN]),
        driver=GPU,
        node="n1",
    ),
    resource_slice("n2-counters", driver=GPU, node="n2", slices=2, sharedCounters=SLOTS),
    resource_slice(
        "n2-gpus",
        partition("whole", "4"),
        partition("half", "2"),
        driver=GPU,
        node="n2",
        slices=2,
    ),
    resource_slice("cordoned-gpus", device("gpu-0"), driver=GPU, node="cordoned"),
    fabric("fabric-old", *(f"old-{n}" for n in range(5)), generation=1),
    *(fabric(f"fabric-{n}", f"port-{n}", generation=2, slices=2) for n in range(2)),
)


def claim(name: str, pool: str, device: str, *, monitors: bool = False) -> tuple[Object, Object]:
    """A claim, and its status, which the scheduler writes."""
    admin = {"adminAccess": True} if monitors else {}
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", **admin}}
    plain = manifest(
        "resource.k8s.io/v1/ResourceClaim",
        name,
        namespace=NAMESPACE,
        spec={"devices": {"requests": [request]}},
    )
    result = {"request": "gpu", "driver": GPU, "pool": pool, "device": device, **admin}
    return plain, {"allocation": {"devices": {"results": [result]}}}


CLAIMS = (
    claim("training", "n1", "gpu-0"),
    claim("on-broken", "n1", "gpu-3"),
    claim("monitor", "n1", "gpu-1", monitors=True),
    claim("inference", "n2", "half"),
)
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
STATES: dict[str, Object] = {
    "done": {"phase": "Succeeded"},
    "waiting": {"phase": "Pending", "conditions": [UNSCHEDULABLE]},
}
"""Of pods that do not run."""


def measure(query: str) -> Object:
    """A scorer without a scoring API. Its interval is an hour, so only changes start cycles."""
    name = re.sub(r"[^a-z0-9]+", "-", query).strip("-")
    return scorer(
        name,
        source={"type": "Kubernetes", "params": {"query": query}},
        scoring={"type": "Query", "params": {"name": name, "interval": 3600}},
        scoreDimensionFormat="${scoreName};${node}"
        if query.startswith("node_")
        else "${scoreName}",
        scoreRange={"min": 0, "max": 100},
    )


@dataclass(frozen=True, kw_only=True)
class KubernetesSourceScene:
    """A running agent with one scorer for each measure, and its cluster."""

    installation: Installation
    spoke: Client
    account: Client
    """The agent's ServiceAccount on the spoke."""
    agent: AgentProgram

    def expect(self, query: str, values: dict[str, float]) -> None:
        """Waits until a measure has these values.

        Another test may just have changed the cluster.
        """
        wait_for(
            lambda: self.values(query) == pytest.approx(values),
            what=f"{query} is {values}",
            seen=lambda: (self.values(query), self.agent.ready()),
        )

    def values(self, query: str) -> dict[str, float]:
        """The raw scores of a measure by node; the key is empty for a measure of the cluster."""
        name = measure(query)["metadata"]["name"]
        found = SAMPLE.findall(self.agent.metrics())
        return {node: float(value) for node, score, value in found if score == name}


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane,
    argocd: object,
    git_server: GitServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[KubernetesSourceScene]:
    fleet = new_fleet(git_server, "measures", clusters=[CLUSTER], guestbook=False)
    fleet.write("scorers/measures.yaml", *map(measure, (*CLUSTER_VALUES, *NODE_VALUES)))
    spoke = control_plane.spokes[CLUSTER]
    with ExitStack() as stack:
        stack.enter_context(populated(spoke.admin))
        installation = stack.enter_context(installed(fleet, control_plane))
        agent = stack.enter_context(
            spoke_agent(
                control_plane, CLUSTER, folder=tmp_path_factory.mktemp("agent"), environment={}
            )
        )
        account = stack.enter_context(
            Client(spoke.service_account_kubeconfig(AGENT_NAMESPACE, ADDON_NAME))
        )
        yield KubernetesSourceScene(
            installation=installation, spoke=spoke.admin, account=account, agent=agent
        )


@contextmanager
def populated(spoke: Client) -> Iterator[None]:
    """Nodes and pods of the cluster, while the block runs."""
    with ExitStack() as stack:
        # Only there claims may ask for admin access.
        admin = {"resource.kubernetes.io/admin-access": "true"}
        spoke.apply(manifest("v1/Namespace", NAMESPACE, meta={"labels": admin}))
        stack.callback(spoke.delete, "v1/Namespace", NAMESPACE)
        spoke.apply(SANDBOX)
        stack.callback(spoke.delete, "node.k8s.io/v1/RuntimeClass", "sandbox")
        wait_until_there(spoke, "v1/ServiceAccount", "default", namespace=NAMESPACE)
        for item in NODES:
            spoke.create(item)
            stack.callback(spoke.delete, "v1/Node", item["metadata"]["name"])
        for item in PODS:
            name = item["metadata"]["name"]
            spoke.create(item)
            stack.callback(remove, spoke, name)
            status = STATES.get(name, {"phase": "Running"})
            spoke.patch_status("v1/Pod", name, status, namespace=NAMESPACE)
        for item in SLICES:
            spoke.create(item)
            name = item["metadata"]["name"]
            stack.callback(spoke.delete, "resource.k8s.io/v1/ResourceSlice", name)
        for item, status in CLAIMS:
            allocate(spoke, item, status)
            stack.callback(
                spoke.delete,
                "resource.k8s.io/v1/ResourceClaim",
                item["metadata"]["name"],
                namespace=NAMESPACE,
            )
        yield


def allocate(spoke: Client, item: Object, status: Object) -> None:
    """Creates a claim and gives it a device, as the scheduler does."""
    spoke.create(item)
    name = item["metadata"]["name"]
    spoke.patch_status("resource.k8s.io/v1/ResourceClaim", name, status, namespace=NAMESPACE)


def remove(spoke: Client, name: str) -> None:
    """Deletes a pod. No kubelet confirms the end, so there is no grace period."""
    spoke.delete("v1/Pod", name, namespace=NAMESPACE, gracePeriodSeconds=0)


@pytest.mark.parametrize("query", [*CLUSTER_VALUES, *NODE_VALUES])
def test_a_measure_equals_a_calculation_by_hand(scene: KubernetesSourceScene, query: str) -> None:
    scene.expect(query, NODE_VALUES.get(query) or {"": CLUSTER_VALUES[query]})


def test_a_new_pod_changes_the_score_on_the_hub(scene: KubernetesSourceScene) -> None:
    """Within seconds, although the interval is an hour."""

    def published() -> list[int]:
        return [*scores(scene.installation.hub, CLUSTER, "cpu-available-cores").values()]

    # 5.45 of 100 on the scale from 1 to 100.
    wait_for(lambda: published() == [6], what="the score is on the hub", seen=published)
    scene.spoke.create(pod("burst", container("a", cpu="2"), on="n1"))
    try:
        wait_for(lambda: published() == [4], what="3.45 cores are left", seen=published)
    finally:
        remove(scene.spoke, "burst")


def test_a_new_claim_changes_the_measure(scene: KubernetesSourceScene) -> None:
    """Also of the fabric, whose driver replaces its devices by a third generation meanwhile."""
    available = 'devices_available{driver="gpu.example.com"}'
    ports = 'devices_allocatable{driver="fabric.example.com"}'
    scene.expect(available, {"": 2.0})
    allocate(scene.spoke, *claim("burst", "n1", "gpu-2"))
    scene.spoke.create(fabric("fabric-new", "port-0", generation=3))
    try:
        scene.expect(available, {"": 1.0})
        scene.expect(ports, {"": 1.0})
    finally:
        scene.spoke.delete("resource.k8s.io/v1/ResourceClaim", "burst", namespace=NAMESPACE)
        scene.spoke.delete("resource.k8s.io/v1/ResourceSlice", "fabric-new")


def test_the_agent_reads_nodes_and_pods_and_no_more(scene: KubernetesSourceScene) -> None:
    assert len(scene.account.list("v1/Node")) == len(NODES)
    assert len(scene.account.list("resource.k8s.io/v1/ResourceClaim")) == len(CLAIMS)
    with pytest.raises(ApiError, match="403 Forbidden"):
        scene.account.list("v1/Secret")
    with pytest.raises(ApiError, match="403 Forbidden"):
        scene.account.delete("v1/Pod", "gpu", namespace=NAMESPACE)
    with pytest.raises(ApiError, match="403 Forbidden"):
        scene.account.delete("resource.k8s.io/v1/ResourceSlice", "n1-gpus")
