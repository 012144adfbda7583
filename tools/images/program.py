"""Programs of an image, run on this machine with the libraries of the image alone.

Programs of another architecture run in QEMU's user mode.
"""

import platform
import re
import shutil
from pathlib import Path

from tools.images.errors import ImageError


def command(root: Path, *words: str) -> list[str]:
    """Run a program below `root`: the loader of the image with its words, then the program and its words."""
    loader = _loader(root)
    libraries = ":".join(str(path) for path in sorted((root / "usr/lib").glob("*-linux-gnu")))
    return [*_emulator(loader), str(loader), "--inhibit-cache", "--library-path", libraries, *words]


def _loader(root: Path) -> Path:
    return next(
        path for path in sorted((root / "usr").glob("lib*/**/ld-linux-*.so.*")) if not path.is_symlink()
    )


def _emulator(loader: Path) -> list[str]:
    """Nothing for an architecture of this machine."""
    found = re.fullmatch(r"ld-linux-(.+)\.so\.\d+", loader.name)
    machine = found[1].replace("-", "_") if found else ""
    if machine == platform.machine():
        return []
    name = f"qemu-{machine}-static"
    if (emulator := shutil.which(name)) is None:
        raise ImageError(f"programs for {machine} need {name}: apt-get install qemu-user-static")
    return [emulator]
