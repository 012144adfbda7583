"""A Deployment's container as a process: its identity, environment and volumes, without a kubelet.

The work agent delivers an add-on's Deployment to the spoke; no kubelet runs there. `Pod` reads that
Deployment back from the spoke and starts the program of one container with what the Deployment asks
for: the environment, the hub credentials that registration would put into the Secret
`<addon>-hub-kubeconfig`, ConfigMaps and Secrets as directories, and a token of its ServiceAccount.
Mount paths in arguments and environment are replaced by the directories.

A directory changes by a symlink swap. Kubernetes' atomic writer (pkg/volume/util/atomic_writer.go)
writes the keys into a new directory named by the time, points `..data_tmp` at it, renames that over
`..data`, and keeps one symlink per key that leads through `..data`. A reader that opens files
through the directory sees either all of the old content or all of the new.
"""

import base64
import re
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import httpx

from tests.hub.controlplane.api import ApiError, Client, Object
from tests.hub.controlplane.kube import KubeApiServer
from tests.hub.controlplane.processes import Process, Processes

ACCOUNT_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
POLL_SECONDS = 0.2
DATA = "..data"


class Volume:
    """A directory that follows one ConfigMap or Secret, as a volume with `optional: true` does.

    A real kubelet takes up to a minute or two to notice a change; this one looks every 0.2 s. A
    missing object is an empty directory, as for an optional volume; while the API server is away
    the last content stays.
    """

    def __init__(
        self, client: Client, *, kind: str, namespace: str, name: str, directory: Path
    ) -> None:
        self._client = client
        self._kind, self._namespace, self._name = f"v1/{kind}", namespace, name
        self.directory = directory
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._follow, name=f"volume {namespace}/{name}", daemon=True
        )

    def __enter__(self) -> Self:
        project(self.directory, self._content())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._client.close()

    def _follow(self) -> None:
        while not self._stop.wait(POLL_SECONDS):
            with suppress(ApiError, httpx.TransportError):
                project(self.directory, self._content())

    def _content(self) -> dict[str, bytes]:
        found = self._client.find(self._kind, self._name, namespace=self._namespace) or {}
        plain = {key: value.encode() for key, value in (found.get("data") or {}).items()}
        if self._kind == "v1/Secret":
            return {key: base64.b64decode(value) for key, value in plain.items()}
        binary = {
            key: base64.b64decode(value) for key, value in (found.get("binaryData") or {}).items()
        }
        return {**plain, **binary}


def project(directory: Path, content: Mapping[str, bytes]) -> None:
    """Give `directory` this content by one swap, unless it has it already."""
    directory.mkdir(parents=True, exist_ok=True)
    data = directory / DATA
    old = data.resolve() if data.is_symlink() else None
    if old is not None and _files(old) == dict(content):
        return
    stamp = datetime.now(UTC).strftime("..%Y_%m_%d_%H_%M_%S.")
    new = Path(tempfile.mkdtemp(prefix=stamp, dir=directory))
    new.chmod(0o755)
    for key, value in content.items():
        (new / key).write_bytes(value)
    swap = directory / f"{DATA}_tmp"
    swap.symlink_to(new.name)
    swap.rename(data)
    for key in content:
        link = directory / key
        if not link.is_symlink():
            link.symlink_to(Path(DATA) / key)
    for link in directory.iterdir():
        if not link.name.startswith("..") and link.name not in content:
            link.unlink()
    if old is not None:
        shutil.rmtree(old)


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}


@dataclass(kw_only=True)
class Pod:
    """One replica of a Deployment on a spoke. `name` is also the process name.

    `volumes[volume name]` are the directories, `spoke_kubeconfig` reaches the spoke as the pod's
    ServiceAccount; the well-known token directory cannot be replaced for a process, so pass that
    file where a program takes one.
    """

    name: str
    spoke: KubeApiServer
    deployment: str
    namespace: str
    processes: Processes
    folder: Path
    hub_kubeconfig: Path | None = None
    """Of a pod with an identity on another hub than its API server."""
    spec: Object = field(init=False)
    volumes: dict[str, Path] = field(default_factory=dict)
    spoke_kubeconfig: Path = field(init=False)
    _mounts: dict[str, Path] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        found = self.spoke.admin.get(
            "apps/v1/Deployment", self.deployment, namespace=self.namespace
        )
        self.spec = found["spec"]["template"]["spec"]
        account = self.spec.get("serviceAccountName", "default")
        self.spoke_kubeconfig = self.spoke.service_account_kubeconfig(self.namespace, account)
        self.volumes["serviceaccount"] = self._account_directory(account)
        self._mounts[ACCOUNT_MOUNT] = self.volumes["serviceaccount"]
        for volume in self.spec.get("volumes", []):
            self.volumes[volume["name"]] = self._mount(volume)
        return self

    def __exit__(self, *_: object) -> None:
        self.processes.stop(self.name)
        self._stack.close()

    def start(
        self,
        program: Sequence[str | Path],
        *arguments: str,
        container: str = "",
        environment: Mapping[str, str] | None = None,
        instead: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> Process:
        """Run `program` with the container's arguments, then `arguments`; does not wait for it.

        `environment` stands for what a node gives every process of a pod, such as the cluster's
        DNS. `instead` replaces arguments that need a network of the pod's own. A container besides
        the first needs a process `name`.
        """
        containers: list[Object] = [*self.spec["containers"], *self.spec.get("initContainers", [])]
        chosen = next(one for one in containers if container in {"", one["name"]})
        for mount in chosen.get("volumeMounts", []):
            assert "subPath" not in mount, f"{mount['name']}: a subPath mount never changes"
            self._mounts[mount["mountPath"].rstrip("/")] = self.volumes[mount["name"]]
        values = {entry["name"]: self._value(entry) for entry in chosen.get("env", [])}
        values.setdefault("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        values.setdefault("KUBERNETES_SERVICE_PORT", self.spoke.url.rpartition(":")[2])
        swapped = [(instead or {}).get(argument, argument) for argument in chosen.get("args", [])]
        given = [self._replaced(str(argument)) for argument in swapped]
        return self.processes.start(
            name or self.name,
            [*program, *given, *arguments],
            environment={**values, **(environment or {})},
        )

    def _mount(self, volume: Object) -> Path:
        directory = self.folder / self.name / str(volume["name"])
        if "configMap" in volume:
            return self._following("ConfigMap", volume["configMap"]["name"], directory)
        if "secret" in volume:
            secret = volume["secret"]["secretName"]
            if secret.endswith("-hub-kubeconfig"):
                assert self.hub_kubeconfig is not None
                names = {"cluster-name": self.spoke.name.encode(), "agent-name": b"agent1"}
                project(directory, {"kubeconfig": self.hub_kubeconfig.read_bytes(), **names})
                return directory
            return self._following("Secret", secret, directory)
        if "emptyDir" in volume:
            directory.mkdir(parents=True, exist_ok=True)
            return directory
        if "projected" in volume:
            return self.volumes["serviceaccount"]
        raise AssertionError(
            f"volume {volume}: only configMap, secret, emptyDir and projected are understood"
        )

    def _following(self, kind: str, name: str, directory: Path) -> Path:
        # As in a cluster, the kubelet reads the object, not the pod: its own rights do not depend
        # on the pod's.
        client = Client(self.spoke.kubeconfig())
        volume = Volume(client, kind=kind, namespace=self.namespace, name=name, directory=directory)
        self._stack.enter_context(volume)
        return directory

    def _account_directory(self, account: str) -> Path:
        directory = self.folder / self.name / "serviceaccount"
        token = self.spoke.admin.token(self.namespace, account).encode()
        authority = self.spoke.authority_file.read_bytes()
        project(
            directory, {"token": token, "ca.crt": authority, "namespace": self.namespace.encode()}
        )
        return directory

    def _value(self, entry: Object) -> str:
        source = entry.get("valueFrom", {})
        if "fieldRef" in source:
            fields = {
                "metadata.namespace": self.namespace,
                "metadata.name": self.name,
                "status.podIP": "127.0.0.1",
            }
            return fields[source["fieldRef"]["fieldPath"]]
        if "secretKeyRef" in source:
            wanted = source["secretKeyRef"]
            secret = self.spoke.admin.get("v1/Secret", wanted["name"], namespace=self.namespace)
            return base64.b64decode(secret["data"][wanted["key"]]).decode()
        return self._replaced(entry.get("value", ""))

    def _replaced(self, text: str) -> str:
        """Mount paths by their directories, in one pass: a directory may itself lie below a mount
        path such as /tmp.
        """
        paths = "|".join(re.escape(path) for path in sorted(self._mounts, key=len, reverse=True))
        return (
            re.sub(f"(?:{paths})(?=/|$)", lambda match: str(self._mounts[match[0]]), text)
            if paths
            else text
        )
