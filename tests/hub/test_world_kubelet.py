"""What the world does to the file of a ConfigMap is what a real kubelet does to it."""

import random
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest

from tests.hub.controlplane.api import Client, manifest
from tests.hub.controlplane.binaries import Binaries, obtain
from tests.hub.controlplane.kube import WORKLOAD_CONTROLLERS, Kubernetes
from tests.hub.controlplane.node import Node, is_ready
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.registry import Registry
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario import realimages
from tests.support.agent.running import ConfigMapVolume

pytestmark = pytest.mark.family("kubernetes", "kubelet")

NAMESPACE, POD, CONFIG_MAP = "world-kubelet", "v1/Pod", "v1/ConfigMap"
SEQUENCES, ROUNDS = 20, 12
MAX_DELAY_SECONDS = 100.0
"""Seconds within which a change is in the file: what `Delivery` of the world draws at most.

The kubelet of Kubernetes 1.37 looks at a pod again after its syncFrequency of a minute and up to
half of that more.
"""
CONTENTS = ("", "a" * 5000, "b" * 5000, "c")


@dataclass
class Sequence:
    """What happens to one ConfigMap, which the seed draws, and the volume that the world makes."""

    number: int
    folder: Path
    files: dict[str, bytes] | None = None
    """The keys of the ConfigMap; None while there is none."""
    steps: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._random = random.Random(f"{self.number} kubelet")
        self.name = f"map-{self.number:02}"
        self.modelled = ConfigMapVolume(self.folder / self.name)

    def step(self, spoke: Client) -> None:
        """One change of the ConfigMap, in the API server and in the model."""
        kind = self._random.choice(["change", "change", "other keys", "delete"])
        if self.files is None:
            kind = "create"
        if kind == "delete":
            spoke.delete(CONFIG_MAP, self.name, namespace=NAMESPACE)
            self.files = None
        else:
            keys = self._random.choice([["summaries"], ["summaries", "more"], ["more"]])
            if kind == "change" and self.files:
                keys = sorted(self.files)
            text = {key: self._random.choice(CONTENTS) for key in keys}
            content = manifest(CONFIG_MAP, self.name, namespace=NAMESPACE, data=text)
            spoke.apply(content)
            self.files = {key: value.encode() for key, value in text.items()}
        self.modelled.swap(self.files or {})
        self.steps.add(kind)


def content_of(folder: Path) -> dict[str, bytes]:
    """What a program sees in a mounted folder. Checks that the links are as modelled."""
    assert (folder / "..data").is_symlink(), sorted(folder.iterdir())
    files: dict[str, bytes] = {}
    for path in folder.iterdir():
        if path.name.startswith(".."):
            continue
        assert path.readlink() == Path("..data") / path.name
        # Between two steps of the kubelet, a link may lead nowhere.
        with suppress(FileNotFoundError):
            files[path.name] = path.read_bytes()
    return files


class Readers:
    """Programs that read the file `summaries` of each volume again and again."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._seen: defaultdict[str, set[bytes | None]] = defaultdict(set)
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def take(self) -> dict[str, set[bytes | None]]:
        """What they have seen since the last call."""
        with self._lock:
            seen, self._seen = self._seen, defaultdict(set)
        return seen

    def _read(self) -> None:
        while not self._stop.is_set():
            for name, folder in self._folders.items():
                try:
                    content: bytes | None = (folder / "summaries").read_bytes()
                except FileNotFoundError:
                    content = None
                with self._lock:
                    self._seen[name].add(content)


@dataclass(frozen=True, kw_only=True)
class Mounted:
    """A pod of a real node with a volume for each sequence."""

    spoke: Client
    sequences: list[Sequence]
    folders: dict[str, Path]

    def look_again(self, number: int) -> None:
        """Makes the kubelet look at the pod now: it does when the pod has changed."""
        self.spoke.patch(
            POD,
            "reader",
            {"metadata": {"annotations": {"round": str(number)}}},
            namespace=NAMESPACE,
        )

    def differing(self) -> dict[str, object]:
        """The volumes that are not as the world made them."""
        different: dict[str, object] = {}
        for sequence in self.sequences:
            actual = content_of(self.folders[sequence.name])
            modelled = content_of(sequence.modelled.directory)
            if actual != modelled:
                different[sequence.name] = (sorted(modelled), sorted(actual))
        return different


@pytest.fixture
def mounted(kubernetes_binaries: Binaries, tmp_path: Path) -> Iterator[Mounted]:
    realimages.require_nodes()
    kubelet = obtain("kubelet")
    processes = Processes(logs=tmp_path / "logs")
    plane = ControlPlane(
        kubernetes=Kubernetes(binaries=kubernetes_binaries, processes=processes, folder=tmp_path),
        ocm_binaries=None,
        spoke_names=(),
        kube_controllers=WORKLOAD_CONTROLLERS,
    )
    sequences = [Sequence(number, tmp_path / "modelled") for number in range(SEQUENCES)]
    with plane, ExitStack() as stack:
        registry = stack.enter_context(Registry(processes=processes, folder=tmp_path / "registry"))
        image = registry.push(realimages.sandbox(kubelet, tmp_path), "pause:test")
        server = plane.hub
        port = int(registry.authority.rpartition(":")[2])
        node = stack.enter_context(
            Node(
                name="spoke-node",
                server=server,
                binaries=kubelet,
                processes=processes,
                folder=tmp_path / "node",
                sandbox_image=image,
                services={"localhost": (port, registry.authority)},
            )
        )
        spoke = server.admin
        spoke.apply(manifest("v1/Namespace", NAMESPACE))
        volumes = [
            {"name": each.name, "configMap": {"name": each.name, "optional": True}}
            for each in sequences
        ]
        mounts = [{"name": each.name, "mountPath": f"/maps/{each.name}"} for each in sequences]
        spec = {
            "containers": [{"name": "reader", "image": image, "volumeMounts": mounts}],
            "volumes": volumes,
            "automountServiceAccountToken": False,
        }
        spoke.create(manifest(POD, "reader", namespace=NAMESPACE, spec=spec))
        pod = wait_for(
            lambda: (
                running
                if is_ready(running := spoke.get(POD, "reader", namespace=NAMESPACE))
                else None
            ),
            what="the pod is ready",
            seen=lambda: spoke.list("v1/Event", namespace=NAMESPACE),
        )
        base = node.folder / "lib" / "kubelet" / "pods" / pod["metadata"]["uid"] / "volumes"
        folders = {each.name: base / "kubernetes.io~configmap" / each.name for each in sequences}
        yield Mounted(spoke=spoke, sequences=sequences, folders=folders)
    left = processes.left_behind()
    assert not left, f"processes left behind: {left}"


def test_sequences_of_changes(mounted: Mounted) -> None:
    with Readers(mounted.folders) as readers:
        for number in range(ROUNDS):
            readers.take()
            before = {each.name: (each.files or {}).get("summaries") for each in mounted.sequences}
            for sequence in mounted.sequences:
                sequence.step(mounted.spoke)
            # In the last round it must come to look by itself.
            is_last = number == ROUNDS - 1
            if not is_last:
                mounted.look_again(number)
            wait_for(
                lambda: not mounted.differing(),
                what="the kubelet mounted what the world expects",
                timeout=MAX_DELAY_SECONDS,
                seen=mounted.differing,
            )
            for name, contents in readers.take().items():
                sequence = next(each for each in mounted.sequences if each.name == name)
                after = (sequence.files or {}).get("summaries")
                assert contents <= {before[name], after}, (name, number)
    steps = set[str]().union(*(sequence.steps for sequence in mounted.sequences))
    assert steps == {"create", "change", "other keys", "delete"}
