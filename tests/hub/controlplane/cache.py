"""The folders of built programs in the cache: locked while somebody builds in one, and removed when nobody
used one for long.

A folder's modification time is the time of its last use. Each folder has a lock file beside it.
"""

import fcntl
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

KEPT_DAYS = 14
SCRATCH = ".building-"

_FOLDER = re.compile(r"[a-z]+-[0-9a-f]{16}")
_REMOVING = ".removing-"


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Create the folder, mark it as used, and lock it: two runs at once build one after the other,
    not twice.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder, fcntl.LOCK_EX):
        folder.mkdir(exist_ok=True)
        os.utime(folder)
        for left in folder.glob(f"{SCRATCH}*"):  # of a build that was killed
            shutil.rmtree(left)
        yield


def collect_unused(root: Path, *, report: Callable[[str], None], now: float | None = None) -> list[Path]:
    """Remove the folders below `root` that nobody used for KEPT_DAYS, with their lock files. Returns what was
    removed.

    A folder in which somebody builds stays, and so does everything that is not one of ours.
    """
    oldest = (time.time() if now is None else now) - KEPT_DAYS * 24 * 3600
    removed = []
    for folder in sorted(root.glob("*-*")) if root.is_dir() else ():
        if not _FOLDER.fullmatch(folder.name) or not folder.is_dir() or folder.stat().st_mtime >= oldest:
            continue
        try:
            with _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
                if folder.stat().st_mtime >= oldest:
                    continue  # used since we looked
                # Under another name first: a removal that is stopped must not leave half a folder to be
                # found.
                gone = folder.rename(folder.with_name(f"{_REMOVING}{folder.name}"))
                _lock_file(folder).unlink()
        except (BlockingIOError, FileNotFoundError):
            continue  # somebody builds there, or removed it just now
        removed.append(folder)
        report(f"{folder}: removed, nobody used it for {KEPT_DAYS} days")
        shutil.rmtree(gone)
    for left in root.glob(f"{_REMOVING}*"):
        shutil.rmtree(left, ignore_errors=True)
    return removed


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    """Hold the folder's lock file. One that was removed while we waited for it locks nothing: take the new
    one.
    """
    while True:
        with _lock_file(folder).open("w") as handle:
            fcntl.flock(handle, how)
            if _is_in_place(handle, _lock_file(folder)):
                yield
                return


def _lock_file(folder: Path) -> Path:
    return folder.with_suffix(".lock")


def _is_in_place(handle: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except FileNotFoundError:
        return False
