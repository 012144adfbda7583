"""`make images`, really built: the same bytes twice, small, no shell, and every package in the bill."""

import gzip
import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from tools.images import __main__ as command
from tools.images import debian
from tools.images.errors import ImageError
from tools.images.recipe import AGENT, MACHINES

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

LARGEST = 120_000_000
"""Bytes of the agent's image, unpacked."""


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The agent's image, built twice."""
    try:
        debian.require_debian()
    except ImageError as error:
        pytest.skip(str(error))
    folders = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second")
    for folder in folders:
        assert command.main(["agent", "--out", str(folder)]) == 0
    return folders


def test_two_builds_are_equal(builds: tuple[Path, Path]) -> None:
    first, second = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in builds)
    assert len(first) == 2, "an archive and its bill of materials"
    assert first == second


def test_the_agents_image_is_small_and_has_no_shell(builds: tuple[Path, Path]) -> None:
    entries = files(builds[0])
    assert sum(entry.size for entry in entries.values()) < LARGEST
    shells = {"sh", "bash", "dash", "busybox", "perl", "dpkg", "apt", "pip"}
    assert not {name for name in entries if name.startswith("usr/bin/") and Path(name).name in shells}
    assert not [name for name, entry in entries.items() if entry.mode & 0o6000], "no setuid programs"


def test_the_bill_names_what_is_installed(builds: tuple[Path, Path]) -> None:
    (path,) = builds[0].glob("*.cdx.json")
    named = {component["name"] for component in json.loads(path.read_text(encoding="utf-8"))["components"]}
    assert set(AGENT.packages) <= named
    assert {"gitops-dsf-agent", "gitops-dsf-runtime", "gitops-dsf-wire", "httpx"} <= named
    recorded = {Path(name).name for name in files(builds[0]) if name.startswith("var/lib/dpkg/status.d/")}
    assert recorded == set(AGENT.packages)


def test_images_for_another_architecture_are_built(tmp_path: Path) -> None:
    """The build ends only if the program of the image says its version."""
    other = "arm64" if debian.architecture() == "amd64" else "amd64"
    if shutil.which(f"qemu-{MACHINES[other]}-static") is None:
        pytest.skip("apt-get install qemu-user-static")
    try:
        debian.require_architecture(other)
    except ImageError as error:
        pytest.skip(str(error))
    assert command.main(["agent", "--architecture", other, "--out", str(tmp_path)]) == 0
    (archive,) = tmp_path.glob("*.oci.tar")
    assert archive.name.endswith(f"-{other}.oci.tar")
    (bill,) = tmp_path.glob("*.cdx.json")
    purls = [one["purl"] for one in json.loads(bill.read_text(encoding="utf-8"))["components"]]
    debs = [purl for purl in purls if purl.startswith("pkg:deb/")]
    assert {purl.partition("?arch=")[2].partition("&")[0] for purl in debs} == {other, "all"}


def files(folder: Path) -> dict[str, tarfile.TarInfo]:
    """The files of all layers."""
    (archive,) = folder.glob("*.oci.tar")
    found: dict[str, tarfile.TarInfo] = {}
    with tarfile.open(archive) as outer:
        for blob in outer:
            content = outer.extractfile(blob)
            data = content.read() if content else b""
            if data.startswith(b"\x1f\x8b"):
                with tarfile.open(fileobj=io.BytesIO(gzip.decompress(data))) as layer:
                    found |= {entry.name: entry for entry in layer if not entry.isdir()}
    return found
