"""Our images in a registry on loopback, built as `make images` builds them.

The image that holds the namespaces of a pod is there, too.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.hub.controlplane import node, registry
from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.processes import lacking
from tests.hub.controlplane.registry import Registry
from tools import release

GIVEN = "GITOPS_DSF_IMAGES"
BUILDERS = ("buildah", "mmdebstrap")
BASE = "localhost/gitops-dsf-python:3.11-bookworm"
"""Made of Debian packages, once: no registry is asked."""


def missing() -> str | None:
    """Why the images cannot be built or served here, or None."""
    return lacking("images are built with", BUILDERS, " ".join(BUILDERS)) or registry.missing()


def require_nodes() -> None:
    """Skips the test where no node can run with our images, with the reason.

    With GITOPS_DSF_NODES=required the test fails.
    """
    if reason := node.missing() or missing():
        if os.environ.get("GITOPS_DSF_NODES") == "required":
            pytest.fail(f"FAMILY has kubelet, but {reason}")
        pytest.skip(reason)


def build(names: Sequence[str], folder: Path) -> dict[str, Path]:
    """The archives of these images; those of the folder GITOPS_DSF_IMAGES where it is set, else
    built into `folder`.
    """
    if given := os.environ.get(GIVEN):
        return _archives(names, Path(given))
    assert release.main(["--images", *names, "--base", base(), "--out", str(folder)]) == 0
    return _archives(names, folder)


def base() -> str:
    """The image with Python, made where it is absent."""
    if not release.run("buildah", "images", "--quiet", "--filter", f"reference={BASE}"):
        release.run("sh", "images/base.sh", BASE)
    return BASE


def _archives(names: Sequence[str], folder: Path) -> dict[str, Path]:
    architecture = release.machine()
    found = {
        name: sorted(folder.glob(f"gitops-dsf-{name}-*-{architecture}.oci.tar")) for name in names
    }
    if absent := [name for name, archives in found.items() if len(archives) != 1]:
        raise AssertionError(
            f"{folder} must have one archive of {', '.join(absent)}: run make images"
        )
    return {name: archives[0] for name, archives in found.items()}


def archive(context: Path, target: Path, *, architecture: str) -> None:
    """The archive of what a folder with a Containerfile says."""
    image = f"localhost/{target.name.removesuffix('.oci.tar')}"
    platform = f"--platform=linux/{architecture}"
    release.run("buildah", "build", "--format=oci", platform, f"--tag={image}", str(context))
    release.run("buildah", "push", image, f"oci-archive:{target}:test")


def publish(
    running: Registry, binaries: Binaries, folder: Path, *, names: Sequence[str]
) -> tuple[str, dict[str, str]]:
    """Build these images, and push them with what pods need besides: the image that holds a pod's
    namespaces, and ours by short name.
    """
    ours = {
        name: running.push(archive, f"gitops-dsf-{name}:test")
        for name, archive in build(names, folder).items()
    }
    return running.push(sandbox(binaries, folder), "pause:test"), ours


def sandbox(binaries: Binaries, folder: Path) -> Path:
    """The archive of an image whose program only waits."""
    root = folder / "pause"
    root.mkdir()
    shutil.copy(binaries.path("pause"), root / "pause")
    (root / "Containerfile").write_text(
        'FROM scratch\nCOPY pause /pause\nUSER 65535:65535\nENTRYPOINT ["/pause"]\n',
        encoding="utf-8",
    )
    target = folder / "pause.oci.tar"
    archive(root, target, architecture=release.machine())
    return target
