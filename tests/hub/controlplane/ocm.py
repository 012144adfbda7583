"""Open Cluster Management: its controllers and webhooks on the hub, its work agent on every spoke.

Each program runs as the ServiceAccount, or on the hub side of an agent as the certificate user, that OCM
gives it, with the roles of OCM's own manifests. Leader election is off: one replica each, and a restart must
not wait for a lease.
"""

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from tests.hub.controlplane.api import Object
from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.kube import UNTHROTTLED, ApiServer
from tests.hub.controlplane.kubeconfig import Identity
from tests.hub.controlplane.manifests import (
    AGENT_NAMESPACE,
    HUB_ADMISSION,
    HUB_CRDS,
    HUB_NAMESPACE,
    HUB_RIGHTS,
    SPOKE_CRDS,
    SPOKE_RIGHTS,
    WORK_SERVICE_ACCOUNT,
    hub_values,
    install,
    namespace,
    reached_by_url,
    render,
    spoke_values,
)
from tests.hub.controlplane.pki import Authority
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Probe, Processes, answering
from tests.hub.controlplane.waiting import wait_for, wait_until_served

WEBHOOKS = {"addon": "addon-webhook-sa", "registration": "registration-webhook-sa", "work": "work-webhook-sa"}
MANAGER = "cluster-manager"


@dataclass(kw_only=True)
class Controllers:
    """Starts OCM's controllers, which all take the same flags, and knows where they answer."""

    binaries: Binaries
    processes: Processes
    probes: dict[str, Probe] = field(default_factory=dict)

    def start(
        self,
        name: str,
        controller: str,
        *arguments: str,
        server: ApiServer,
        kubeconfig: Path,
        namespace: str,
    ) -> None:
        """Start without waiting."""
        port = free_port()
        self.probes[name] = answering(f"https://127.0.0.1:{port}/healthz", trust=server.trust())
        config = server.folder / f"{name}.config.yaml"
        config.write_text(_serving_config(server), encoding="utf-8")
        command: list[str | Path] = [
            self.binaries.path("ocm"),
            controller,
            *arguments,
            f"--config={config}",
            f"--kubeconfig={kubeconfig}",
            f"--namespace={namespace}",
            f"--listen=127.0.0.1:{port}",
            "--disable-leader-election",
            *UNTHROTTLED,
        ]
        settings = {"POD_NAME": name, "POD_NAMESPACE": namespace}
        self.processes.start(name, command, environment=settings)

    def wait(self, name: str) -> float:
        return self.processes.ready(self.processes.running[name], self.probes[name])


@dataclass(kw_only=True)
class HubManager:
    """OCM on the hub: placement, addon manager, registration, and the webhook servers."""

    server: ApiServer
    controllers: Controllers
    _addresses: dict[str, str] = field(default_factory=dict)

    def install(self) -> None:
        """CRDs, roles and admission, as the cluster manager's operator applies them."""
        authority = Authority("ocm-webhook-ca")
        folder = self.server.folder / "webhooks"
        serving, key = authority.server("ocm-webhooks").write(folder, "tls")
        authority.pair.write(folder, "ca")
        assert (serving.name, key.name) == ("tls.crt", "tls.key")
        self._addresses = {name: f"https://127.0.0.1:{free_port()}" for name in WEBHOOKS}
        values, binaries, admin = (
            hub_values(authority=authority.bundle),
            self.controllers.binaries,
            self.server.admin,
        )
        crds = [reached_by_url(item, self._addresses) for item in render(binaries, HUB_CRDS, values)]
        install(admin, crds, manager=MANAGER)
        install(admin, [namespace(HUB_NAMESPACE), *render(binaries, HUB_RIGHTS, values)], manager=MANAGER)
        wait_until_served(admin, crds)
        self._admission = [
            reached_by_url(item, self._addresses) for item in render(binaries, HUB_ADMISSION, values)
        ]

    def start(self) -> None:
        """Start the webhook servers and controllers without waiting."""
        folder = self.server.folder / "webhooks"
        for name, account in WEBHOOKS.items():
            self.controllers.processes.start(
                f"webhooks-{name}",
                [
                    self.controllers.binaries.path("ocm"),
                    "webhooks",
                    f"--serve={name}",
                    f"--port={self._addresses[name].rpartition(':')[2]}",
                    f"--certdir={folder}",
                    f"--kubeconfig={self._kubeconfig(account)}",
                ],
            )
        self._start("registration", account="registration-controller-sa")
        self._start("placement", account="placement-controller-sa")
        self._start("addon", account="addon-manager-controller-sa")

    def wait(self) -> None:
        """Wait until all answer, then switch admission on; from here on OCM's rules hold."""
        trust = ssl.create_default_context(cafile=self.server.folder / "webhooks" / "ca.crt")
        processes = self.controllers.processes
        for name, address in self._addresses.items():
            # There is no health path on their port: any answer will do.
            probe = answering(address, trust=trust, statuses=(200, 404))
            processes.ready(processes.running[f"webhooks-{name}"], probe)
        for name in ("registration", "placement", "addon"):
            self.controllers.wait(name)
        install(self.server.admin, self._admission, manager=MANAGER)
        for name in ("default", "global"):
            # Made by the registration controller.
            wait_for(
                lambda name=name: self.server.admin.find(  # type: ignore[misc]
                    "cluster.open-cluster-management.io/v1beta2/ManagedClusterSet", name
                ),
                what=f"the ManagedClusterSet {name}",
            )

    def _start(self, controller: str, *, account: str) -> None:
        self.controllers.start(
            controller,
            controller,
            server=self.server,
            kubeconfig=self._kubeconfig(account),
            namespace=HUB_NAMESPACE,
        )

    def _kubeconfig(self, account: str) -> Path:
        return self.server.service_account_kubeconfig(HUB_NAMESPACE, account)


@dataclass(kw_only=True)
class WorkAgent:
    """OCM's work agent of one spoke: its ServiceAccount on the spoke, its registered identity on the hub."""

    spoke: ApiServer
    hub: ApiServer
    controllers: Controllers

    @property
    def process(self) -> str:
        return f"{self.spoke.name}-work-agent"

    @property
    def identity(self) -> Identity:
        """What registration's certificate says: ocm pkg/registration/register/csr."""
        return Identity(
            user=f"system:open-cluster-management:{self.spoke.name}:agent1",
            groups=(
                f"system:open-cluster-management:{self.spoke.name}",
                "system:open-cluster-management:managed-clusters",
            ),
        )

    def install(self) -> None:
        """CRDs and roles, as the klusterlet's operator applies them."""
        binaries, admin = self.controllers.binaries, self.spoke.admin
        crds = render(binaries, SPOKE_CRDS, spoke_values())
        items = [
            namespace(AGENT_NAMESPACE),
            *crds,
            *render(binaries, SPOKE_RIGHTS, spoke_values()),
            _aggregate_role(),
        ]
        install(admin, items, manager="klusterlet")
        wait_until_served(admin, crds)

    def start(self) -> None:
        """Start without waiting. Objects' states go to the hub every second instead of every 10 s."""
        self.controllers.start(
            self.process,
            "work-agent",
            f"--spoke-cluster-name={self.spoke.name}",
            "--agent-id=agent1",
            "--workload-source-driver=kube",
            f"--workload-source-config={self.hub.kubeconfig(self.identity)}",
            *(f"--hub-{flag.removeprefix('--')}" for flag in UNTHROTTLED),
            "--status-sync-interval=1s",
            server=self.spoke,
            kubeconfig=self.spoke.service_account_kubeconfig(AGENT_NAMESPACE, WORK_SERVICE_ACCOUNT),
            namespace=AGENT_NAMESPACE,
        )

    def wait(self) -> float:
        return self.controllers.wait(self.process)


def _aggregate_role() -> Object:
    """The operator makes this role in code: everything labelled for the work agent adds to it."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "open-cluster-management:klusterlet-work:aggregate"},
        "aggregationRule": {
            "clusterRoleSelectors": [
                {"matchLabels": {"open-cluster-management.io/aggregate-to-work": "true"}}
            ]
        },
    }


def _serving_config(server: ApiServer) -> str:
    """GenericOperatorConfig of library-go: serve with our certificate instead of a self-signed one."""
    return (
        "apiVersion: operator.openshift.io/v1alpha1\n"
        "kind: GenericOperatorConfig\n"
        "servingInfo:\n"
        f"  certFile: {server.folder / 'serving.crt'}\n"
        f"  keyFile: {server.folder / 'serving.key'}\n"
    )
