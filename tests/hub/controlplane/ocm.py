"""Open Cluster Management: its controllers and webhooks on the hub, its work agent on every spoke.

Each program runs as the ServiceAccount, or on the hub side of an agent as the certificate user,
that OCM gives it, with the roles of OCM's own manifests. They are filled in as its operators do,
with one change: webhooks are reached by URL on 127.0.0.1, because no kube-proxy makes Services
reachable here. Leader election is off: one replica each, and a restart must not wait for a lease.
"""

import json
import ssl
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.hub.controlplane.api import RBAC, Client, Object, manifest
from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.kube import UNTHROTTLED, KubeApiServer
from tests.hub.controlplane.kubeconfig import Identity
from tests.hub.controlplane.pki import Authority
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Probe, Processes, answering
from tests.hub.controlplane.waiting import wait_until_served, wait_until_there
from tests.support import yamlfast

HUB_NAMESPACE = "open-cluster-management-hub"
AGENT_NAMESPACE = "open-cluster-management-agent"
WORK_SERVICE_ACCOUNT = "klusterlet-work-sa"
WEBHOOKS = {
    "addon": "addon-webhook-sa",
    "registration": "registration-webhook-sa",
    "work": "work-webhook-sa",
}
MANAGER = "cluster-manager"

HUB_CRDS = ("cluster-manager/hub/crds/*.open-cluster-management.io_*.crd.yaml",)
HUB_RIGHTS = (
    "cluster-manager/hub/addon-manager/[!t]*role*.yaml",
    "cluster-manager/hub/addon-manager/[!t]*account.yaml",
    "cluster-manager/hub/placement/*.yaml",
    "cluster-manager/hub/registration/*role*.yaml",
    "cluster-manager/hub/registration/*account.yaml",
    "cluster-manager/hub/work/*-clusterrole*.yaml",
    "cluster-manager/hub/work/*-serviceaccount.yaml",
)
HUB_ADMISSION = (
    "cluster-manager/hub/registration/webhook-*configuration.yaml",
    "cluster-manager/hub/work/webhook-*configuration.yaml",
)
SPOKE_CRDS = ("klusterlet/managed/0000_*.crd.yaml",)
SPOKE_RIGHTS = (
    "klusterlet/managed/klusterlet-work-*.yaml",
    "klusterlet/management/klusterlet-role-*.yaml",
    "klusterlet/management/klusterlet-work-role*.yaml",
)

# Which process serves the Service that a manifest names.
WEBHOOK_SERVICES = {
    "cluster-manager-addon-webhook": "addon",
    "cluster-manager-registration-webhook": "registration",
    "cluster-manager-work-webhook": "work",
}


def hub_values(*, authority: str) -> dict[str, Any]:
    """The values of OCM's cluster manager with its default feature gates; `authority` signs the
    webhook servers.
    """
    webhook = {"IsIPFormat": True, "Address": "127.0.0.1", "Port": 9443}
    return {
        "ClusterManagerName": "cluster-manager",
        "ClusterManagerNamespace": HUB_NAMESPACE,
        "Labels": {},
        "RegistrationAPIServiceCABundle": authority,
        "WorkAPIServiceCABundle": authority,
        "AddonAPIServiceCABundle": authority,
        "RegistrationWebhook": webhook,
        "WorkWebhook": webhook,
        "AddonWebhook": webhook,
        "ClusterImporterEnabled": False,
        "ClusterProfileEnabled": False,
        "GRPCAuthEnabled": False,
        "ManagedClusterIdentityCreatorRole": "",
    }


def spoke_values() -> dict[str, Any]:
    """The values of OCM's klusterlet in default mode."""
    return {
        "KlusterletName": "klusterlet",
        "KlusterletNamespace": AGENT_NAMESPACE,
        "AgentNamespace": AGENT_NAMESPACE,
        "WorkServiceAccount": WORK_SERVICE_ACCOUNT,
        "Labels": {},
        "ManagedClusterRoleArn": "",
        "RegistrationDriver": {"AuthType": "csr"},
    }


def render(binaries: Binaries, patterns: Sequence[str], values: Mapping[str, Any]) -> list[Object]:
    """The objects of the templates with such names, in order."""
    folder = binaries.folder("manifests")
    found = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    answer = subprocess.run(
        [binaries.path("ocm"), "render", *found],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise RuntimeError(f"OCM's manifests could not be rendered: {answer.stderr.strip()}")
    return [item for item in yamlfast.load_all(answer.stdout) if item]


def reached_by_url(item: Object, addresses: Mapping[str, str]) -> Object:
    """The object with every webhook client that names a Service pointing at `addresses[process]`
    instead.
    """
    configurations = [hook["clientConfig"] for hook in item.get("webhooks", [])]
    if item["kind"] == "CustomResourceDefinition" and "conversion" in item["spec"]:
        configurations.append(item["spec"]["conversion"]["webhook"]["clientConfig"])
    for configuration in configurations:
        service = configuration.pop("service")
        configuration["url"] = addresses[WEBHOOK_SERVICES[service["name"]]] + service["path"]
    return item


def install(client: Client, items: Iterable[Object], *, manager: str) -> None:
    """Apply objects as an operator would.

    The templates leave empty label maps behind, and their operator reads a key that ends in "-" as
    "remove": both go.
    """
    for item in items:
        metadata = item["metadata"]
        for part in ("labels", "annotations"):
            if part in metadata:
                metadata[part] = {
                    key: value
                    for key, value in (metadata[part] or {}).items()
                    if not key.endswith("-")
                }
        client.apply(item, manager=manager)


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
        server: KubeApiServer,
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

    def wait(self, name: str) -> None:
        self.processes.ready(self.processes.running[name], self.probes[name])


@dataclass(kw_only=True)
class HubManager:
    """OCM on the hub: placement, addon manager, registration, and the webhook servers."""

    server: KubeApiServer
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
        values = hub_values(authority=authority.bundle)
        binaries, admin = self.controllers.binaries, self.server.admin
        crds = [
            reached_by_url(item, self._addresses) for item in render(binaries, HUB_CRDS, values)
        ]
        install(admin, crds, manager=MANAGER)
        rights = render(binaries, HUB_RIGHTS, values)
        install(admin, [manifest("v1/Namespace", HUB_NAMESPACE), *rights], manager=MANAGER)
        wait_until_served(admin, crds)
        self._admission = [
            reached_by_url(item, self._addresses)
            for item in render(binaries, HUB_ADMISSION, values)
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
            kind = "cluster.open-cluster-management.io/v1beta2/ManagedClusterSet"
            wait_until_there(self.server.admin, kind, name)

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
    """OCM's work agent of one spoke: its ServiceAccount on the spoke, its registered identity on
    the hub.
    """

    spoke: KubeApiServer
    hub: KubeApiServer
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
        rights = render(binaries, SPOKE_RIGHTS, spoke_values())
        # The operator makes this role in code: everything labelled for the work agent adds to it.
        labels = {"open-cluster-management.io/aggregate-to-work": "true"}
        aggregate = manifest(
            f"{RBAC}/ClusterRole",
            "open-cluster-management:klusterlet-work:aggregate",
            aggregationRule={"clusterRoleSelectors": [{"matchLabels": labels}]},
        )
        items = [manifest("v1/Namespace", AGENT_NAMESPACE), *crds, *rights, aggregate]
        install(admin, items, manager="klusterlet")
        wait_until_served(admin, crds)

    def start(self) -> None:
        """Start without waiting.

        Objects' states go to the hub every second instead of every 10 s.
        """
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

    def wait(self) -> None:
        self.controllers.wait(self.process)


def _serving_config(server: KubeApiServer) -> str:
    """GenericOperatorConfig of library-go: serve with our certificate instead of a self-signed
    one.
    """
    return (
        "apiVersion: operator.openshift.io/v1alpha1\n"
        "kind: GenericOperatorConfig\n"
        "servingInfo:\n"
        f"  certFile: {server.folder / 'serving.crt'}\n"
        f"  keyFile: {server.folder / 'serving.key'}\n"
    )
