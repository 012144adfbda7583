"""Kueue on an API server: the installation of its release, with its webhooks.

The manifests are those of the module, which `kubectl kustomize` puts together as the release does.
Kueue runs as its own ServiceAccount and makes the certificates of its webhooks itself. Two things
differ, because no kube-proxy makes Services reachable and no kubelet mounts Secrets:

- The Service of the webhooks is an ExternalName for 127.0.0.1. The API server then asks Kueue's
  port, and still expects a certificate for the name of the Service.
- The certificates get from the Secret into Kueue's folder by `Kueue.wait`.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from tests.hub.controlplane.api import RBAC, Client, Object, manifest
from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.kube import KubeApiServer
from tests.hub.controlplane.kubeconfig import kubeconfig_of
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import answering
from tests.hub.controlplane.waiting import wait_for, wait_until_served
from tests.support import yamlfast

NAMESPACE: Final = "kueue-system"
ACCOUNT: Final = "kueue-controller-manager"
WEBHOOK_SERVICE: Final = "kueue-webhook-service"
WEBHOOK_SECRET: Final = "kueue-webhook-server-cert"
MANAGER: Final = "kueue-installer"

API: Final = "kueue.x-k8s.io/v1beta2"
RESOURCE_FLAVOR: Final = f"{API}/ResourceFlavor"
CLUSTER_QUEUE: Final = f"{API}/ClusterQueue"
LOCAL_QUEUE: Final = f"{API}/LocalQueue"
ADMISSION_CHECK: Final = f"{API}/AdmissionCheck"
MULTIKUEUE_CONFIG: Final = f"{API}/MultiKueueConfig"
MULTIKUEUE_CLUSTER: Final = f"{API}/MultiKueueCluster"
WORKLOAD: Final = f"{API}/Workload"

ONE_BY_ONE: Final[Mapping[str, Any]] = {
    "dispatcherName": "kueue.x-k8s.io/multikueue-dispatcher-incremental",
    "incrementalDispatcherConfig": {"stepSize": 1},
}
ALL_AT_ONCE: Final[Mapping[str, Any]] = {
    "dispatcherName": "kueue.x-k8s.io/multikueue-dispatcher-all-at-once",
    # Kueue does not start with one of the other dispatcher.
    "incrementalDispatcherConfig": None,
}
"""How Kueue gives jobs to clusters: fields of multiKueue in its configuration."""

CONTROLLERS: Final = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
    "job-controller",
)
"""Of Kubernetes, where Kueue runs: the one of jobs makes their pods."""

NOT_APPLIED: Final = frozenset({"APIService", "ConfigMap", "Deployment"})
"""Kueue runs as a process, with a configuration of its own and without its visibility server."""

REMOTE_ACCOUNT: Final = "multikueue"
REMOTE_RULES: Final = (
    ("batch", ("jobs",), ("create", "delete", "get", "list", "watch")),
    ("batch", ("jobs/status",), ("get",)),
    ("", ("pods",), ("get", "list", "watch")),
    (
        "kueue.x-k8s.io",
        ("workloads",),
        ("create", "delete", "get", "list", "patch", "update", "watch"),
    ),
    ("kueue.x-k8s.io", ("workloads/status",), ("get", "patch", "update")),
    ("kueue.x-k8s.io", ("localqueues", "clusterqueues"), ("get", "list", "watch")),
)
"""What a manager may do on a worker: API group, resources, verbs."""


def _with_webhooks_at(item: Object, port: int) -> Object:
    """The same object, its webhooks reached through this port of their Service."""
    for webhook in item.get("webhooks") or []:
        webhook["clientConfig"]["service"]["port"] = port
    conversion = (item.get("spec") or {}).get("conversion") or {}
    if "webhook" in conversion:
        conversion["webhook"]["clientConfig"]["service"]["port"] = port
    if item["kind"] == "Service" and item["metadata"]["name"] == WEBHOOK_SERVICE:
        item["spec"] = {"type": "ExternalName", "externalName": "127.0.0.1"}
    return item


@dataclass(kw_only=True)
class Kueue:
    """Kueue on one API server: process `<server>-kueue`."""

    server: KubeApiServer
    binaries: Binaries
    multikueue: Mapping[str, Any] = field(default_factory=dict)
    """The field multiKueue of its configuration. The next start uses it."""
    _webhook_port: int = field(default_factory=free_port, init=False)
    _health_port: int = field(default_factory=free_port, init=False)

    @property
    def admin(self) -> Client:
        return self.server.admin

    @property
    def process(self) -> str:
        return f"{self.server.name}-kueue"

    def install(self) -> None:
        """Applies the manifests."""
        items = list(self._manifests())
        crds = [item for item in items if item["kind"] == "CustomResourceDefinition"]
        for item in items:
            self.admin.apply(item, manager=MANAGER)
        wait_until_served(self.admin, crds)

    def start(self) -> None:
        """Starts it without waiting."""
        self._folder.mkdir(parents=True, exist_ok=True)
        config = self._folder / "config.yaml"
        config.write_text(yaml.safe_dump(self._configuration()), encoding="utf-8")
        kubeconfig = self.server.service_account_kubeconfig(NAMESPACE, ACCOUNT)
        self.server.kubernetes.processes.start(
            self.process,
            [
                self.binaries.path("kueue"),
                f"--config={config}",
                f"--kubeconfig={kubeconfig}",
                "--zap-log-level=3",
            ],
        )

    def wait(self) -> None:
        """Waits until it is ready and has told the API server which authority it has."""
        wait_for(self._mounted, what=f"{self.process} has made its certificate")
        processes = self.server.kubernetes.processes
        processes.ready(
            processes.running[self.process],
            answering(f"http://127.0.0.1:{self._health_port}/readyz"),
        )

    def stop(self) -> None:
        self.server.kubernetes.processes.stop(self.process)

    def restart(self, **multikueue: Any) -> None:
        """Stops and starts it, with other fields of multiKueue where any are given."""
        self.stop()
        self.multikueue = {**self.multikueue, **multikueue}
        self.start()
        self.wait()

    def remote_kubeconfig(self) -> str:
        """The text of a kubeconfig with which a manager works on this server."""
        return kubeconfig_of(
            {
                "server": self.server.url,
                "certificate-authority-data": self.server.authority.bundle,
            },
            {"token": self.admin.token(NAMESPACE, REMOTE_ACCOUNT)},
            namespace=NAMESPACE,
        )

    def allow_remote(self) -> None:
        """Makes the account that a manager uses on this server."""
        rules = [
            {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
            for group, resources, verbs in REMOTE_RULES
        ]
        subject = {"kind": "ServiceAccount", "name": REMOTE_ACCOUNT, "namespace": NAMESPACE}
        role = {"apiGroup": RBAC.partition("/")[0], "kind": "ClusterRole", "name": REMOTE_ACCOUNT}
        for item in (
            manifest("v1/ServiceAccount", REMOTE_ACCOUNT, namespace=NAMESPACE),
            manifest(f"{RBAC}/ClusterRole", REMOTE_ACCOUNT, rules=rules),
            manifest(
                f"{RBAC}/ClusterRoleBinding", REMOTE_ACCOUNT, roleRef=role, subjects=[subject]
            ),
        ):
            self.admin.apply(item)

    @property
    def _folder(self) -> Path:
        return self.server.folder / "kueue"

    def _manifests(self) -> Iterator[Object]:
        text = self.server.kubectl("kustomize", str(self.binaries.folder("config") / "default"))
        for item in yamlfast.load_all(text):
            if item["kind"] not in NOT_APPLIED:
                yield _with_webhooks_at(item, self._webhook_port)

    def _configuration(self) -> Object:
        return {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "namespace": NAMESPACE,
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self._health_port}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {
                "host": "127.0.0.1",
                "port": self._webhook_port,
                "certDir": str(self._certificates),
            },
            # One replica, and a restart must not wait for a Lease.
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {
                "enable": True,
                "webhookServiceName": WEBHOOK_SERVICE,
                "webhookSecretName": WEBHOOK_SECRET,
            },
            "clientConnection": {"qps": 500, "burst": 1000},
            "integrations": {"frameworks": ["batch/job"]},
            # Its server of pending workloads listens on every address.
            "featureGates": {"VisibilityOnDemand": False},
            "multiKueue": self.multikueue,
        }

    @property
    def _certificates(self) -> Path:
        return self._folder / "certificates"

    def _mounted(self) -> bool:
        """Writes the files of the Secret, as the kubelet does, once there are any."""
        secret = self.admin.get("v1/Secret", WEBHOOK_SECRET, namespace=NAMESPACE)
        content = secret.get("data") or {}
        if "tls.crt" not in content:
            return False
        self._certificates.mkdir(exist_ok=True)
        for name, value in sorted(content.items(), reverse=True):
            # Kueue looks for tls.crt, so the key must be there before it.
            (self._certificates / name).write_bytes(base64.b64decode(value))
        return True
