"""Versions in image tags and labels."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?([-+.].*)?")
VERSION_LABEL = "app.kubernetes.io/version"


@dataclass(frozen=True, order=True)
class Version:
    """major.minor.patch. A release candidate is older than its release."""

    major: int
    minor: int
    patch: int = 0
    final: bool = True

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Parses `v3.3.9`, `3.3.9-rc1` or `1.2`. Returns None for anything else, such as `latest`."""
        found = _VERSION.fullmatch(text)
        if found is None:
            return None
        suffix = found[4] or ""
        return cls(
            int(found[1]), int(found[2]), int(found[3] or 0), not re.match(r"-(?:rc|alpha|beta)", suffix)
        )

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}{'' if self.final else ' (not final)'}"


def tag_of(image: str) -> str:
    """The tag of an image; empty if it has none. A registry's port and a digest are no tags."""
    name = image.partition("@")[0].rpartition("/")[2]
    return name.partition(":")[2]


def repository_of(image: str) -> str:
    """An image without its tag and digest."""
    name = image.partition("@")[0]
    return name.removesuffix(f":{tag_of(name)}")


def images_of(workload: Mapping[str, Any]) -> list[str]:
    """The images of a Deployment's or StatefulSet's containers."""
    pod = ((workload.get("spec") or {}).get("template") or {}).get("spec") or {}
    return [str(container.get("image") or "") for container in pod.get("containers") or ()]


def versions_of(workload: Mapping[str, Any]) -> Iterator[Version]:
    """The versions of a Deployment or StatefulSet: from its images, or from its label if the images have
    digests.
    """
    tags = [tag_of(image) for image in images_of(workload)]
    found = [version for tag in tags if (version := Version.read(tag)) is not None]
    if not found:
        labelled = Version.read(str((workload["metadata"].get("labels") or {}).get(VERSION_LABEL, "")))
        found = [] if labelled is None else [labelled]
    yield from found
