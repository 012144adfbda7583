"""A Deployment's container as a process: its identity, environment and volumes, without a kubelet.

The work agent delivers an add-on's Deployment to the spoke; no kubelet runs there. `Pod` reads that
Deployment back from the spoke and starts the program of one container with what the Deployment asks for: the
environment, the hub credentials that registration would put into the Secret `<addon>-hub-kubeconfig`,
ConfigMaps and Secrets as directories, and a token of its ServiceAccount. Mount paths in arguments and
environment are replaced by the directories.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.hub.controlplane.api import Object
from tests.hub.controlplane.kube import ApiServer
from tests.hub.controlplane.kubeconfig import Identity
from tests.hub.controlplane.kubelet import Volume, project
from tests.hub.controlplane.processes import Process, Processes

ACCOUNT_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


@dataclass(kw_only=True)
class Pod:
    """One replica of a Deployment on a spoke. `name` is also the process name.

    `volumes[volume name]` are the directories, `spoke_kubeconfig` reaches the spoke as the pod's
    ServiceAccount; the well-known token directory cannot be replaced for a process, so pass that file where a
    program takes one.
    """

    name: str
    spoke: ApiServer
    hub: ApiServer
    hub_identity: Identity
    deployment: str
    namespace: str
    processes: Processes
    folder: Path
    spec: Object = field(init=False)
    volumes: dict[str, Path] = field(default_factory=dict)
    spoke_kubeconfig: Path = field(init=False)
    _mounts: dict[str, Path] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        found = self.spoke.admin.get("apps/v1/Deployment", self.deployment, namespace=self.namespace)
        self.spec = found["spec"]["template"]["spec"]
        account = self.spec.get("serviceAccountName", "default")
        self.spoke_kubeconfig = self.spoke.service_account_kubeconfig(self.namespace, account)
        self.volumes["serviceaccount"] = self._account_directory(account)
        self._mounts[ACCOUNT_MOUNT] = self.volumes["serviceaccount"]
        for volume in self.spec.get("volumes", []):
            self.volumes[volume["name"]] = self._mount(volume)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._stack.close()

    def start(
        self,
        program: Sequence[str | Path],
        *arguments: str,
        container: int | str = 0,
        environment: Mapping[str, str] | None = None,
        instead: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> Process:
        """Run `program` with the container's arguments, then `arguments`; does not wait for it.

        `environment` stands for what a node gives every process of a pod, such as the cluster's DNS.
        `instead` replaces arguments that need a network of the pod's own. A container besides the first needs
        a process `name`.
        """
        chosen = self._container(container)
        for mount in chosen.get("volumeMounts", []):
            assert "subPath" not in mount, f"{mount['name']}: a subPath mount never changes"
            self._mounts[mount["mountPath"].rstrip("/")] = self.volumes[mount["name"]]
        values = {entry["name"]: self._value(entry) for entry in chosen.get("env", [])}
        values.setdefault("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        values.setdefault("KUBERNETES_SERVICE_PORT", self.spoke.url.rpartition(":")[2])
        swapped = [(instead or {}).get(argument, argument) for argument in chosen.get("args", [])]
        given = [self._replaced(str(argument)) for argument in swapped]
        return self.processes.start(
            name or self.name, [*program, *given, *arguments], environment={**values, **(environment or {})}
        )

    def stop(self, *, kill: bool = False) -> None:
        self.processes.stop(self.name, kill=kill)

    def _container(self, wanted: int | str) -> Object:
        containers: list[Object] = self.spec["containers"]
        if isinstance(wanted, int):
            return containers[wanted]
        sidecars: list[Object] = self.spec.get("initContainers", [])
        return next(one for one in (*containers, *sidecars) if one["name"] == wanted)

    def _mount(self, volume: Object) -> Path:
        directory = self.folder / self.name / str(volume["name"])
        if "configMap" in volume:
            return self._following("ConfigMap", volume["configMap"]["name"], directory)
        if "secret" in volume:
            secret = volume["secret"]["secretName"]
            if secret.endswith("-hub-kubeconfig"):
                kubeconfig = self.hub.kubeconfig(self.hub_identity).read_bytes()
                cluster = self.spoke.name.encode()
                project(
                    directory, {"kubeconfig": kubeconfig, "cluster-name": cluster, "agent-name": b"agent1"}
                )
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
        # As in a cluster, the kubelet reads the object, not the pod: its own rights do not depend on the
        # pod's.
        volume = Volume(
            kubeconfig=self.spoke.kubeconfig(),
            kind=kind,
            namespace=self.namespace,
            name=name,
            directory=directory,
        )
        self._stack.enter_context(volume)
        return directory

    def _account_directory(self, account: str) -> Path:
        directory = self.folder / self.name / "serviceaccount"
        project(
            directory,
            {
                "token": self.spoke.admin.token(self.namespace, account).encode(),
                "ca.crt": self.spoke.authority_file.read_bytes(),
                "namespace": self.namespace.encode(),
            },
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
        """Mount paths by their directories, in one pass: a directory may itself lie below a mount path such
        as /tmp.
        """
        paths = "|".join(re.escape(path) for path in sorted(self._mounts, key=len, reverse=True))
        return (
            re.sub(f"(?:{paths})(?=/|$)", lambda match: str(self._mounts[match[0]]), text) if paths else text
        )
