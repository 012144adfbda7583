"""Converts plain dicts, such as the output of a YAML or JSON parser, to typed objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

import msgspec

from gitops_dsf.hub.metadata import problem_of
from gitops_dsf.hub.objects import (
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
    Placement,
    PlacementDecision,
)
from gitops_dsf.hub.scores import AddOnPlacementScore
from gitops_dsf.simulator.errors import SimulatorInputError

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
        if not isinstance(document, (dict, Mapping)):  # dict first: the check for the abstract class is slow
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
    """Converts one document.

    Raises:
        SimulatorInputError: a kind the scheduler does not read, a missing name or namespace, or a value
            of the wrong type.
    """
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
