"""Reads plain dicts, such as the output of a YAML or JSON parser, as typed objects, and completes those from
git as a hub does when they are created: defaults of the Placement CRD, and OCM's cluster set label.

The zero values of the scheduler's Go code differ: without the defaults, an omitted weight would be 0, and a
coordinate without a type an add-on. A ManagedCluster without a set joins `default` (registration webhook,
gate DefaultClusterSet, on by default). Objects from a hub already have both.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

import msgspec

from gitops_dsf.hub.metadata import problem_of
from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.hub.objects import (
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
    Placement,
    PlacementDecision,
)
from gitops_dsf.hub.scores import AddOnPlacementScore


class SimulatorInputError(ValueError):
    """The objects passed to the simulator cannot be objects of a hub.

    The message names the object, the field and what was expected. It is raised before scheduling, so a
    verdict is never based on partly read input.
    """


HubObject = (
    Placement
    | ManagedCluster
    | ManagedClusterSet
    | ManagedClusterSetBinding
    | AddOnPlacementScore
    | PlacementDecision
)

KINDS: Mapping[str, type[HubObject]] = {kind.__name__: kind for kind in get_args(HubObject)}


def describe(document: Mapping[str, Any], position: int) -> str:
    """Names a document in a message: its position in the list, and kind and name if they can be read."""
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping) or not metadata.get("name"):
        return f"objects[{position}]"
    namespace = metadata.get("namespace")
    name = f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
    return f"objects[{position}] ({document.get('kind', 'no kind')} {name})"


def flatten(documents: object) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yields every document with its position. Expands `kind: List`, which `kubectl get -o json` prints."""
    if isinstance(documents, (str, bytes, Mapping)) or not hasattr(documents, "__iter__"):
        raise SimulatorInputError(
            f"objects must be a list of Kubernetes objects as dicts, not {type(documents).__name__}; parse"
            " files first"
        )
    for position, document in enumerate(documents):
        if not isinstance(
            document, (dict, Mapping)
        ):  # dict first: the check for the abstract class is slow
            raise SimulatorInputError(
                f"objects[{position}] is {type(document).__name__}, not a dict; give one dict per Kubernetes"
                " object"
            )
        if document.get("kind") == "List":
            for _, item in flatten(document.get("items") or ()):
                yield position, item
        else:
            yield position, document


def read(document: Mapping[str, Any], position: int) -> HubObject:
    """Converts one document. Raises SimulatorInputError: unknown kind, no name or namespace, wrong type."""
    kind = document.get("kind")
    model = KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        shown = f"kind {kind!r}" if kind is not None else "no kind"
        raise SimulatorInputError(
            f"{describe(document, position)} has {shown}; the simulator reads {', '.join(sorted(KINDS))}"
        )
    try:
        item: HubObject = msgspec.convert(document, model)
    except msgspec.ValidationError as error:
        raise SimulatorInputError(f"{describe(document, position)}: {problem_of(error)}") from error
    if not isinstance(item, (ManagedCluster, ManagedClusterSet)) and not item.metadata.namespace:
        raise SimulatorInputError(f"{describe(document, position)} needs metadata.namespace")
    return item


Object = Mapping[str, Any]
DEFAULT_SET = "default"


def with_defaults(objects: Iterable[Object]) -> list[Object]:
    """Copies as the hub would store them. Raises SimulatorInputError for parts that are of another shape."""
    return [_filled(document) for document in objects]


def _filled(document: Object) -> Object:
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind == "Placement":
        return _placement(document)
    return _cluster(document) if kind == "ManagedCluster" else document


def _cluster(document: Object) -> Object:
    metadata = document.get("metadata")
    labels = (metadata.get("labels") or {}) if isinstance(metadata, Mapping) else None
    if (
        not isinstance(metadata, Mapping)
        or not isinstance(labels, Mapping)
        or labels.get(CLUSTER_SET_LABEL)
    ):
        return document  # reported when it is read
    return {
        **document,
        "metadata": {**metadata, "labels": {**labels, CLUSTER_SET_LABEL: DEFAULT_SET}},
    }


def _placement(document: Object) -> Object:
    try:
        spec = {**(document.get("spec") or {})}
        if spec.get("prioritizerPolicy") is not None:
            spec["prioritizerPolicy"] = _policy(spec["prioritizerPolicy"])
        if spec.get("tolerations"):
            spec["tolerations"] = [
                {"operator": "Equal", **_present(found)} for found in spec["tolerations"]
            ]
        strategy = spec.get("decisionStrategy") or {}
        if strategy.get("groupStrategy") is not None:
            groups = {"clustersPerDecisionGroup": "100%", **_present(strategy["groupStrategy"])}
            spec["decisionStrategy"] = {**strategy, "groupStrategy": groups}
    except (TypeError, AttributeError) as error:
        metadata = document.get("metadata")
        raise SimulatorInputError(
            f"Placement {metadata!r}: spec is not shaped as a Placement's: {error}; compare it with the"
            " Placement CRD"
        ) from error
    return {**document, "spec": spec}


def _policy(policy: Object) -> Object:
    filled = {"mode": "Additive", **_present(policy)}
    if filled.get("configurations"):
        filled["configurations"] = [_configuration(found) for found in filled["configurations"]]
    return filled


def _configuration(configuration: Object) -> Object:
    filled = {"weight": 1, **_present(configuration)}
    if filled.get("scoreCoordinate") is not None:
        filled["scoreCoordinate"] = {"type": "BuiltIn", **_present(filled["scoreCoordinate"])}
    return filled


def _present(mapping: Object) -> dict[str, Any]:
    """Removes nulls, as the API server does before it applies defaults."""
    return {key: value for key, value in mapping.items() if value is not None}
