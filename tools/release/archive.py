"""Archives with the same bytes for the same files: sorted, owned by root, at the time of the sources."""

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path


def files_below(folder: Path, prefix: str) -> dict[str, bytes]:
    """The files of a folder by their names in the archive."""
    return {
        f"{prefix}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def write(target: Path, files: Mapping[str, bytes], *, epoch: int) -> None:
    """Write a compressed tar."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), epoch, 0o644
            tar.addfile(entry, io.BytesIO(content))
    target.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
