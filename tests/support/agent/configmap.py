"""A ConfigMap volume as the kubelet writes it: data in a dated directory, a symlink ``..data`` that is
replaced, and files as symlinks through it.
"""

import itertools
import json
import os
import shutil
from pathlib import Path
from typing import Any

_COUNTER = itertools.count()


class ConfigMapVolume:
    """One mounted directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def put(self, *entries: dict[str, Any]) -> None:
        """Replaces the content with these summaries."""
        self.swap({"summaries": json.dumps(entries, indent=2).encode()})

    def put_raw(self, content: bytes) -> None:
        self.swap({"summaries": content})

    def swap(self, files: dict[str, bytes]) -> None:
        """As the kubelet's AtomicWriter: a new directory, a link that is renamed to ``..data``."""
        fresh = self.directory / f"..2026_01_01_{next(_COUNTER):09d}"
        fresh.mkdir()
        for name, content in files.items():
            (fresh / name).write_bytes(content)
        link = self.directory / "..data"
        old = link.readlink() if link.is_symlink() else None
        temporary = self.directory / "..data_tmp"
        temporary.symlink_to(fresh.name)
        os.replace(temporary, link)  # noqa: PTH105 - the very call
        for name in files:
            visible = self.directory / name
            if not visible.is_symlink():
                visible.symlink_to(Path("..data") / name)
        for visible in self.directory.iterdir():
            if not visible.name.startswith("..") and visible.name not in files:
                visible.unlink()
        if old is not None:
            shutil.rmtree(self.directory / old)


def entry(name: str, *, scoring: str, source: str = "", **more: Any) -> dict[str, Any]:
    """A summary with the sixteen upstream keys and further ones."""
    plain = {
        "name": name,
        "scoreName": f"{name}-score",
        "sourceType": "Prometheus" if source else "None",
        "sourceEndpoint": f"{source}/api/v1/query_range" if source else "",
        "sourceEndpointAuthName": "",
        "sourceEndpointAuthKey": "",
        "sourceQuery": "up" if source else "",
        "sourceRange": 300 if source else 0,
        "sourceStep": 30 if source else 0,
        "scoringEndpoint": f"{scoring}/scoring",
        "scoringInterval": 30,
        "scoringEndpointAuthName": "",
        "scoringEndpointAuthKey": "",
        "location": "Internal",
        "scoreDestination": "AddOnPlacementScore",
        "scoreDimensionFormat": "${node}",
    }
    return {**plain, **more}
