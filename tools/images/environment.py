"""The Python part of an image: the wheels of the lock file and our own, with byte code made by the image's
Python.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.images import program
from tools.images.errors import ImageError
from tools.images.recipe import MACHINES, PYTHON, Image

ROOT: Final = Path(__file__).parents[2]
_UV: Final = Path(sys.executable).with_name("uv")
_PLATFORM: Final = "manylinux_2_36"
"""The glibc of Debian 12."""
_INTERPRETER: Final = f"/usr/bin/python{PYTHON}"


def install(image: Image, root: Path, *, architecture: str, epoch: int, scratch: Path) -> Path:
    """Install below `root` what the image runs; the folder of its packages."""
    home = root / image.folder
    packages = home / f"lib/python{PYTHON}/site-packages"
    requirements = scratch / "requirements.txt"
    chosen = [word for extra in image.extras for word in ("--extra", extra)]
    chosen += [word for name in image.without for word in ("--prune", name)]
    uv(
        ["export", "--frozen", "--no-dev", "--no-emit-workspace", "--package", image.project, *chosen],
        ["--output-file", str(requirements)],
        epoch=epoch,
    )
    wheels = scratch / "wheels"
    for member in image.members:
        uv(
            ["build", "--wheel", "--no-build-isolation", "--python", sys.executable],
            ["--out-dir", str(wheels), str(ROOT / member)],
            epoch=epoch,
        )
    own = [
        f"{name.replace('_', '-')}=={version}"
        for name, version in (wheel.name.split("-")[:2] for wheel in sorted(wheels.glob("*.whl")))
    ]
    target = ["pip", "install", "--no-deps", "--link-mode", "copy", "--target", str(packages)]
    machine = MACHINES[architecture]
    platform = ["--python-version", PYTHON, "--python-platform", f"{machine}-{_PLATFORM}"]
    platform += ["--only-binary", ":all:"]
    uv(target, [*platform, "--require-hashes", "--requirement", str(requirements)], epoch=epoch)
    uv(target, [*platform, "--no-index", "--find-links", str(wheels), *own], epoch=epoch)
    _tidy(packages)
    _programs(image, home)
    return packages


def compile_all(root: Path, folders: Sequence[Path]) -> None:
    """Byte code that counts without a look at its source: times of files do not matter.

    The Python below `root` makes it, with the libraries below `root` alone. So a library that is missing is
    noticed here. One process compiles all files in their order, because byte code depends on what the process
    compiled before.
    """
    names = ["-s", str(root), "-p", "/"]
    mode = ["-q", "-f", "-o", "0", "--invalidation-mode", "unchecked-hash"]
    for folder in folders:
        _in_root(root, ["-m", "compileall", *mode, *names, str(folder)])


def check_libraries(root: Path) -> None:
    """ImageError when a program or library below `root` needs a library that is not there."""
    wrong = []
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file() or not _is_dynamic(path):
            continue
        answer = subprocess.run(
            program.command(root, "--list", str(path)),
            capture_output=True,
            text=True,
            check=False,
        )
        for line in answer.stdout.splitlines() + answer.stderr.splitlines():
            match = re.match(r"\s*(\S+) => (\S.*?)( \(0x|$)", line)
            if match and not match.group(2).startswith(str(root)):
                wrong.append(f"/{path.relative_to(root)} needs {match.group(1)}")
    if wrong:
        raise ImageError("libraries are missing; add their packages to recipe.py:\n  " + "\n  ".join(wrong))


def version(image: Image, root: Path) -> str:
    """What the program of the image says to --version, run with the Python of the image."""
    packages = root / image.folder / f"lib/python{PYTHON}/site-packages"
    module, _, function = image.entry_point.partition(":")
    call = (
        f"import sys; sys.argv = [{image.script!r}, '--version']; from {module} import {function} as f; f()"
    )
    return _in_root(root, ["-B", "-c", call], search=packages).strip()


def _in_root(root: Path, arguments: Sequence[str], *, search: Path | None = None) -> str:
    environment = {
        "PYTHONHOME": str(root / "usr"),
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "SSL_CERT_FILE": str(root / "etc/ssl/certs/ca-certificates.crt"),
        **({"PYTHONPATH": str(search)} if search else {}),
    }
    answer = subprocess.run(
        program.command(root, str(root / _INTERPRETER.lstrip("/")), *arguments),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise ImageError(f"python in the image: {(answer.stdout + answer.stderr).strip()[-2000:]}")
    return answer.stdout


def _is_dynamic(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF" and "ld-linux" not in path.name


def _programs(image: Image, home: Path) -> None:
    """The layout of a virtual environment, so that `python -m` and the script find the packages."""
    folder = home / "bin"
    folder.mkdir()
    (home / "pyvenv.cfg").write_text(
        "home = /usr/bin\ninclude-system-site-packages = false\n", encoding="ascii"
    )
    (folder / "python").symlink_to(_INTERPRETER)
    module, _, function = image.entry_point.partition(":")
    script = folder / image.script
    script.write_text(
        f"#!/{image.folder}/bin/python\nimport sys\n\nfrom {module} import {function}\n\n"
        f"sys.exit({function}())\n",
        encoding="ascii",
    )
    script.chmod(0o755)


def _tidy(packages: Path) -> None:
    """Remove scripts of libraries, and the files of the installer that name paths of this machine."""
    shutil.rmtree(packages / "bin", ignore_errors=True)
    for name in ("uv_cache.json", "direct_url.json", "REQUESTED"):
        for path in packages.glob(f"*.dist-info/{name}"):
            path.unlink()
    for path in packages.glob(".lock"):
        path.unlink()
    for record in packages.glob("*.dist-info/RECORD"):
        lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if (packages / line.partition(",")[0].strip('"')).exists()]
        record.write_text("".join(sorted(kept)), encoding="utf-8")


def uv(*parts: Sequence[str], epoch: int) -> None:
    """Run uv of the lock file in the checkout. Raises ImageError."""
    command = [str(_UV), "--quiet", *(word for part in parts for word in part)]
    settings = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    answer = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise ImageError(f"uv {' '.join(command[2:4])}: {(answer.stdout + answer.stderr).strip()[-2000:]}")
