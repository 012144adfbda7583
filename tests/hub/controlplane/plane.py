"""The control plane as one thing.

A hub, its spokes, OCM on both, and the verbs that tests use on them.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

from tests.hub.controlplane.api import manifest
from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.kube import CONTROLLERS, KubeApiServer, Kubernetes, start_store
from tests.hub.controlplane.kubeconfig import Identity
from tests.hub.controlplane.ocm import Controllers, HubManager, WorkAgent
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.waiting import wait_for

MANAGED_CLUSTER = "cluster.open-cluster-management.io/v1/ManagedCluster"
SPOKES = ("cluster1", "cluster2")

# No registration agent renews the clusters' leases here, so the grace of five lease durations
# outlasts every run: ocm pkg/registration/hub/lease.
LONG_AGO_SECONDS = 3600.0
LEASE_SECONDS = 3600


@dataclass(kw_only=True)
class ControlPlane:
    """A running control plane; a context manager that leaves no process behind.

    `hub` and `spokes[name]` are API servers, each with `admin` (a client with all rights),
    `client(identity)`, `kubeconfig(identity)`, `kubectl(...)`. Without OCM's programs only the API
    servers run.
    """

    kubernetes: Kubernetes
    ocm_binaries: Binaries | None
    spoke_names: Sequence[str] = SPOKES
    kube_controllers: Sequence[str] = CONTROLLERS
    """Those of Kubernetes, on every API server."""
    hub: KubeApiServer = field(init=False)
    spokes: dict[str, KubeApiServer] = field(init=False)
    _servers: list[KubeApiServer] = field(default_factory=list)
    _agents: dict[str, WorkAgent] = field(default_factory=dict)
    _controllers: Controllers | None = None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def processes(self) -> Processes:
        return self.kubernetes.processes

    def close(self) -> None:
        for server in self._servers:
            server.close()
        self.processes.close()

    @contextmanager
    def copying_pull_secrets(self, name: str, *, namespace: str) -> Iterator[None]:
        """Runs the controller of a spoke's klusterlet operator that copies pull secrets.

        `namespace` is that of the operator.
        """
        spoke, process, controllers = self.spokes[name], f"{name}-pull-secrets", self._controllers
        assert controllers is not None, "OCM does not run"
        controllers.start(
            process,
            "pull-secrets",
            server=spoke,
            kubeconfig=spoke.kubeconfig(
                Identity(user="klusterlet-operator", groups=("system:masters",))
            ),
            namespace=namespace,
        )
        try:
            controllers.wait(process)
            yield
        finally:
            self.processes.stop(process)

    def add_clusters(self, clusters: Mapping[str, Mapping[str, str]]) -> None:
        """Register several at once: name -> labels.

        The default ManagedClusterSet is OCM's default, as always.
        """
        for name, labels in clusters.items():
            spec = {"hubAcceptsClient": True, "leaseDurationSeconds": LEASE_SECONDS}
            self.hub.admin.apply(
                manifest(MANAGED_CLUSTER, name, meta={"labels": dict(labels)}, spec=spec)
            )
        for name in clusters:
            claims = [{"name": "id.k8s.io", "value": name}]
            self.hub.admin.patch_status(MANAGED_CLUSTER, name, {"clusterClaims": claims})
            self.set_available(name, "True")
        for name in clusters:
            wait_for(lambda name=name: self._registered(name), what=f"OCM registered {name}")  # type: ignore[misc]

    def set_available(self, name: str, status: str) -> None:
        """Set the condition that OCM turns into taints: "True", "False" or "Unknown" (a cluster
        that left).

        It has been so for LONG_AGO_SECONDS, because the reconciler keeps the copies of a cluster
        for minutes after it became reachable, and a later test must not find one that has just
        returned.
        """
        cluster = self.hub.admin.get(MANAGED_CLUSTER, name)
        changed = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - LONG_AGO_SECONDS))
        ours = {"ManagedClusterJoined": "True", "ManagedClusterConditionAvailable": status}
        conditions = [
            one
            for one in cluster.get("status", {}).get("conditions") or []
            if one["type"] not in ours
        ]
        rest = {"reason": "TestControlPlane", "message": "", "lastTransitionTime": changed}
        conditions += [{"type": kind, "status": value, **rest} for kind, value in ours.items()]
        self.hub.admin.patch_status(MANAGED_CLUSTER, name, {"conditions": conditions})

    def taints(self, name: str) -> list[str]:
        """The keys of a cluster's taints, sorted."""
        spec = self.hub.admin.get(MANAGED_CLUSTER, name)["spec"]
        return sorted(taint["key"] for taint in spec.get("taints", []))

    def _start(self) -> None:
        store = start_store(self.kubernetes)
        self.hub = KubeApiServer(name="hub", kubernetes=self.kubernetes, store=store)
        self.spokes = {
            name: KubeApiServer(name=name, kubernetes=self.kubernetes, store=store)
            for name in self.spoke_names
        }
        self._servers = [self.hub, *self.spokes.values()]
        for server in self._servers:
            server.start()
        for server in self._servers:
            server.wait()
        for server in self._servers:
            server.start_controllers(self.kube_controllers)
        if self.ocm_binaries is not None:
            self._start_ocm(self.ocm_binaries)
        for server in self._servers:
            server.wait_controllers()
        self.processes.check_listeners()

    def _start_ocm(self, binaries: Binaries) -> None:
        controllers = Controllers(binaries=binaries, processes=self.processes)
        self._controllers = controllers
        manager = HubManager(server=self.hub, controllers=controllers)
        manager.install()
        manager.start()
        self._agents = {
            name: WorkAgent(spoke=spoke, hub=self.hub, controllers=controllers)
            for name, spoke in self.spokes.items()
        }
        for agent in self._agents.values():
            agent.install()
        manager.wait()
        # An agent that asks before the hub knows its cluster is refused, and backs off for seconds.
        self.add_clusters({name: {} for name in self.spokes})
        for agent in self._agents.values():
            agent.start()
        for agent in self._agents.values():
            agent.wait()

    def _registered(self, name: str) -> bool:
        """The work agent's rights are the last thing that registration makes; a taint stays until
        the condition is seen.
        """
        binding = f"open-cluster-management:managedcluster:{name}:work"
        found = self.hub.admin.find(
            "rbac.authorization.k8s.io/v1/RoleBinding", binding, namespace=name
        )
        return found is not None and not self.taints(name)


def addon_identity(*, cluster: str, addon: str) -> Identity:
    """What an add-on's certificate says: addon-framework pkg/agent, DefaultUser and
    DefaultGroups.
    """
    prefix = f"system:open-cluster-management:cluster:{cluster}:addon:{addon}"
    return Identity(
        user=f"{prefix}:agent:{addon}-agent",
        groups=(prefix, f"system:open-cluster-management:addon:{addon}"),
    )
