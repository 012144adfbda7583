"""Common parts of rendered objects: metadata, labels, sync waves, and the files of manifests/.

Objects that hardly vary are YAML documents in manifests/, as Kubernetes shows them. `filled` puts
values into them.
"""

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from dsf_wire.text import printable_json
from gitops_dsf.hub.names import PART_OF_LABEL, SYNC_WAVE
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.model.agent import Agent, HubScorer
from gitops_dsf.repository.model.reconciler import Reconciler

Object = dict[str, Any]

SYNC_OPTIONS = "argocd.argoproj.io/sync-options"

_MANIFESTS: Final = Path(__file__).with_name("manifests")
_HOLE: Final = re.compile(r"\$\{(\w+)\}")


class Wave(IntEnum):
    """Argo CD sync waves. A wave starts when the objects of earlier waves are Healthy."""

    # A wave that fails holds back all later ones. So objects that others depend on come first, and
    # those that may be refused, because a namespace of another owner is missing, come last.

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
    all_annotations = dict(annotations or {})
    # Wave 0 is Argo CD's default.
    if wave:
        all_annotations[SYNC_WAVE] = str(int(wave))
    if sync_options:
        all_annotations[SYNC_OPTIONS] = sync_options
    all_labels = dict(labels or {})
    all_labels[MANAGED_BY_LABEL] = GENERATOR_MANAGER
    all_labels[PART_OF_LABEL] = "gitops-dsf"
    rendered: Object = {"name": name}
    if namespace is not None:
        rendered["namespace"] = namespace
    rendered["labels"] = dict(sorted(all_labels.items()))
    if all_annotations:
        rendered["annotations"] = dict(sorted(all_annotations.items()))
    return rendered


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


def lines_of_json(content: object) -> str:
    """The text of a ConfigMap's key: JSON with a line for each field and item.

    So a diff shows which of them changed. Texts of others cannot control a terminal.
    """
    compact = msgspec.json.encode(content)
    return printable_json(msgspec.json.format(compact, indent=2).decode())


def rule(group: str, resource: str, *, verbs: Sequence[str], names: Sequence[str] = ()) -> Object:
    """A rule of a role; with names, it is about these objects alone."""
    rendered: Object = {"apiGroups": [group], "resources": [resource]}
    if names:
        rendered["resourceNames"] = list(names)
    rendered["verbs"] = list(verbs)
    return rendered


def pod_values(settings: Agent | HubScorer | Reconciler, *, image: str) -> Object:
    """The values that fill the manifest of a pod."""
    tolerations = [toleration.model_dump(exclude_unset=True) for toleration in settings.tolerations]
    return {
        "image": image,
        "pull_policy": settings.image_pull_policy,
        "pull_secrets": [{"name": name} for name in settings.image_pull_secrets] or None,
        "node_selector": settings.node_selector,
        "tolerations": tolerations,
        "requests": settings.resources.requests,
        "limits": settings.resources.limits,
    }


def prometheus_log_format(settings: Agent) -> str:
    """The name that Prometheus has for the agent's log format, in pods that belong to the agent."""
    return "json" if settings.log_format == "json" else "logfmt"


def filled(file: str, **values: Any) -> list[Object]:  # noqa: ANN401 - plain data
    """The objects of a file of manifests/, with our labels.

    `${name}` alone becomes the value of that name, and inside a text its text. Where the value
    is None the field or item goes. A list as an item becomes items.

    The objects share what has no hole, so nothing inside of them may be changed.
    """
    objects: list[Object] = []
    for template in _templates(file):
        rendered = _filled_mapping(template, values)
        # A file may hold another thing than objects, such as the configuration of a receiver.
        if "metadata" in rendered:
            rendered["metadata"] = metadata(**rendered["metadata"])
        objects.append(rendered)
    return objects


class _Fixed(NamedTuple):
    """A part of a template without a hole. It is the same in all objects."""

    content: Any


@cache
def _templates(file: str) -> Sequence[Mapping[str, Any]]:
    """The documents of a file, in which every part without a hole is marked.

    Most parts have none, and a fleet fills in the same files many times.
    """
    loaded = load_text((_MANIFESTS / file).read_text("utf-8"), file=file)
    if loaded.diagnostics:
        raise ValueError(loaded.diagnostics)
    templates = []
    for document in loaded.documents:
        templates.append({key: _marked(value) for key, value in document.data.items()})
    return templates


def _marked(value: Any) -> Any:  # noqa: ANN401 - plain data
    """The value as `_Fixed` if it has no hole, else with its parts marked."""
    if isinstance(value, dict):
        marked: Any = {key: _marked(part) for key, part in value.items()}
        parts = marked.values()
    elif isinstance(value, list):
        marked = parts = list(map(_marked, value))
    elif isinstance(value, str) and _HOLE.search(value):
        return value
    else:
        return _Fixed(value)
    if all(isinstance(part, _Fixed) for part in parts):
        return _Fixed(_filled(marked, {}))
    return marked


def _filled(value: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - plain data
    if isinstance(value, _Fixed):
        return value.content
    if isinstance(value, dict):
        return _filled_mapping(value, values)
    if isinstance(value, list):
        return _filled_list(value, values)
    if not isinstance(value, str):
        return value
    alone = _HOLE.fullmatch(value)
    if alone:
        return values[alone[1]]
    return _HOLE.sub(lambda hole: str(values[hole[1]]), value)


def _filled_mapping(mapping: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    rendered: dict[str, Any] = {}
    for key, value in mapping.items():
        new = _filled(value, values)
        if new is not None:
            rendered[key] = new
    return rendered


def _filled_list(sequence: Sequence[Any], values: Mapping[str, Any]) -> list[Any]:
    rendered: list[Any] = []
    for value in sequence:
        new = _filled(value, values)
        if isinstance(new, list):
            rendered += new
        elif new is not None:
            rendered.append(new)
    return rendered
