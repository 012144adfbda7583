"""The ConfigMap volume of one cluster's agent, written from the rendered ManifestWork as OCM's work agent and
the kubelet would do.
"""

import itertools
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from dsf_wire.constants import CONFIGMAP_NAME

_NUMBERS: Final = itertools.count(1)
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def configmap_of(manifestwork: Path) -> dict[str, str]:
    """The data of the ConfigMap in a ManifestWork."""
    work = yaml.load(manifestwork.read_text("utf-8"), Loader=_LOADER)  # noqa: S506 - a safe loader, in C where there is one
    manifests = work["spec"]["workload"]["manifests"]
    (found,) = (one["data"] for one in manifests if one["metadata"]["name"] == CONFIGMAP_NAME)
    return dict(found)


class Volume:
    """A mounted directory: data in a folder of its own, `..data` a link to it, and files as links through
    `..data`.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._content: dict[str, str] = {}
        directory.mkdir(parents=True, exist_ok=True)

    def project(self, content: Mapping[str, str]) -> bool:
        """Replaces the content by one rename, so that a reader sees either all old or all new files. Returns
        False if nothing changed.
        """
        if dict(content) == self._content:
            return False
        fresh = self.directory / f"..v{next(_NUMBERS):06d}"
        fresh.mkdir()
        for name, text in content.items():
            (fresh / name).write_text(text, "utf-8")
        current = self.directory / "..data"
        old = current.readlink() if current.is_symlink() else None
        following = self.directory / "..data_tmp"
        following.symlink_to(fresh.name)
        following.replace(current)
        for name in content:
            visible = self.directory / name
            if not visible.is_symlink():
                visible.symlink_to(Path("..data") / name)
        for name in self._content.keys() - content.keys():
            (self.directory / name).unlink()
        if old is not None:
            shutil.rmtree(self.directory / old)
        self._content = dict(content)
        return True
