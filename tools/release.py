"""Builds everything that a release publishes, or prints its notes.

`python -m tools.release [--out dist] [--without-images]` writes wheels and sdists of all
distributions, the images with their bills of materials, CRDs and JSON Schemas, and SHA256SUMS.
Built twice from the same commit, all files but the images have the same bytes. `python -m
tools.release --notes v1.2.0` prints the section of CHANGELOG.md, and fails for a tag that is not
the version of the checkout, or has none.

`--images [agent|reconciler|cli ...]` builds targets of images/Containerfile and nothing else: OCI
archives, with buildah. It works as root and, where user namespaces are allowed, for everybody.
Where the public Python image cannot be pulled, `sh images/base.sh` makes another base, to be named
with --base.
"""

import argparse
import datetime as dt
import hashlib
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
SUMS: Final = "SHA256SUMS"
IMAGES: Final = {"agent": "/opt/agent", "reconciler": "/opt/gitops-dsf", "cli": "/opt/gitops-dsf"}
"""The images, which are targets of images/Containerfile, and the virtual environment in each."""
_COMPONENTS: Final = """
import importlib.metadata
for installed in importlib.metadata.distributions():
    print("pypi", installed.metadata["Name"].lower().replace("_", "-"), installed.version)
for line in open("/var/lib/dpkg/status", encoding="utf-8"):
    key, _, value = line.strip().partition(": ")
    if key == "Package": name = value
    elif key == "Version": print("deb/debian", name, value)
"""


class BuildError(Exception):
    """Something cannot be built; the message says why and what to do."""


def image(name: str, *, out: Path, base: str, architecture: str, epoch: int) -> None:
    """Builds one image, and prints the archive and its digest. Raises BuildError."""
    version = versions.current(ROOT)
    tag = f"localhost/gitops-dsf-{name}:{version}-{architecture}"
    options = ["--file=images/Containerfile", f"--target={name}"]
    options += [f"--tag={tag}", f"--timestamp={epoch}"]
    if base:
        options.append(f"--build-arg=PYTHON_IMAGE={base}")
    run("buildah", "build", "--format=oci", f"--platform=linux/{architecture}", *options, ".")
    # Never pulled: a registry must not answer for an image that was just built.
    container = run("buildah", "from", "--pull-never", tag).strip()
    try:
        # Asked inside the image, because only there it is known what was installed.
        packages = run("buildah", "run", container, f"{IMAGES[name]}/bin/python", "-c", _COMPONENTS)
    finally:
        run("buildah", "rm", container)
    archive = out / f"gitops-dsf-{name}-{version}-{architecture}.oci.tar"
    with tempfile.NamedTemporaryFile("r") as file:
        run("buildah", "push", f"--digestfile={file.name}", tag, f"oci-archive:{archive}:{version}")
        digest = file.read().strip()
    document = bill(f"gitops-dsf-{name}", version, digest=digest, epoch=epoch, packages=packages)
    archive.with_name(archive.name.replace(".oci.tar", ".cdx.json")).write_text(
        document, encoding="utf-8"
    )
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.0f} MB, {digest}", flush=True)


def bill(name: str, version: str, *, digest: str, epoch: int, packages: str) -> str:
    """The bill of materials as CycloneDX 1.6.

    `packages` has kind, name and version of a package on each line.
    """
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # From the digest, so that the same image has the same bill wherever it is built.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": dt.datetime.fromtimestamp(epoch, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {**_component("oci", name, digest), "version": version},
        },
        "components": [_component(*line.split()) for line in sorted(set(packages.splitlines()))],
    }
    return json.dumps(document, indent=2) + "\n"


def _component(kind: str, name: str, version: str) -> dict[str, str]:
    purl = f"pkg:{kind}/{quote(name)}@{quote(version, safe='')}"
    component_type = "library"
    if kind == "oci":
        component_type = "container"
    return {"type": component_type, "bom-ref": purl, "name": name, "version": version, "purl": purl}


def distributions(out: Path) -> None:
    """The sdist of each distribution and the wheel built from it.

    The backend is that of the lock file.
    """
    command = ("build", "--all-packages", "--no-build-isolation", "--python", sys.executable)
    uv(*command, "--no-create-gitignore", "--out-dir", str(out), epoch=source_date())


def schemas(out: Path) -> None:
    """CRDs, and JSON Schemas for editors and kubeconform, as they are committed."""
    name = f"gitops-dsf-schemas-{versions.current(ROOT)}"
    target = str(out / f"{name}.tgz")
    run("git", "archive", f"--prefix={name}/", "--output", target, "HEAD", "schemas", "LICENSE")


def sums(folder: Path) -> str:
    """A line for each file, as sha256sum reads them."""
    # Sorted, because a file system lists its files in any order.
    lines: list[str] = []
    for path in sorted(folder.iterdir()):
        lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
    return "".join(lines)


def notes(root: Path, tag: str) -> str:
    """The section of a version in CHANGELOG.md. Raises ValueError."""
    version = versions.current(root)
    if tag != f"v{version}":
        raise ValueError(f"the tag {tag} is for another version than {version} of pyproject.toml")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    _, _, rest = changes.partition(f"\n## [{version}]")
    text = rest.partition("\n")[2].partition("\n## ")[0].strip()
    if not text:
        raise ValueError(
            f"CHANGELOG.md has no section '## [{version}] - DATE'; rename 'Unreleased'"
        )
    return f"{text}\n"


def machine() -> str:
    """The architecture of this machine, as registries name it."""
    name = os.uname().machine
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(name, name)


def source_date() -> int:
    """SOURCE_DATE_EPOCH, or the time of the last commit."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct"))


def uv(*words: str, epoch: int) -> None:
    """Runs uv of the lock file in the checkout. Raises BuildError."""
    run(str(Path(sys.executable).with_name("uv")), "--quiet", *words, SOURCE_DATE_EPOCH=str(epoch))


def run(*command: str, **environment: str) -> str:
    """Runs a program in the checkout. Raises BuildError."""
    # A container of a pipeline can make no network and no processes of its own for a build.
    settings = {"BUILDAH_ISOLATION": "chroot", **os.environ, **environment}
    try:
        completed = subprocess.run(
            command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise BuildError(f"there is no {command[0]} here: apt-get install {command[0]}") from None
    if completed.returncode != 0:
        raise BuildError(
            f"{' '.join(command[:3])}: {(completed.stdout + completed.stderr).strip()[-2000:]}"
        )
    return completed.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 1 when a part cannot be built, or when there are no notes. Then no file changes."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("dist"), help="folder (default: %(default)s)"
    )
    parser.add_argument("--without-images", action="store_true", help="images need buildah")
    parser.add_argument(
        "--images", nargs="*", choices=IMAGES, help="only these images (default: all)"
    )
    parser.add_argument(
        "--architecture", default=machine(), help="amd64 or arm64 (default: %(default)s)"
    )
    parser.add_argument("--base", default="", help="image with Python (default: the public one)")
    parser.add_argument(
        "--notes", metavar="TAG", help="only print the notes of a tag, such as v1.2.0"
    )
    args = parser.parse_args(arguments)
    out: Path = args.out.absolute()
    try:
        if args.notes is not None:
            sys.stdout.write(notes(ROOT, args.notes))
            return 0
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".release-", dir=out) as scratch:
            built = Path(scratch)
            names = args.images or IMAGES
            if args.without_images:
                names = ()
            for name in names:
                image(
                    name,
                    out=built,
                    base=args.base,
                    architecture=args.architecture,
                    epoch=source_date(),
                )
            if args.images is None:
                distributions(built)
                schemas(built)
                (built / SUMS).write_text(sums(built), encoding="ascii")
            # Only now, when all parts are there: a build that fails leaves the old files whole.
            for path in sorted(built.iterdir()):
                print(path.replace(out / path.name))
    except (BuildError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
