"""Snapshots from files: one file, a folder, or texts that came out of git."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from gitops_dsf.snapshot.collect import collect
from gitops_dsf.snapshot.documents import LIMITS, SUFFIXES, HubDocument, documents
from gitops_dsf.snapshot.errors import SnapshotError
from gitops_dsf.snapshot.values import Snapshot


def from_path(path: Path) -> Snapshot:
    """A file, or every YAML and JSON file below a folder. Raises SnapshotError."""
    if path.is_dir():
        return collect(_folder(path), origin=str(path))
    return collect(documents(_text(path), file=str(path)), origin=str(path))


def from_texts(texts: Mapping[str, str], *, origin: str) -> Snapshot:
    """Files that are in memory, by path. Raises SnapshotError."""
    found = (document for path in sorted(texts) if path.endswith(SUFFIXES) for document in documents(texts[path], file=path))
    return collect(found, origin=origin)


def _folder(root: Path) -> Iterator[HubDocument]:
    for where, folders, names in os.walk(root, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(SUFFIXES) and not name.startswith("."):
                path = Path(where, name)
                yield from documents(_text(path), file=str(path))


def _unreadable(error: OSError) -> None:
    msg = f"{error.filename} cannot be read: {error.strerror}"
    raise SnapshotError(msg) from error


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LIMITS.file_bytes:
            msg = f"{path} is larger than {LIMITS.file_bytes} bytes; split it into several files of one folder"
            raise SnapshotError(msg)
        return path.read_text("utf-8-sig")
    except FileNotFoundError as error:
        msg = f"{path} does not exist; name a file or a folder with AddOnPlacementScores"
        raise SnapshotError(msg) from error
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or error}"
        raise SnapshotError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8"
        raise SnapshotError(msg) from error
