"""A real node: kubelet, containerd and runc in namespaces of their own, joined to one API server.

The node has its own network, mounts and processes. /run, /var/lib and /var/log are folders of the
suite, so nothing of the machine's own containerd or kubelet is touched, and everything ends with
the first process of the namespaces. Only empty control groups would stay; `close` removes them.

Pods get addresses on a bridge. They reach `services` by name: the API server, and programs on
loopback of this machine (see nodenetwork). There is no kube-proxy, and the bridge enforces no
NetworkPolicies.
"""

import ipaddress
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import httpx
import yaml

from tests.hub.controlplane import nodenetwork
from tests.hub.controlplane.api import Object, is_true
from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.kube import UNTHROTTLED, KubeApiServer
from tests.hub.controlplane.kubeconfig import Identity
from tests.hub.controlplane.pki import SERVICE_ADDRESS
from tests.hub.controlplane.processes import Processes, answering, lacking
from tests.hub.controlplane.waiting import wait_for

PROGRAMS = ("containerd", "runc", "ip", "mount", "nsenter", "unshare")
PLUGINS = Path("/usr/lib/cni")
PACKAGES = "containerd runc containernetworking-plugins iproute2"
DOMAIN = "cluster.local"
CONTROL_GROUPS = Path("/sys/fs/cgroup")
INIT = """\
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    signal.pause()
"""
"""The first process of a node's namespaces: it waits for ever, and its orphans leave no zombies."""
PARENT = "k8s.io"
"""Where containerd puts the control groups of pods without a parent."""

# The kubelet sets these for the whole kernel. In the node they are plain files that already have
# its values.
KERNEL = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


def missing() -> str | None:
    """Why no node can run here, or None."""
    if sys.platform != "linux":
        return "a node needs Linux"
    if os.geteuid() != 0:
        return "a node needs root"
    return lacking("a node needs", (*PROGRAMS, str(PLUGINS / "bridge")), PACKAGES)


def is_ready(pod: Object) -> bool:
    """Whether the pod is ready, and stays."""
    return is_true(pod, "Ready") and "deletionTimestamp" not in pod["metadata"]


@dataclass(kw_only=True)
class Node:
    """One node; a context manager. `name` is also the prefix of its process names."""

    name: str
    server: KubeApiServer
    binaries: Binaries
    processes: Processes
    folder: Path
    sandbox_image: str
    services: Mapping[str, tuple[int, str]]
    """Names that pods can resolve, to a port and the `host:port` on this machine to which it
    leads.
    """
    number: int = 1
    """Differs between the nodes of one run: their pods have addresses in different networks."""
    _init: int = field(default=0, init=False)
    _inside: ThreadPoolExecutor | None = field(default=None, init=False)

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
    def address(self) -> str:
        return f"192.0.2.{self.number}"

    def get(self, url: str, *, timeout: float = 5.0) -> httpx.Response:
        """Ask a pod by its address."""
        assert self._inside is not None
        return self._inside.submit(httpx.get, url, timeout=timeout, trust_env=False).result()

    def run(self, *command: str) -> str:
        """Standard output of a program that runs on the node, such as `ctr`."""
        answer = subprocess.run(
            [*self._enter(), *command], capture_output=True, text=True, check=False
        )
        if answer.returncode != 0:
            raise AssertionError(
                f"{' '.join(command)} on {self.name}: {answer.stdout}{answer.stderr}"
            )
        return answer.stdout

    def ready(self) -> bool:
        """Whether the API server takes the node for ready, and lets pods onto it.

        AssertionError when the kubelet has ended.
        """
        kubelet = self.processes.running[f"{self.name}-kubelet"]
        assert kubelet.running, f"the kubelet of {self.name} has ended:\n{kubelet.tail()}"
        found = self.server.admin.find("v1/Node", self.name)
        return found is not None and not found["spec"].get("taints") and is_true(found, "Ready")

    def processes_of(self, container: str) -> list[int]:
        """The processes of a container as this machine numbers them. `container` is its id."""
        for group in control_groups(container):
            return [
                int(line) for line in (group / "cgroup.procs").read_text(encoding="ascii").split()
            ]
        return []

    def limit_of(self, container: str) -> int:
        """The memory limit that the kernel enforces for a container."""
        for group in control_groups(container):
            for name in ("memory.limit_in_bytes", "memory.max"):
                if (file := group / name).exists():
                    return int(file.read_text(encoding="ascii"))
        raise AssertionError(f"no control group of {container} has a memory limit")

    def close(self) -> None:
        if self._inside is not None:
            self._inside.shutdown(wait=True)
            self._inside = None
        containers = self._containers()
        for part in ("scheduler", "kubelet", "containerd", "network"):
            self.processes.stop(f"{self.name}-{part}")
        # The kernel ends what still runs in the namespaces, and takes their mounts away.
        self.processes.stop(f"{self.name}-init")
        remove_control_groups(containers)

    def _start(self) -> None:
        self._start_namespaces()
        self._start_network()
        self._start_containerd()
        self._start_kubelet()
        self._start_scheduler()
        wait_for(
            self.ready,
            what=f"the node {self.name} is ready",
            seen=lambda: (
                self.server.admin.find("v1/Node", self.name),
                self.processes.running[f"{self.name}-kubelet"].tail(),
            ),
        )

    def _start_namespaces(self) -> None:
        for name in ("lib", "log", "kernel"):
            (self.folder / name).mkdir(parents=True)
        unshare = [
            _which("unshare"),
            "--net",
            "--mount",
            "--pid",
            "--ipc",
            "--uts",
            "--mount-proc",
            "--fork",
        ]
        process = self.processes.start(
            f"{self.name}-init", [*unshare, "--kill-child", sys.executable, "-c", INIT]
        )
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        # launch.py becomes unshare, and that has one child when the namespaces exist.
        found = wait_for(
            lambda: children.read_text(encoding="ascii").split(),
            what=f"{self.name} has namespaces",
            seen=process.tail,
        )
        self._init = int(found[0])
        wait_for(self._mounted, what=f"{self.name} has a /proc of its own", seen=process.tail)
        commands = [
            f"mount --bind {self.folder / 'lib'} /var/lib",
            f"mount --bind {self.folder / 'log'} /var/log",
            "mount -t tmpfs tmpfs /run",
            "ip link set lo up",
            f"ip address add {self.address}/32 dev lo",
            "sysctl --quiet --write net.ipv4.ip_forward=1",
        ]
        addresses = {nodenetwork.DNS_ADDRESS, *(entry["address"] for entry in self._services())}
        commands += [
            f"ip address add {address}/32 dev lo"
            for address in sorted(addresses)
            if not ipaddress.ip_address(address).is_loopback
        ]
        for path, value in KERNEL.items():
            file = self.folder / "kernel" / path.replace("/", "-")
            file.write_text(f"{value}\n", encoding="ascii")
            commands.append(f"mount --bind {file} /proc/sys/{path}")
        self.run("sh", "-euc", "\n".join(commands))

    def _mounted(self) -> bool:
        """The init process runs only after its namespaces are complete."""
        words = Path(f"/proc/{self._init}/cmdline").read_bytes().split(b"\0")
        return INIT.encode() in words

    def _start_network(self) -> None:
        services = self.folder / "services.json"
        services.write_text(json.dumps(self._services()), encoding="utf-8")
        namespace = Path(f"/proc/{self._init}/ns/net")
        process = self.processes.start(
            f"{self.name}-network",
            [sys.executable, "-m", nodenetwork.__name__, namespace, services],
            folder=Path.cwd(),
        )
        self._inside = ThreadPoolExecutor(
            max_workers=1, initializer=nodenetwork.enter, initargs=(namespace,)
        )
        inside, probe = (
            self._inside,
            answering(f"https://{SERVICE_ADDRESS}/readyz", trust=self.server.trust()),
        )
        self.processes.ready(process, lambda: inside.submit(probe).result())

    def _services(self) -> list[Object]:
        """The API server where pods and the kubelet look for it, then the services."""
        server, name = self.server.url.removeprefix("https://"), f"kubernetes.default.svc.{DOMAIN}"
        entries: list[Object] = [
            {"name": name, "address": SERVICE_ADDRESS, "ports": {"443": server}},
            {
                "name": "localhost",
                "address": "127.0.0.1",
                "ports": {server.rpartition(":")[2]: server},
            },
        ]
        for place, (service, (port, target)) in enumerate(self.services.items()):
            name = f"{service}.{DOMAIN}" if service.endswith(".svc") else service
            address = "127.0.0.1" if service == "localhost" else f"10.0.0.{20 + place}"
            entries.append({"name": name, "address": address, "ports": {str(port): target}})
        return entries

    def _start_containerd(self) -> None:
        networks = self.folder / "networks"
        networks.mkdir()
        bridge = {
            "type": "bridge",
            "bridge": "pods",
            "isGateway": True,
            "hairpinMode": True,
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": f"10.244.{self.number}.0/24"}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }
        network = {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}
        (networks / "pods.conflist").write_text(json.dumps(network), encoding="utf-8")
        config = self.folder / "containerd.toml"
        config.write_text(
            _containerd(networks=networks, sandbox=self.sandbox_image), encoding="utf-8"
        )
        process = self.processes.start(
            f"{self.name}-containerd", [*self._enter(), _which("containerd"), "--config", config]
        )
        socket = Path(f"/proc/{self._init}/root/run/containerd/containerd.sock")
        self.processes.ready(process, lambda: None if socket.exists() else f"{socket} is not there")

    def _start_kubelet(self) -> None:
        config = self.folder / "kubelet.yaml"
        config.write_text(yaml.safe_dump(self._kubelet()), encoding="utf-8")
        identity = Identity(user=f"system:node:{self.name}", groups=("system:nodes",))
        self.processes.start(
            f"{self.name}-kubelet",
            [
                *self._enter(),
                self.binaries.path("kubelet"),
                f"--config={config}",
                f"--kubeconfig={self.server.kubeconfig(identity)}",
                f"--hostname-override={self.name}",
                f"--node-ip={self.address}",
            ],
        )

    def _kubelet(self) -> Object:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": "127.0.0.1",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": False},
                "x509": {"clientCAFile": str(self.server.authority_file)},
            },
            "authorization": {"mode": "AlwaysAllow"},
            "clusterDNS": [nodenetwork.DNS_ADDRESS],
            "clusterDomain": DOMAIN,
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "resolvConf": "",
            # Machines of CI may have control groups of version 1, and may not raise what is theirs.
            "failCgroupV1": False,
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "oomScoreAdj": 0,
            "failSwapOn": False,
            "localStorageCapacityIsolation": False,
            "makeIPTablesUtilChains": False,
            # The disk and the memory are those of the machine. A node that cleans up would disturb
            # the tests.
            "evictionHard": {"memory.available": "1Mi"},
            "imageGCHighThresholdPercent": 100,
            "imageGCLowThresholdPercent": 99,
        }

    def _start_scheduler(self) -> None:
        kubeconfig = self.server.kubeconfig(Identity(user="system:kube-scheduler"))
        self.processes.start(
            f"{self.name}-scheduler",
            [
                self.binaries.path("kube-scheduler"),
                f"--kubeconfig={kubeconfig}",
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
                "--bind-address=127.0.0.1",
                "--secure-port=0",
                "--leader-elect=false",
                *UNTHROTTLED,
            ],
        )

    def _enter(self) -> list[str]:
        spaces = ["--net", "--mount", "--pid", "--ipc", "--uts"]
        return [_which("nsenter"), f"--target={self._init}", *spaces, "--"]

    def _containers(self) -> list[str]:
        """The ids of what runs here."""
        tasks = Path(f"/proc/{self._init}/root/run/containerd/io.containerd.runtime.v2.task/k8s.io")
        return [path.name for path in tasks.iterdir()] if self._init and tasks.is_dir() else []


def control_groups(container: str) -> list[Path]:
    """The control groups of a container: with version 1 one in each hierarchy, with version 2
    one.
    """
    found = (CONTROL_GROUPS / PARENT / container, *CONTROL_GROUPS.glob(f"*/{PARENT}/{container}"))
    return [group for group in found if group.is_dir()]


def remove_control_groups(containers: Iterable[str]) -> None:
    """Containers that were killed with their node leave groups, which are empty a moment later."""
    deadline = time.monotonic() + 10
    while left := [group for container in containers for group in control_groups(container)]:
        for group in left:
            try:
                group.rmdir()
            except OSError:
                if time.monotonic() > deadline:
                    raise
        time.sleep(0.05)
    for parent in (CONTROL_GROUPS / PARENT, *CONTROL_GROUPS.glob(f"*/{PARENT}")):
        with suppress(OSError):  # another containerd of this machine may use it
            parent.rmdir()


def _which(program: str) -> str:
    return shutil.which(program) or program


def _containerd(*, networks: Path, sandbox: str) -> str:
    """Without CAP_SYS_RESOURCE, as in many containers, runc may not lower the score of the memory
    killer.
    """
    return f"""\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{sandbox}"
restrict_oom_score_adj = true
disable_apparmor = true
stream_server_address = "127.0.0.1"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{PLUGINS}"
conf_dir = "{networks}"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
"""
