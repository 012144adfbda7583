"""Reads a history from files that hold saved answers of `/api/v1/query_range`."""

import gzip
import zlib
from pathlib import Path
from typing import Final

from gitops_dsf.metricstore.answer import Matrix, read
from gitops_dsf.metricstore.errors import StoreError

MAX_BYTES: Final = 512 << 20
"""Upper limit for all files together, unpacked: the history is kept in memory."""


def read_path(path: Path) -> tuple[Matrix, ...]:
    """Reads a file, or the files `*.json` and `*.json.gz` of a folder. Raises StoreError."""
    files = [path]
    if path.is_dir():
        files = sorted([*path.glob("*.json"), *path.glob("*.json.gz")])
    if not files:
        raise StoreError(
            f"{path} has no file *.json or *.json.gz; save answers of /api/v1/query_range there"
        )
    # The sizes on disk are looked at first, so that too many files are not read in vain.
    _check_size(path, sum(file.stat().st_size for file in files if file.is_file()), room=MAX_BYTES)
    room = MAX_BYTES
    matrices: list[Matrix] = []
    for file in files:
        content = _content(file, room=room)
        room -= len(content)
        matrices.append(read(content, where=str(file)))
    return tuple(matrices)


def _content(file: Path, *, room: int) -> bytes:
    """The unpacked content of a file. Raises StoreError."""
    if not file.is_file():
        raise StoreError(
            f"{file} is not a file; write a file or folder with answers of /api/v1/query_range"
        )
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            # A small file may unpack to any size. One more byte shows that it is too large.
            content: bytes = stream.read(room + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise StoreError(f"cannot read {file}: {error}") from error
    _check_size(file, len(content), room=room)
    return content


def _check_size(path: Path, size: int, *, room: int) -> None:
    if size > room:
        raise StoreError(
            f"{path}: the history has more than {MAX_BYTES >> 20} MiB; ask the store with"
            " --prometheus instead"
        )
