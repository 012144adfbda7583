"""Our images in a registry on loopback, built as `make images` builds them, and the image that holds the
namespaces of a pod.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hub.controlplane import node, registry
from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.registry import Registry
from tools.images import debian, oci
from tools.images.errors import ImageError

ROOT = Path(__file__).parents[3]
GIVEN = "GITOPS_DSF_IMAGES"


@dataclass(frozen=True, kw_only=True)
class Images:
    """Full names of the images in the registry, and the archives of ours by short name."""

    agent: str
    reconciler: str
    cli: str
    sandbox: str
    archives: dict[str, Path]


def missing() -> str | None:
    """Why the images cannot be built or served here, or None."""
    try:
        debian.require_debian()
    except ImageError as error:
        return str(error)
    return registry.missing()


def require_nodes() -> None:
    """Skips the test where no node can run with our images, with the reason. In CI, which was asked for
    nodes, the test fails.
    """
    if reason := node.missing() or missing():
        if os.environ.get("CI"):
            pytest.fail(f"FAMILY has kubelet, but {reason}")
        pytest.skip(reason)


def build(names: Sequence[str], folder: Path) -> dict[str, Path]:
    """The archives of these images; those of the folder GITOPS_DSF_IMAGES where it is set, else built into
    `folder`.
    """
    if given := os.environ.get(GIVEN):
        return _archives(names, Path(given))
    answer = subprocess.run(
        [sys.executable, "-m", "tools.images", *names, "--out", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise AssertionError(f"make images: {answer.stdout}{answer.stderr}")
    return _archives(names, folder)


def _archives(names: Sequence[str], folder: Path) -> dict[str, Path]:
    architecture = debian.architecture()
    found = {name: sorted(folder.glob(f"gitops-dsf-{name}-*-{architecture}.oci.tar")) for name in names}
    if absent := [name for name, archives in found.items() if len(archives) != 1]:
        raise AssertionError(f"{folder} must have one archive of {', '.join(absent)}: run make images")
    return {name: archives[0] for name, archives in found.items()}


def publish(running: Registry, binaries: Binaries, folder: Path) -> Images:
    """Build and push everything that pods need."""
    archives = build(("agent", "reconciler", "cli"), folder)
    return Images(
        agent=running.push(archives["agent"], "gitops-dsf-agent:test"),
        reconciler=running.push(archives["reconciler"], "gitops-dsf-reconciler:test"),
        cli=running.push(archives["cli"], "gitops-dsf-cli:test"),
        sandbox=running.push(sandbox(binaries, folder), "pause:test"),
        archives=archives,
    )


def sandbox(binaries: Binaries, folder: Path) -> Path:
    """The archive of an image whose program only waits."""
    root = folder / "pause"
    root.mkdir()
    shutil.copy(binaries.path("pause"), root / "pause")
    target = folder / "pause.oci.tar"
    oci.write_archive(
        target,
        layers=[oci.layer(root, epoch=0)],
        config={"Entrypoint": ["/pause"], "User": "65535:65535"},
        architecture=debian.architecture(),
        created="1970-01-01T00:00:00Z",
        epoch=0,
        reference="test",
    )
    return target
