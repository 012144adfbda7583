"""Lock files onto the disk: each whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gitops_dsf.errors import RepositoryError

_NEW_FILE_MODE: Final = 0o644


def write_locks(root: Path, files: Mapping[str, str]) -> None:
    """Writes each file by temporary file and rename. Raises RepositoryError; files before the one that failed
    are written.
    """
    for file, text in sorted(files.items()):
        target = (root / file).resolve()
        if not target.is_relative_to(root.resolve()):
            msg = f"{file} leads out of the repository; nothing is written there"
            raise RepositoryError(msg)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            mode = target.stat().st_mode & 0o7777 if target.exists() else _NEW_FILE_MODE
            _replace(target, text.encode(), mode)
        except OSError as error:
            msg = f"{file} cannot be written: {error.strerror or error}"
            raise RepositoryError(msg) from error


def _replace(target: Path, content: bytes, mode: int) -> None:
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink(missing_ok=True)
        raise
