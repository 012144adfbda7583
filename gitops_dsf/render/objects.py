"""What rendered objects have in common: metadata, labels and sync waves.

Objects that hardly vary are YAML documents in manifests/, as Kubernetes shows them, and are filled
in here.
"""

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.hub.names import PART_OF_LABEL, SYNC_WAVE
from gitops_dsf.repository.load import Document, load_text
from gitops_dsf.repository.model.reconciler import Reconciler
from gitops_dsf.repository.model.repository import Agent, HubScorer

Object = dict[str, Any]

SYNC_OPTIONS = "argocd.argoproj.io/sync-options"


class Wave(IntEnum):
    """Argo CD sync waves. A wave starts when the objects of earlier waves are Healthy."""

    CRDS = -20
    FOUNDATIONS = -15
    ADDON = -5
    SCORERS = 0
    BINDINGS = 0
    DECISIONS = 5


def metadata(
    *,
    name: str,
    namespace: str | None = None,
    wave: Wave | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    sync_options: str | None = None,
) -> Object:
    """Metadata with our labels. Labels and annotations are sorted, and empty ones left out."""
    notes = dict(annotations or {})
    if wave:
        notes[SYNC_WAVE] = str(int(wave))
    if sync_options:
        notes[SYNC_OPTIONS] = sync_options
    tags = {**(labels or {}), MANAGED_BY_LABEL: GENERATOR_MANAGER, PART_OF_LABEL: "gitops-dsf"}
    result: Object = {"name": name}
    if namespace is not None:
        result["namespace"] = namespace
    result["labels"] = dict(sorted(tags.items()))
    if notes:
        result["annotations"] = dict(sorted(notes.items()))
    return result


def config_map(
    name: str,
    data: Mapping[str, str],
    *,
    namespace: str,
    wave: Wave | None = None,
    labels: Mapping[str, str] | None = None,
) -> Object:
    """A ConfigMap with our labels."""
    meta = metadata(name=name, namespace=namespace, wave=wave, labels=labels)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": dict(data)}


def rule(group: str, resource: str, *, verbs: Sequence[str], names: Sequence[str] = ()) -> Object:
    """A rule of a role; with names, it is about these objects alone."""
    named = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": [resource], **named, "verbs": list(verbs)}


def pod_values(settings: Agent | HubScorer | Reconciler, *, image: str) -> Object:
    """What the manifest of a pod is filled in with."""
    return {
        "image": image,
        "pull_policy": settings.image_pull_policy,
        "pull_secrets": [{"name": name} for name in settings.image_pull_secrets] or None,
        "node_selector": settings.node_selector,
        "tolerations": [each.model_dump(exclude_unset=True) for each in settings.tolerations],
        "requests": settings.resources.requests,
        "limits": settings.resources.limits,
    }


_MANIFESTS: Final = Path(__file__).with_name("manifests")
_HOLE: Final = re.compile(r"\$\{(\w+)\}")


def filled(file: str, **values: Any) -> list[Object]:  # noqa: ANN401 - plain data
    """The objects of a file of manifests/, with our labels.

    `${name}` alone becomes the value of that name, and inside of a text its text. Where the value
    is None the field or item goes. A list as an item becomes items.
    """
    found: list[Object] = [_filled(document.data, values) for document in _documents(file)]
    return [
        {**item, "metadata": metadata(**item["metadata"])} if "metadata" in item else item
        for item in found
    ]


@cache
def _documents(file: str) -> Sequence[Document]:
    loaded = load_text((_MANIFESTS / file).read_text("utf-8"), file=file)
    if loaded.diagnostics:
        raise ValueError(loaded.diagnostics)
    return loaded.documents


def _filled(value: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - plain data
    if isinstance(value, dict):
        fields = ((key, _filled(item, values)) for key, item in value.items())
        return {key: item for key, item in fields if item is not None}
    if isinstance(value, list):
        items: list[Any] = []
        for item in value:
            new = _filled(item, values)
            items += [] if new is None else new if isinstance(new, list) else [new]
        return items
    if not isinstance(value, str):
        return value
    alone = _HOLE.fullmatch(value)
    return values[alone[1]] if alone else _HOLE.sub(lambda hole: str(values[hole[1]]), value)
