"""Reads snapshots from a file, a folder, or contents from git."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from gitops_dsf.hub.collect import Document, collect
from gitops_dsf.hub.snapshot import Snapshot, SnapshotError
from gitops_dsf.hubreader.documents import LIMITS, SUFFIXES, documents


def from_path(path: Path, *, resources: frozenset[str] | None = None) -> Snapshot:
    """Reads a file, or every YAML and JSON file below a folder. If `resources` is given, reads only scores
    with these names. Raises SnapshotError.
    """
    if path.is_dir():
        return collect(_folder(path), origin=str(path), resources=resources)
    return collect(documents(_content(path), file=str(path)), origin=str(path), resources=resources)


def from_contents(
    contents: Iterable[tuple[str, bytes]], *, origin: str, resources: frozenset[str] | None = None
) -> Snapshot:
    """Reads contents with their paths, one after another. If `resources` is given, reads only scores with
    these names. Raises SnapshotError.
    """
    found = (
        document
        for path, content in contents
        if path.endswith(SUFFIXES)
        for document in documents(content, file=path)
    )
    return collect(found, origin=origin, resources=resources)


def _folder(root: Path) -> Iterator[Document]:
    for where, folders, names in os.walk(root, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(SUFFIXES) and not name.startswith("."):
                path = Path(where, name)
                yield from documents(_content(path), file=str(path))


def _unreadable(error: OSError) -> None:
    msg = f"{error.filename} cannot be read: {error.strerror}"
    raise SnapshotError(msg) from error


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > LIMITS.file_bytes:
            msg = (
                f"{path} is larger than {LIMITS.file_bytes} bytes; split it into several files of one folder"
            )
            raise SnapshotError(msg)
        return path.read_bytes()
    except FileNotFoundError as error:
        msg = f"{path} does not exist; name a file or a folder with AddOnPlacementScores"
        raise SnapshotError(msg) from error
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or error}"
        raise SnapshotError(msg) from error
