"""Build everything that a release publishes.

`python -m tools.release [--out dist] [--without-images]` writes wheels and sdists of all distributions, the
images with their bills of materials, CRDs and JSON Schemas, and SHA256SUMS. Built twice
from the same commit, all files but the images have the same bytes.
"""

import argparse
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools import images
from tools import version as versions
from tools.images import ROOT, ImageError, uv
from tools.release import archive

SUMS: Final = "SHA256SUMS"


def distributions(out: Path, *, epoch: int) -> None:
    """The sdist of each distribution and the wheel built from it, with the backend of the lock file."""
    uv(
        ["build", "--all-packages", "--no-build-isolation", "--python", sys.executable],
        ["--no-create-gitignore", "--out-dir", str(out)],
        epoch=epoch,
    )


def schemas(root: Path, out: Path, *, epoch: int) -> None:
    """CRDs and JSON Schemas."""
    name = f"gitops-dsf-schemas-{versions.current(root)}"
    files = archive.files_below(root / "schemas", name)
    files[f"{name}/LICENSE"] = (root / "LICENSE").read_bytes()
    archive.write(out / f"{name}.tgz", files, epoch=epoch)


def sums(folder: Path) -> str:
    """A line for each file, as sha256sum reads them."""
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 when a part cannot be built. Then no file changes."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder (default: %(default)s)")
    parser.add_argument(
        "--without-images", action="store_true", help="leave out the images, which need buildah"
    )
    parser.add_argument("--base", default="", help="image with Python (default: the public one)")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="gitops-dsf-release-") as scratch:
        built = Path(scratch)
        try:
            epoch = images.source_date()
            if not given.without_images and (
                status := images.main(["--out", str(built), "--base", given.base])
            ):
                return status
            distributions(built, epoch=epoch)
            schemas(ROOT, built, epoch=epoch)
        except ImageError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        (built / SUMS).write_text(sums(built), encoding="ascii")
        given.out.mkdir(parents=True, exist_ok=True)
        for path in sorted(built.iterdir()):
            shutil.move(path, given.out / path.name)
            print(given.out / path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
