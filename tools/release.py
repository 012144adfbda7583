"""Build everything that a release publishes, or print its notes.

`python -m tools.release [--out dist] [--without-images]` writes wheels and sdists of all distributions, the
images with their bills of materials, CRDs and JSON Schemas, and SHA256SUMS. Built twice from the same commit,
all files but the images have the same bytes. `python -m tools.release --notes v1.2.0` prints the section of
CHANGELOG.md, and fails for a tag that is not the version of the checkout, or has none.
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
from tools.images import ROOT, ImageError, run, uv

SUMS: Final = "SHA256SUMS"


def distributions(out: Path) -> None:
    """The sdist of each distribution and the wheel built from it, with the backend of the lock file."""
    command = ("build", "--all-packages", "--no-build-isolation", "--python", sys.executable)
    uv(*command, "--no-create-gitignore", "--out-dir", str(out), epoch=images.source_date())


def schemas(out: Path) -> None:
    """CRDs, and JSON Schemas for editors and kubeconform, as they are committed."""
    name = f"gitops-dsf-schemas-{versions.current(ROOT)}"
    target = str(out / f"{name}.tgz")
    run("git", "archive", f"--prefix={name}/", "--output", target, "HEAD", "schemas", "LICENSE")


def sums(folder: Path) -> str:
    """A line for each file, as sha256sum reads them."""
    digests = {path.name: hashlib.sha256(path.read_bytes()) for path in sorted(folder.iterdir())}
    return "".join(f"{digest.hexdigest()}  {name}\n" for name, digest in digests.items())


def notes(root: Path, tag: str) -> str:
    """The section of a version in CHANGELOG.md. Raises ValueError."""
    version = versions.current(root)
    if tag != f"v{version}":
        raise ValueError(f"the tag {tag} is for another version than {version} of pyproject.toml")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    _, _, found = changes.partition(f"\n## [{version}]")
    text = found.partition("\n")[2].partition("\n## ")[0].strip()
    if not text:
        raise ValueError(f"CHANGELOG.md has no section '## [{version}] - DATE'; rename 'Unreleased'")
    return f"{text}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 when a part cannot be built; then no file changes. Also when there are no notes."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder (default: %(default)s)")
    parser.add_argument("--without-images", action="store_true", help="images need buildah")
    parser.add_argument("--base", default="", help="image with Python (default: the public one)")
    parser.add_argument("--notes", metavar="TAG", help="only print the notes of a tag, such as v1.2.0")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="gitops-dsf-release-") as scratch:
        built = Path(scratch)
        try:
            if given.notes is not None:
                sys.stdout.write(notes(ROOT, given.notes))
                return 0
            words = ["--out", str(built), "--base", given.base]
            if not given.without_images and (status := images.main(words)):
                return status
            distributions(built)
            schemas(built)
        except (ImageError, ValueError) as error:
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
