"""Reading objects of a hub that have no model of ours: names, conditions, containers, versions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from packaging.version import InvalidVersion, Version

HubObject = Mapping[str, Any]
"""An object as the API server sends it."""
VERSION_LABEL: Final = "app.kubernetes.io/version"


def name_of(item: HubObject) -> str:
    return str(item["metadata"]["name"])


def namespace_of(item: HubObject) -> str:
    return str(item["metadata"].get("namespace") or "")


def condition(item: HubObject, kind: str) -> HubObject | None:
    """Returns the condition of a type; None if the object does not have it."""
    conditions = (item.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == kind), None)


def containers_of(workload: HubObject) -> Sequence[HubObject]:
    """Returns the containers of a Deployment or StatefulSet, without init containers."""
    pod = ((workload.get("spec") or {}).get("template") or {}).get("spec") or {}
    return pod.get("containers") or ()


def images_of(workload: HubObject) -> dict[str, str]:
    """Returns the tags of a workload's images, by the image without tag and digest."""
    tags = {}
    for container in containers_of(workload):
        name = str(container.get("image") or "").partition("@")[0]
        registry, slash, last = name.rpartition("/")
        repository, _, tag = last.partition(":")
        tags[f"{registry}{slash}{repository}"] = tag
    return tags


def version_of(workload: HubObject) -> Version | None:
    """Returns the oldest version of a workload: from its images, or from its label if these have digests."""
    versions = []
    for tag in images_of(workload).values():
        parsed = _parsed(tag)
        if parsed is not None:
            versions.append(parsed)
    if versions:
        return min(versions)
    labels = workload["metadata"].get("labels") or {}
    return _parsed(str(labels.get(VERSION_LABEL, "")))


def versions_of(workloads: Iterable[HubObject]) -> dict[str, Version]:
    """Returns the versions of those workloads that have one, by name."""
    versions = {}
    for workload in workloads:
        version = version_of(workload)
        if version is not None:
            versions[name_of(workload)] = version
    return versions


def _parsed(text: str) -> Version | None:
    """Distributions add a suffix to upstream's version, as `v3.3.9-rhel9`, which is left out."""
    for part in (text, text.partition("-")[0]):
        try:
            return Version(part)
        except InvalidVersion:
            continue
    return None
