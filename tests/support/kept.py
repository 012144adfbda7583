"""Folders that are made once in a process and then copied.

A git repository with a commit takes four processes to make, and a rendered fleet a tenth of a
second. Most tests only need one to begin with. A fixture of a session would do it too, but its
content must not change, and these do.
"""

import atexit
import shutil
import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path

_made: dict[Hashable, Path] = {}


def copied(target: Path, *, key: Hashable, make: Callable[[Path], object]) -> None:
    """Writes what `make` writes into an empty folder into `target`.

    Two calls with one key must make the same. Nothing that is made may name its own folder.
    """
    if key not in _made:
        folder = Path(tempfile.mkdtemp(prefix="kept-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        make(folder)
        _made[key] = folder
    shutil.copytree(_made[key], target, symlinks=True, dirs_exist_ok=True)
