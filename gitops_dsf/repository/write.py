"""Reads and writes authored files of a repository. Files are replaced by a rename, never half written."""

import contextlib
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from gitops_dsf.errors import RepositoryError

_NEW_FILE_MODE: Final = 0o644


def read_text(root: Path, file: str) -> str:
    """The text of a file, by path relative to the repository. Line breaks stay. Raises RepositoryError."""
    try:
        return (root / file).read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise RepositoryError(f"{file} cannot be read: {error}") from error


def write_files(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Writes files by path relative to the repository. Creates missing folders.

    Raises RepositoryError when a file cannot be written or a symbolic link leads out of the repository. Files
    that were written before the error stay.
    """
    inside = root.resolve()
    for file, content in sorted(files.items()):
        path = root / file
        if not path.resolve().is_relative_to(inside):
            raise RepositoryError(f"{file} leads out of the repository; replace the symbolic link")
        write_file(path, content)


def remove_files(root: Path, files: Iterable[str]) -> None:
    """Removes files by path relative to the repository. One that is gone already is no error.

    Raises RepositoryError when a file cannot be removed.
    """
    for file in sorted(files):
        try:
            (root / file).unlink(missing_ok=True)
        except OSError as error:
            raise RepositoryError(f"{file} cannot be removed: {error.strerror or error}") from error


def write_file(path: Path, content: str | bytes) -> None:
    """Writes one file, or the file that a symbolic link points to. An existing file keeps its mode.

    Raises RepositoryError when it cannot be written; then it is unchanged.
    """
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o7777 if target.exists() else _NEW_FILE_MODE
        _replace(target, content.encode() if isinstance(content, str) else content, mode)
    except OSError as error:
        raise RepositoryError(f"{path} cannot be written: {error.strerror or error}") from error


def _replace(target: Path, content: bytes, mode: int) -> None:
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:80]}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink(missing_ok=True)
        raise
