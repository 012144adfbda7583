"""Build the images of gitops-dsf with buildah: OCI archives, each with a bill of materials.

`python -m tools.images [agent|reconciler|cli ...] [--out dist]` builds images/*.Containerfile. buildah works
as root and, where user namespaces are allowed, for everybody. Where the public Python image cannot be pulled,
`sh images/base.sh` makes another base, to be named with --base.
"""

import argparse
import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tools import version as versions

ROOT: Final = Path(__file__).parents[1]
IMAGES: Final = {"agent": "/opt/agent", "reconciler": "/opt/gitops-dsf", "cli": "/opt/gitops-dsf"}
"""The images, and the virtual environment in each."""
_COMPONENTS: Final = """
import importlib.metadata
for one in importlib.metadata.distributions():
    print("pypi", one.metadata["Name"].lower().replace("_", "-"), one.version)
for line in open("/var/lib/dpkg/status", encoding="utf-8"):
    key, _, value = line.strip().partition(": ")
    if key == "Package": name = value
    elif key == "Version": print("deb/debian", name, value)
"""


class ImageError(Exception):
    """An image cannot be built; the message says why and what to do."""


def build(name: str, *, out: Path, base: str, architecture: str, epoch: int) -> None:
    """Build one image; print the archive and its digest. Raises ImageError."""
    version = versions.current(ROOT)
    image = f"localhost/gitops-dsf-{name}:{version}-{architecture}"
    options = [f"--file=images/{name}.Containerfile", f"--tag={image}", f"--timestamp={epoch}"]
    options += [f"--build-arg=PYTHON_IMAGE={base}"] if base else []
    run("buildah", "build", "--format=oci", f"--platform=linux/{architecture}", *options, ".")
    container = run("buildah", "from", "--pull-never", image).strip()
    try:
        said = run("buildah", "run", container, f"{IMAGES[name]}/bin/python", "-c", _COMPONENTS)
    finally:
        run("buildah", "rm", container)
    out.mkdir(parents=True, exist_ok=True)
    archive = out / f"gitops-dsf-{name}-{version}-{architecture}.oci.tar"
    archive.unlink(missing_ok=True)
    with tempfile.NamedTemporaryFile("r") as file:
        run("buildah", "push", f"--digestfile={file.name}", image, f"oci-archive:{archive}:{version}")
        digest = file.read().strip()
    document = bill(f"gitops-dsf-{name}", version, digest=digest, epoch=epoch, listed=said)
    archive.with_name(archive.name.replace(".oci.tar", ".cdx.json")).write_text(document, encoding="utf-8")
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.0f} MB, {digest}", flush=True)


def bill(name: str, version: str, *, digest: str, epoch: int, listed: str) -> str:
    """The bill of materials as CycloneDX 1.6. `listed` has a line for each Debian package and each Python
    distribution: kind, name and version.
    """

    def component(kind: str, name: str, version: str) -> dict[str, str]:
        purl = f"pkg:{kind}/{quote(name)}@{quote(version, safe='')}"
        kind = "container" if kind == "oci" else "library"
        return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}

    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": dt.datetime.fromtimestamp(epoch, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {**component("oci", name, digest), "version": version},
        },
        "components": [component(*line.split()) for line in sorted(set(listed.splitlines()))],
    }
    return json.dumps(document, indent=2) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 when an image cannot be built."""
    parser = argparse.ArgumentParser(prog="python -m tools.images", description=__doc__)
    parser.add_argument("images", nargs="*", metavar="image", help=f"{', '.join(IMAGES)} (default: all)")
    parser.add_argument("--architecture", default=machine(), help="amd64 or arm64 (default: %(default)s)")
    parser.add_argument("--base", default="", help="image with Python (default: the public one)")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder (default: %(default)s)")
    given = parser.parse_args(arguments)
    if unknown := sorted(set(given.images) - set(IMAGES)):
        parser.error(f"no image {unknown[0]!r}; there are {', '.join(IMAGES)}")
    out, architecture = given.out.absolute(), given.architecture
    try:
        for name in given.images or IMAGES:
            build(name, out=out, base=given.base, architecture=architecture, epoch=source_date())
    except ImageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def machine() -> str:
    """The architecture of this machine, as registries name it."""
    name = os.uname().machine
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(name, name)


def source_date() -> int:
    """SOURCE_DATE_EPOCH, or the time of the last commit."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct"))


def uv(*words: str, epoch: int) -> None:
    """Run uv of the lock file in the checkout. Raises ImageError."""
    run(str(Path(sys.executable).with_name("uv")), "--quiet", *words, SOURCE_DATE_EPOCH=str(epoch))


def run(*command: str, **environment: str) -> str:
    """Run a program in the checkout. Raises ImageError."""
    # A container of a pipeline can make no network and no processes of its own for a build.
    settings = {"BUILDAH_ISOLATION": "chroot", **os.environ, **environment}
    try:
        done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ImageError(f"there is no {command[0]} here: apt-get install {command[0]}") from None
    if done.returncode != 0:
        raise ImageError(f"{' '.join(command[:3])}: {(done.stdout + done.stderr).strip()[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
