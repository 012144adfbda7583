"""Reads saved answers of `/api/v1/query_range`, bounded in bytes."""

import gzip
import zlib
from pathlib import Path
from typing import Final

from gitops_dsf.metricstore.answer import Answer, StoreError, read

MOST_BYTES: Final = 512 << 20
"""Of all files together, unpacked."""


def read_path(path: Path) -> tuple[Answer, ...]:
    """Reads a file, or the files `*.json` and `*.json.gz` of a folder. Raises StoreError."""
    files = sorted([*path.glob("*.json"), *path.glob("*.json.gz")]) if path.is_dir() else [path]
    if not files:
        msg = f"{path} has no file *.json or *.json.gz; save answers of /api/v1/query_range there"
        raise StoreError(msg)
    _refuse_beyond(MOST_BYTES, sum(file.stat().st_size for file in files if file.is_file()), path)
    room = MOST_BYTES
    found = []
    for file in files:
        content = _content(file, most=room)
        room -= len(content)
        found.append(read(content, where=str(file)))
    return tuple(found)


def _content(file: Path, *, most: int) -> bytes:
    if not file.is_file():
        msg = f"{file} is not a file; write a file or folder with answers of /api/v1/query_range"
        raise StoreError(msg)
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            content: bytes = stream.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        msg = f"cannot read {file}: {error}"
        raise StoreError(msg) from error
    _refuse_beyond(most, len(content), file)
    return content


def _refuse_beyond(most: int, size: int, path: Path) -> None:
    if size > most:
        limit = f"{MOST_BYTES >> 20} MiB"
        msg = f"{path}: the history has more than {limit}; ask the store with --prometheus instead"
        raise StoreError(msg)
