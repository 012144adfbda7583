"""Our wheels, and an environment that holds what the requirements of a new fleet name, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_UV: Final = Path(sys.executable).with_name("uv")


def build_wheels(out: Path) -> None:
    """What `make wheel` builds, by the build backend of the development environment."""
    words = ("build", "--quiet", "--all-packages", "--wheel", "--offline", "--no-build-isolation")
    _run(*words, "--python", sys.executable, "--out-dir", str(out))


def install(requirements: Path, *, into: Path) -> None:
    """Makes an environment. After the first time everything comes from uv's cache."""
    _run("venv", "--quiet", "--python", sys.executable, str(into))
    words = ("pip", "install", "--quiet", "--python", str(into), "-r", requirements.name)
    try:
        _run(*words, "--offline", folder=requirements.parent)
    except AssertionError:
        _run(*words, folder=requirements.parent)


def _run(*words: str, folder: Path = ROOT) -> None:
    # The tests' own list of authorities is not for the package index.
    environment = {name: value for name, value in os.environ.items() if name != "SSL_CERT_FILE"}
    done = subprocess.run(
        [_UV, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
