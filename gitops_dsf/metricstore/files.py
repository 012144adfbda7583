"""Reads a history from files that hold saved answers of `/api/v1/query_range`."""

import gzip
import zlib
from pathlib import Path
from typing import Final

from gitops_dsf.metricstore.answer import Matrix, StoreError, read

MAX_BYTES: Final = 512 << 20
"""Of all files together, unpacked."""


def read_path(path: Path) -> tuple[Matrix, ...]:
    """Reads a file, or the files `*.json` and `*.json.gz` of a folder. Raises StoreError."""
    files = sorted([*path.glob("*.json"), *path.glob("*.json.gz")]) if path.is_dir() else [path]
    if not files:
        raise StoreError(
            f"{path} has no file *.json or *.json.gz; save answers of /api/v1/query_range there"
        )
    _check_size(MAX_BYTES, sum(file.stat().st_size for file in files if file.is_file()), path)
    room = MAX_BYTES
    matrices = []
    for file in files:
        content = _content(file, most=room)
        room -= len(content)
        matrices.append(read(content, where=str(file)))
    return tuple(matrices)


def _content(file: Path, *, most: int) -> bytes:
    if not file.is_file():
        raise StoreError(
            f"{file} is not a file; write a file or folder with answers of /api/v1/query_range"
        )
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            content: bytes = stream.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise StoreError(f"cannot read {file}: {error}") from error
    _check_size(most, len(content), file)
    return content


def _check_size(most: int, size: int, path: Path) -> None:
    if size > most:
        limit = f"{MAX_BYTES >> 20} MiB"
        msg = f"{path}: the history has more than {limit}; ask the store with --prometheus instead"
        raise StoreError(msg)
