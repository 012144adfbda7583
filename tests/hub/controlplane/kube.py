"""kube-apiserver, its store and its controllers, all on 127.0.0.1 with RBAC.

Each API server has its own authority.
"""

import ssl
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tests.hub.controlplane.api import Client
from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.kubeconfig import ADMIN, Identity, write_kubeconfig
from tests.hub.controlplane.pki import Authority, signing_key
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Processes, answering

# What the suite needs of the controller manager. Without the aggregation controller the built-in
# roles `admin` and `view` have no rules at all; without the token and root CA controllers pods
# could not start in a real cluster.
CONTROLLERS = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-signing-controller",
)

# What turns a Deployment into pods of a real node, and lets pods onto a node that is ready.
WORKLOAD_CONTROLLERS = (
    *CONTROLLERS,
    "deployment-controller",
    "replicaset-controller",
    "node-lifecycle-controller",
)


# A flag of many controllers, in Kubernetes and in OCM. Their default of 20 or 50 requests per
# second protects an API server that many share; here it only makes whoever waits for a controller
# wait longer.
UNTHROTTLED = ("--kube-api-qps=500", "--kube-api-burst=1000")


@dataclass(frozen=True, kw_only=True)
class Kubernetes:
    """What every Kubernetes process of one run shares."""

    binaries: Binaries
    processes: Processes
    folder: Path


def start_store(kubernetes: Kubernetes) -> str:
    """Start etcd without waiting; its URL.

    API servers retry until it answers, and share it under different prefixes. Durability is off,
    the data dies with the run.
    """
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    kubernetes.processes.start(
        "etcd",
        [
            kubernetes.binaries.path("etcd"),
            f"--data-dir={kubernetes.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync=true",
            "--log-level=warn",
        ],
    )
    return client


@dataclass(kw_only=True)
class KubeApiServer:
    """One Kubernetes API: process `<name>-apiserver`, controllers `<name>-controllers`, files under
    `folder`.
    """

    name: str
    kubernetes: Kubernetes
    store: str
    """URL of etcd."""
    authority: Authority = field(init=False)
    url: str = field(init=False)
    _admin: Client | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.authority = Authority(f"{self.name}-ca")
        self.folder.mkdir(parents=True, exist_ok=True)
        private, public = signing_key()
        (self.folder / "service-accounts.key").write_bytes(private)
        (self.folder / "service-accounts.pub").write_bytes(public)
        self.authority.pair.write(self.folder, "ca")
        self.authority.server(f"{self.name}-apiserver").write(self.folder, "serving")
        Authority(f"{self.name}-front-proxy-ca").pair.write(self.folder, "front-proxy-ca")
        self._port, self._controllers_port = free_port(), 0
        self.url = f"https://127.0.0.1:{self._port}"

    @property
    def folder(self) -> Path:
        return self.kubernetes.folder / self.name

    @property
    def process(self) -> str:
        return f"{self.name}-apiserver"

    @property
    def authority_file(self) -> Path:
        return self.folder / "ca.crt"

    def trust(self) -> ssl.SSLContext:
        """What a client needs to trust this server."""
        return ssl.create_default_context(cafile=str(self.authority_file))

    @property
    def admin(self) -> Client:
        """A client with all rights, one for the whole run."""
        if self._admin is None:
            self._admin = self.client(ADMIN)
        return self._admin

    def client(self, identity: Identity) -> Client:
        """A client with a certificate for this identity; the caller closes it."""
        return Client(self.kubeconfig(identity))

    def kubeconfig(self, identity: Identity = ADMIN) -> Path:
        """A kubeconfig with a client certificate, made once per identity."""
        path = self.folder / "kubeconfigs" / f"{identity.file}.yaml"
        if not path.exists():
            pair = self.authority.client(identity.user, identity.groups)
            certificate, key = pair.write(path.parent, identity.file)
            user = {"client-certificate": str(certificate), "client-key": str(key)}
            write_kubeconfig(path, server=self.url, authority=self.authority_file, user=user)
        return path

    def service_account_kubeconfig(self, namespace: str, name: str, *, proxy: str = "") -> Path:
        """A kubeconfig with a fresh token of an existing ServiceAccount; `proxy` is the URL of one
        before the server.
        """
        # Programs read the file again while they run, so each proxy has a file of its own.
        suffix = f"-{urlsplit(proxy).port}" if proxy else ""
        return write_kubeconfig(
            self.folder / "kubeconfigs" / f"{namespace}-{name}{suffix}.yaml",
            server=proxy or self.url,
            authority=self.authority_file,
            user={"token": self.admin.token(namespace, name)},
            namespace=namespace,
        )

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl with all rights; its standard output.

        AssertionError shows its output when it fails.
        """
        program = str(self.kubernetes.binaries.path("kubectl"))
        home = self.folder / "kubectl"
        home.mkdir(exist_ok=True)
        answer = subprocess.run(
            [program, "--kubeconfig", str(self.kubeconfig()), *arguments],
            capture_output=True,
            text=True,
            env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
            timeout=120,
            check=False,
        )
        said = f"kubectl {' '.join(arguments)} ended with {answer.returncode}"
        assert answer.returncode == 0, f"{said}\n{answer.stdout}{answer.stderr}"
        return answer.stdout

    def start(self) -> None:
        """Start the server without waiting."""
        self.kubernetes.processes.start(self.process, self._command())

    def wait(self) -> None:
        """Wait until /readyz is content."""
        process = self.kubernetes.processes.running[self.process]
        self.kubernetes.processes.ready(
            process, answering(f"{self.url}/readyz", trust=self.trust())
        )

    def start_controllers(self, controllers: Sequence[str]) -> None:
        """Start the controller manager without waiting."""
        self._controllers_port = free_port()
        kubeconfig = self.kubeconfig(Identity(user="system:kube-controller-manager"))
        self.kubernetes.processes.start(
            f"{self.name}-controllers",
            [
                self.kubernetes.binaries.path("kube-controller-manager"),
                f"--kubeconfig={kubeconfig}",
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
                "--bind-address=127.0.0.1",
                f"--secure-port={self._controllers_port}",
                f"--tls-cert-file={self.folder / 'serving.crt'}",
                f"--tls-private-key-file={self.folder / 'serving.key'}",
                "--use-service-account-credentials=true",
                "--leader-elect=false",
                f"--service-account-private-key-file={self.folder / 'service-accounts.key'}",
                f"--root-ca-file={self.authority_file}",
                f"--cluster-signing-cert-file={self.authority_file}",
                f"--cluster-signing-key-file={self.folder / 'ca.key'}",
                f"--controllers={','.join(controllers)}",
                *UNTHROTTLED,
            ],
        )

    def wait_controllers(self) -> None:
        """Wait until the controller manager is healthy."""
        process = self.kubernetes.processes.running[f"{self.name}-controllers"]
        probe = answering(f"https://127.0.0.1:{self._controllers_port}/healthz", trust=self.trust())
        self.kubernetes.processes.ready(process, probe)

    def close(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def _command(self) -> list[str | Path]:
        here = self.folder
        return [
            self.kubernetes.binaries.path("kube-apiserver"),
            f"--etcd-servers={self.store}",
            f"--etcd-prefix=/{self.name}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            "--advertise-address=127.0.0.1",
            # The reconciler would refuse a loopback address; nothing here looks for the kubernetes
            # Service.
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={here / 'serving.crt'}",
            f"--tls-private-key-file={here / 'serving.key'}",
            f"--client-ca-file={here / 'ca.crt'}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--requestheader-client-ca-file={here / 'front-proxy-ca.crt'}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-username-headers=X-Remote-User",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={here / 'service-accounts.pub'}",
            f"--service-account-signing-key-file={here / 'service-accounts.key'}",
            "--service-cluster-ip-range=10.0.0.0/24",
            # Close watches on the way down; otherwise a stop waits for the watchers' patience.
            "--shutdown-watch-termination-grace-period=1s",
            "--profiling=false",
        ]
