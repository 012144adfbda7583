"""demo-out: the folder that a demo creates and keeps. docs/start/quickstart.md says what is in it."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gitops_dsf.errors import GitopsDsfError

MARKER: Final = ".gitops-dsf-demo"


@contextmanager
def emptied(folder: Path) -> Iterator[Path]:
    """Yields the absolute path, and holds a lock. Raises GitopsDsfError if the folder holds anything else, or
    another demo runs in it.
    """
    root = folder.resolve()
    marker = root / MARKER
    if root.exists() and not marker.is_file() and (not root.is_dir() or any(root.iterdir())):
        raise GitopsDsfError(
            f"{root} is there and no demo made it: remove it, or name another folder with --out"
        )
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = marker.open("a", encoding="utf-8")
    except OSError as error:
        raise GitopsDsfError(f"{error.filename or root} cannot be used: {error.strerror or error}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise GitopsDsfError(
                f"a demo is running in {root}: end it with Ctrl-C, or name another folder with --out"
            ) from error
        for item in root.iterdir():
            if item.is_dir() and not item.is_symlink():
                shutil.rmtree(item)
            elif item.name != MARKER:
                item.unlink()
        yield root
