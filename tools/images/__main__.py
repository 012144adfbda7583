"""Build the images of gitops-dsf as OCI archives, with a bill of materials for each.

`python -m tools.images [agent|reconciler|cli ...] [--out dist]`. Needs Debian 12 and its apt, and neither
root nor a container engine. Built twice from the same sources and packages, an archive has the same bytes.
Images for another architecture than that of this machine are built with QEMU's user mode.
"""

import argparse
import datetime as dt
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools import version as versions
from tools.images import debian, environment, oci, sbom
from tools.images.errors import ImageError
from tools.images.recipe import IMAGES, MACHINES, USER, Image


@dataclass(frozen=True, kw_only=True)
class Built:
    """An archive, and what is in it."""

    image: Image
    archive: Path
    digest: str
    unpacked: int
    compressed: int
    components: int


def build(image: Image, *, architecture: str, out: Path, cache: Path, epoch: int) -> Built:
    """Build one image. Raises ImageError."""
    version = versions.current(environment.ROOT)
    created = dt.datetime.fromtimestamp(epoch, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    packages = debian.download(image.packages, architecture=architecture, cache=cache)
    with tempfile.TemporaryDirectory(prefix="gitops-dsf-image-") as folder:
        scratch = Path(folder)
        root = scratch / "root"
        debian.extract(packages, root)
        if not image.entry:
            debian.add_shell(root)
        environment.compile_all(root, [root / "usr/lib/python3.11"])
        base = oci.layer(root, epoch=epoch)
        libraries = environment.install(image, root, architecture=architecture, epoch=epoch, scratch=scratch)
        environment.compile_all(root, [libraries])
        environment.check_libraries(root)
        if version not in (said := environment.version(image, root)):
            raise ImageError(f"{image.name} says {said!r} instead of version {version}")
        application = scratch / "application"
        (application / image.folder).parent.mkdir(parents=True)
        (root / image.folder).rename(application / image.folder)
        layers = [base, oci.layer(application, epoch=epoch)]
        out.mkdir(parents=True, exist_ok=True)
        archive = out / f"{image.name}-{version}-{architecture}.oci.tar"
        digest = oci.write_archive(
            archive,
            layers=layers,
            config=_config(image, version),
            architecture=architecture,
            created=created,
            epoch=epoch,
            reference=version,
        )
        packaged = application / libraries.relative_to(root)
        document = sbom.bill(
            name=image.name,
            version=version,
            digest=digest,
            created=created,
            packages=packages,
            libraries=packaged,
        )
        archive.with_name(archive.name.replace(".oci.tar", ".cdx.json")).write_bytes(document)
        return Built(
            image=image,
            archive=archive,
            digest=digest,
            unpacked=sum(layer.unpacked for layer in layers),
            compressed=sum(len(layer.content) for layer in layers),
            components=document.count(b'"bom-ref"') - 1,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 when an image cannot be built."""
    short = {image.name.removeprefix("gitops-dsf-"): image for image in IMAGES}
    parser = argparse.ArgumentParser(prog="python -m tools.images", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("images", nargs="*", metavar="image", help=f"{', '.join(short)} (default: all)")
    parser.add_argument(
        "--architecture", choices=sorted(MACHINES), help="of the images (default: that of this machine)"
    )
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder (default: %(default)s)")
    given = parser.parse_args(arguments)
    if unknown := sorted(set(given.images) - set(short)):
        parser.error(f"no image {unknown[0]!r}; there are {', '.join(short)}")
    cache = Path(os.environ.get("GITOPS_DSF_CACHE") or Path.home() / ".cache/gitops-dsf") / "debian"
    try:
        debian.require_debian()
        architecture = given.architecture or debian.architecture()
        debian.require_architecture(architecture)
        epoch = source_date()
        for name in given.images or short:
            built = build(short[name], architecture=architecture, out=given.out, cache=cache, epoch=epoch)
            print(
                f"{built.archive.name}: {built.unpacked / 1e6:.0f} MB unpacked,"
                f" {built.compressed / 1e6:.0f} MB compressed, {built.components} components, {built.digest}",
                flush=True,
            )
    except ImageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def source_date() -> int:
    """SOURCE_DATE_EPOCH, or the time of the last commit."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    answer = subprocess.run(
        ["git", "log", "-1", "--format=%ct"],
        cwd=environment.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise ImageError("set SOURCE_DATE_EPOCH: this folder has no git history to take a time from")
    return int(answer.stdout)


def _config(image: Image, version: str) -> dict[str, object]:
    environ = {
        "PATH": f"/{image.folder}/bin:/usr/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        **dict(image.environment),
    }
    return {
        # A number, so that runAsNonRoot needs no look into the image.
        "User": f"{USER}:{USER}",
        "Env": [f"{key}={value}" for key, value in environ.items()],
        **({"Entrypoint": [image.program]} if image.entry else {}),
        "Cmd": list(image.command),
        "WorkingDir": "/",
        **({"ExposedPorts": {f"{image.port}/tcp": {}}} if image.port else {}),
        "Labels": {
            "org.opencontainers.image.title": image.name,
            "org.opencontainers.image.description": image.description,
            "org.opencontainers.image.version": version,
            "org.opencontainers.image.licenses": "Apache-2.0",
        },
    }


if __name__ == "__main__":
    sys.exit(main())
