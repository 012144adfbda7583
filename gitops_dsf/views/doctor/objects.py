"""Reads objects of a hub that have no model of ours: names, conditions, containers, versions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from packaging.version import InvalidVersion, Version

HubObject = Mapping[str, Any]
"""An object as the API server sends it."""
VERSION_LABEL: Final = "app.kubernetes.io/version"


def name_of(hub_object: HubObject) -> str:
    return str(hub_object["metadata"]["name"])


def namespace_of(hub_object: HubObject) -> str:
    return str(hub_object["metadata"].get("namespace") or "")


def key_of(hub_object: HubObject) -> str:
    """The `namespace/name` of an object."""
    return f"{namespace_of(hub_object)}/{name_of(hub_object)}"


def condition(hub_object: HubObject, kind: str) -> HubObject | None:
    """The condition of a type; None if the object does not have it."""
    conditions: Sequence[HubObject] = (hub_object.get("status") or {}).get("conditions") or ()
    for candidate in conditions:
        if candidate.get("type") == kind:
            return candidate
    return None


def containers_of(workload: HubObject) -> Sequence[HubObject]:
    """The containers of a Deployment or StatefulSet, without init containers."""
    # Objects are read as they are, and the API server leaves out what is empty.
    pod = ((workload.get("spec") or {}).get("template") or {}).get("spec") or {}
    return pod.get("containers") or ()


def images_of(workload: HubObject) -> dict[str, str]:
    """The tags of a workload's images, by the image without tag and digest."""
    tags: dict[str, str] = {}
    for container in containers_of(workload):
        name = str(container.get("image") or "").partition("@")[0]
        # The colon of a registry's port begins no tag.
        registry, slash, last = name.rpartition("/")
        repository, _, tag = last.partition(":")
        tags[f"{registry}{slash}{repository}"] = tag
    return tags


def version_of(workload: HubObject) -> Version | None:
    """The oldest version of a workload, from its images; from its label if they have digests."""
    versions: list[Version] = []
    for tag in images_of(workload).values():
        parsed = _parsed(tag)
        if parsed is not None:
            versions.append(parsed)
    if versions:
        return min(versions)
    # Installations that pin images by digest have no tags, and the label may be right.
    labels = workload["metadata"].get("labels") or {}
    return _parsed(str(labels.get(VERSION_LABEL, "")))


def is_true(text: str) -> bool:
    """Whether a flag or setting of a program in Go is on.

    strconv.ParseBool reads them, so `1` and `t` mean true, too.
    """
    return text.lower() in {"true", "1", "t"}


def versions_of(workloads: Iterable[HubObject]) -> dict[str, Version]:
    """The versions of those workloads that have one, by name."""
    versions: dict[str, Version] = {}
    for workload in workloads:
        version = version_of(workload)
        if version is not None:
            versions[name_of(workload)] = version
    return versions


def _parsed(text: str) -> Version | None:
    """The version in a text, such as `v3.3.9`.

    Distributions add a suffix to upstream's version, as `v3.3.9-rhel9`, which is left out.
    """
    for part in (text, text.partition("-")[0]):
        try:
            return Version(part)
        except InvalidVersion:
            continue
    return None
