"""Flux's kustomize-controller on the hub, and the artifacts that it applies.

source-controller does not run. The test writes what that would: the status of a GitRepository,
whose artifact is an archive on an HTTP server of the test.
"""

import hashlib
import io
import tarfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from tests.hub.controlplane.api import Client, Object, condition, manifest
from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.kube import KubeApiServer
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Processes, answering
from tests.hub.controlplane.waiting import remove_kinds, wait_for, wait_until_served
from tests.support.threadserver import Handler, ThreadServer

NAMESPACE: Final = "flux-system"
CONTROLLER: Final = "kustomize-controller"
KUSTOMIZATION: Final = "kustomize.toolkit.fluxcd.io/v1/Kustomization"
GIT_REPOSITORY: Final = "source.toolkit.fluxcd.io/v1/GitRepository"


class ArtifactServer(ThreadServer):
    """Archives by digest; a context manager."""

    def __init__(self) -> None:
        self.archives = archives = dict[str, bytes]()

        class ArtifactHandler(Handler):
            def serve(self) -> None:
                content = archives.get(self.path.strip("/").removesuffix(".tar.gz"))
                self.send(
                    200 if content is not None else 404, content or b"", media="application/gzip"
                )

        super().__init__(ArtifactHandler)

    def offer(self, root: Path, *folders: str) -> Mapping[str, object]:
        """Archives these folders below `root`, and returns the artifact of a source's status."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for folder in folders:
                archive.add(root / folder, arcname=folder)
        content = buffer.getvalue()
        digest = hashlib.sha256(content).hexdigest()
        self.archives[digest] = content
        return {
            "digest": f"sha256:{digest}",
            "lastUpdateTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "path": f"{digest}.tar.gz",
            "revision": f"main@sha1:{digest[:40]}",
            "size": len(content),
            "url": f"{self.url}/{digest}.tar.gz",
        }


@dataclass(kw_only=True)
class Flux:
    """A running kustomize-controller with all rights on the hub, as a bootstrap of Flux gives
    it.
    """

    binaries: Binaries
    processes: Processes
    hub: KubeApiServer
    artifacts: ArtifactServer
    _crds: list[Object] = field(default_factory=list)

    @property
    def client(self) -> Client:
        return self.hub.admin

    def start(self) -> None:
        paths = [
            *self.binaries.folder("kustomizations").glob("*.yaml"),
            *self.binaries.folder("sources").glob("*.yaml"),
        ]
        self._crds = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(paths)]
        for item in [*self._crds, manifest("v1/Namespace", NAMESPACE)]:
            self.client.apply(item)
        wait_until_served(self.client, self._crds)
        metrics, health = free_port(), free_port()
        process = self.processes.start(
            CONTROLLER,
            [
                self.binaries.path(CONTROLLER),
                f"--metrics-addr=127.0.0.1:{metrics}",
                f"--health-addr=127.0.0.1:{health}",
                "--requeue-dependency=1s",
                "--log-level=info",
            ],
            environment={
                "KUBECONFIG": str(self.hub.kubeconfig()),
                "RUNTIME_NAMESPACE": NAMESPACE,
            },
        )
        self.processes.ready(process, answering(f"http://127.0.0.1:{health}/readyz"))

    def stop(self) -> None:
        """Ends it, and removes its kinds from the hub. The Kustomizations must be gone."""
        self.processes.stop(CONTROLLER)
        remove_kinds(self.client, (item["metadata"]["name"] for item in self._crds))

    def publish(self, source: str, root: Path, *folders: str) -> str:
        """Offers a new artifact of a GitRepository; returns its revision."""
        artifact = self.artifacts.offer(root, *folders)
        self.client.patch_status(
            GIT_REPOSITORY, source, {"artifact": artifact}, namespace=NAMESPACE
        )
        return str(artifact["revision"])

    def ready(self, name: str) -> dict[str, str]:
        """The condition Ready of a Kustomization; empty while there is none."""
        return condition(self.client.get(KUSTOMIZATION, name, namespace=NAMESPACE), "Ready")

    def applied(self, revision: str, *names: str) -> None:
        """Waits until these Kustomizations have applied a revision."""
        for name in names:
            wait_for(
                lambda name=name: (  # type: ignore[misc]
                    self.ready(name).get("status") == "True"
                    and self.client.get(KUSTOMIZATION, name, namespace=NAMESPACE)["status"].get(
                        "lastAppliedRevision"
                    )
                    == revision
                ),
                what=f"Kustomization {name} is applied",
                seen=lambda name=name: self.ready(name),  # type: ignore[misc]
            )
