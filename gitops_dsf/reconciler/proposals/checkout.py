"""The sources of the fleet as they stand in one commit of the protected branch, as files for the worker."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from gitops_dsf.reconciler.git import Cause, Clone, GitError
from gitops_dsf.repository.load import SETTINGS_FILE
from gitops_dsf.repository.load.discover import FOLDERS, SUFFIXES


class Checkout:
    """Owns a folder. `folder` in the repository is where gitops-dsf.yaml is, "" for its root."""

    def __init__(self, *, root: Path, folder: str) -> None:
        self.root = root
        self._prefix = f"{folder}/" if folder else ""

    async def take(self, clone: Clone, commit: str) -> None:
        """Replaces all files by those of a fetched commit: sources alone, never rendered/. Raises
        GitError.
        """
        files = await clone.read(commit, self._wanted)
        if f"{self._prefix}{SETTINGS_FILE}" not in files:
            msg = (
                f"the repository has no {self._prefix}{SETTINGS_FILE}; --git-path names the folder of the"
                " fleet in it"
            )
            raise GitError(Cause.MISSING, msg)
        self._write(files)

    def in_repository(self, file: str) -> str:
        """The path of a file of the fleet."""
        return f"{self._prefix}{file}"

    def _wanted(self, path: str) -> bool:
        if not path.startswith(self._prefix):
            return False
        parts = path.removeprefix(self._prefix).split("/")
        if not all(part.strip(".") and "\0" not in part for part in parts):
            return False
        return parts == [SETTINGS_FILE] or (
            len(parts) > 1 and parts[0] in FOLDERS and parts[-1].endswith(SUFFIXES)
        )

    def _write(self, files: Mapping[str, bytes]) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        for path, content in files.items():
            target = self.root / path.removeprefix(self._prefix)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            except OSError as error:
                msg = f"{path} cannot be written to the working folder: {error.strerror or error}"
                raise GitError(Cause.FAILED, msg) from error
