"""An OCI image as an archive: layers, configuration, manifest and index, with nothing of the machine in it.

The same files give the same bytes: entries are sorted, belong to root, and have the time of the sources.
"""

import gzip
import hashlib
import io
import json
import stat
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
_INDEX: Final = "application/vnd.oci.image.index.v1+json"
_LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A compressed tar. `unpacked` is the size of the files in it."""

    content: bytes
    diff_id: str
    unpacked: int


def layer(root: Path, *, epoch: int) -> Layer:
    """Everything below `root`."""
    packed = io.BytesIO()
    unpacked = 0
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(root.rglob("*"), key=lambda path: path.relative_to(root).as_posix()):
            entry = tarfile.TarInfo(path.relative_to(root).as_posix())
            entry.mtime = epoch
            mode = path.lstat().st_mode
            if path.is_symlink():
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, str(path.readlink()), 0o777
                tar.addfile(entry)
            elif path.is_dir():
                entry.type, entry.mode = tarfile.DIRTYPE, stat.S_IMODE(mode) | 0o755
                tar.addfile(entry)
            else:
                content = path.read_bytes()
                unpacked += len(content)
                entry.size, entry.mode = len(content), 0o755 if mode & stat.S_IXUSR else 0o644
                tar.addfile(entry, io.BytesIO(content))
    plain = packed.getvalue()
    return Layer(content=gzip.compress(plain, mtime=0), diff_id=_digest(plain), unpacked=unpacked)


def write_archive(
    target: Path,
    *,
    layers: Sequence[Layer],
    config: Mapping[str, Any],
    architecture: str,
    created: str,
    epoch: int,
    reference: str,
) -> str:
    """Write the archive; the digest of the manifest, by which registries know the image."""
    blobs: dict[str, bytes] = {}

    def blob(content: bytes, kind: str) -> dict[str, Any]:
        digest = _digest(content)
        blobs[digest] = content
        return {"mediaType": kind, "digest": digest, "size": len(content)}

    image = {
        "architecture": architecture,
        "os": "linux",
        "created": created,
        "config": dict(config),
        "rootfs": {"type": "layers", "diff_ids": [one.diff_id for one in layers]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": blob(_json(image), _CONFIG),
        "layers": [blob(one.content, _LAYER) for one in layers],
    }
    entry = blob(_json(manifest), _MANIFEST)
    tagged = {**entry, "annotations": {"org.opencontainers.image.ref.name": reference}}
    files = {
        "index.json": _json({"schemaVersion": 2, "mediaType": _INDEX, "manifests": [tagged]}),
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        **{f"blobs/sha256/{digest.removeprefix('sha256:')}": content for digest, content in blobs.items()},
    }
    half = target.with_suffix(".partial")
    with tarfile.open(half, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in sorted(files.items()):
            file = tarfile.TarInfo(name)
            file.size, file.mtime, file.mode = len(content), epoch, 0o644
            tar.addfile(file, io.BytesIO(content))
    half.replace(target)
    return str(entry["digest"])


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
