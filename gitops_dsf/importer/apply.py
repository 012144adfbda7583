"""Writing an import: each file whole, by temporary file and rename, and never outside of the repository."""

import contextlib
import os
from pathlib import Path

from gitops_dsf.errors import RepositoryError
from gitops_dsf.importer.result import Import


def apply(found: Import) -> None:
    """Writes every file that changes. Raises RepositoryError when one cannot be written; what was written by
    then is whole.
    """
    root = found.root.resolve()
    for file, text in found.files.items():
        path = found.root / file
        if not path.parent.resolve().is_relative_to(root) or (
            path.is_symlink() and not path.resolve().is_relative_to(root)
        ):
            msg = f"{file} leads out of the repository; replace the symbolic link"
            raise RepositoryError(msg)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path.resolve(), text)
        except OSError as error:
            msg = f"cannot write {error.filename or path}: {error.strerror or error}"
            raise RepositoryError(msg) from error


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name[:80]}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
