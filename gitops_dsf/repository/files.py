"""Reads and writes single files of a repository.

A file is written to a temporary one and renamed, so that readers see the old or the new content.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gitops_dsf.errors import RepositoryError

_NEW_FILE_MODE: Final = 0o644


def read_text(root: Path, file: str) -> str:
    """The text of a file, by path relative to the repository.

    Line breaks stay. Raises RepositoryError.
    """
    try:
        return (root / file).read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise RepositoryError(f"{file} cannot be read: {error}") from error


def write_files(root: Path, files: Mapping[str, str | bytes | None]) -> None:
    """Writes files by path relative to the repository; None removes one that is there.

    Missing folders are created.

    Raises RepositoryError when a file cannot be written or a symbolic link leads out of the
    repository. Files that were written before the error stay.
    """
    inside = root.resolve()
    for file, content in sorted(files.items()):
        path = root / file
        # Links come from git, where anybody who can open a pull request can commit one.
        if not path.resolve().is_relative_to(inside):
            raise RepositoryError(f"{file} leads out of the repository; replace the symbolic link")
        if content is not None:
            write_file(path, content)
            continue
        try:
            path.unlink(missing_ok=True)
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
        # In the same folder, because a rename is atomic only within a file system. The name is
        # hidden, so the reader does not take the file for a source if the process is killed. It is
        # cut, because most file systems allow 255 bytes.
        descriptor, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name[:80]}.", suffix=".tmp"
        )
        new = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
            new.chmod(mode)  # mkstemp makes files that only their owner can read
            new.replace(target)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise RepositoryError(f"{path} cannot be written: {error.strerror or error}") from error
