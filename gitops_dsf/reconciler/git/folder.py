"""Where a clone lives."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from gitops_dsf.errors import RepositoryError
from gitops_dsf.reconciler.settings import GitSettings


@contextlib.asynccontextmanager
async def work_folder(settings: GitSettings, name: str) -> AsyncIterator[Path]:
    """An empty folder for one duty: below --work-dir, or a temporary one. Gone afterwards. Raises
    RepositoryError.
    """
    folder = settings.work_dir / name if settings.work_dir else None
    try:
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix=f"gitops-dsf-{name}-"))
        else:
            # What a killed process left may be half-written.
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    except OSError as error:
        msg = (
            f"--work-dir {error.filename}: {error.strerror}; it must be a folder that this process may"
            " write to"
        )
        raise RepositoryError(msg) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
