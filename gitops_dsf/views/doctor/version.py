"""Versions in image tags and labels."""

from collections.abc import Mapping
from typing import Any, Final

from packaging.version import InvalidVersion, Version

VERSION_LABEL: Final = "app.kubernetes.io/version"


def images_of(workload: Mapping[str, Any]) -> dict[str, str]:
    """The images of a Deployment's or StatefulSet's containers, without tag and digest, with their tags."""
    pod = ((workload.get("spec") or {}).get("template") or {}).get("spec") or {}
    found = {}
    for container in pod.get("containers") or ():
        name = str(container.get("image") or "").partition("@")[0]
        registry, slash, last = name.rpartition("/")
        repository, _, tag = last.partition(":")
        found[f"{registry}{slash}{repository}"] = tag
    return found


def version_of(workload: Mapping[str, Any]) -> Version | None:
    """The oldest version of a Deployment or StatefulSet: from its images, or from its label if the images
    have digests. None if neither tells one.
    """
    label = str((workload["metadata"].get("labels") or {}).get(VERSION_LABEL, ""))
    found = [version for tag in images_of(workload).values() if (version := _read(tag)) is not None]
    return min(found, default=None) or _read(label)


def _read(text: str) -> Version | None:
    for part in (text, text.partition("-")[0]):
        try:
            return Version(part)
        except InvalidVersion:
            continue
    return None
