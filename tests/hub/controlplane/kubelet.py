"""What a kubelet does for a pod without running one: ConfigMaps and Secrets as directories that change by a
symlink swap.

Kubernetes' atomic writer (pkg/volume/util/atomic_writer.go) writes the keys into a new directory named by the
time, points `..data_tmp` at it, renames that over `..data`, and keeps one symlink per key that leads through
`..data`. A reader that opens files through the directory sees either all of the old content or all of the
new.
"""

import base64
import shutil
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import httpx

from tests.hub.controlplane.api import ApiError, Client

POLL_SECONDS = 0.2
DATA = "..data"


class Volume:
    """A directory that follows one ConfigMap or Secret, as a volume with `optional: true` does.

    A real kubelet takes up to a minute or two to notice a change; this one looks every 0.2 s. A missing
    object is an empty directory, as for an optional volume; while the API server is away the last content
    stays.
    """

    def __init__(self, *, kubeconfig: Path, kind: str, namespace: str, name: str, directory: Path) -> None:
        self._client = Client(kubeconfig)
        self._kind, self._namespace, self._name = f"v1/{kind}", namespace, name
        self.directory = directory
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"volume {namespace}/{name}", daemon=True)

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
        binary = {key: base64.b64decode(value) for key, value in (found.get("binaryData") or {}).items()}
        return {**plain, **binary}


def project(directory: Path, content: Mapping[str, bytes]) -> bool:
    """Give `directory` this content by one swap; False when it has it already."""
    directory.mkdir(parents=True, exist_ok=True)
    data = directory / DATA
    old = data.resolve() if data.is_symlink() else None
    if old is not None and _files(old) == dict(content):
        return False
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
    return True


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}
