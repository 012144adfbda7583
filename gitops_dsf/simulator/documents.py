"""Reads plain dicts, such as the output of a YAML or JSON parser, as typed objects of a hub."""

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


class SimulatorInputError(ValueError):
    """The objects passed to the simulator cannot be objects of a hub.

    The message names the object, the field and what was expected. It is raised before scheduling,
    so a verdict is never based on partly read input.
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
    """Names a document in a message by its position, and by kind and name if they can be read."""
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping) or not metadata.get("name"):
        return f"objects[{position}]"
    namespace = metadata.get("namespace")
    name = f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
    return f"objects[{position}] ({document.get('kind', 'no kind')} {name})"


def flatten(documents: object) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yields every document with its position.

    Expands `kind: List`, which `kubectl get -o json` prints.
    """
    if isinstance(documents, (str, bytes, Mapping)) or not hasattr(documents, "__iter__"):
        raise SimulatorInputError(
            "objects must be a list of Kubernetes objects as dicts, not"
            f" {type(documents).__name__}; parse files first"
        )
    for position, document in enumerate(documents):
        # dict comes first because the check for the abstract class is slow.
        if not isinstance(document, (dict, Mapping)):
            raise SimulatorInputError(
                f"objects[{position}] is {type(document).__name__}, not a dict; give one dict per"
                " Kubernetes object"
            )
        if document.get("kind") == "List":
            for _, listed in flatten(document.get("items") or ()):
                yield position, listed
        else:
            yield position, document


def read(document: Mapping[str, Any], position: int) -> HubObject:
    """Converts one document.

    Raises SimulatorInputError for an unknown kind, a missing name or namespace, or a wrong type.
    """
    kind = document.get("kind")
    if kind is None:
        raise SimulatorInputError(
            f"{describe(document, position)} has no kind; the simulator reads {_listed_kinds()}"
        )
    if not isinstance(kind, str) or kind not in KINDS:
        raise SimulatorInputError(
            f"{describe(document, position)} has kind {kind!r}; the simulator reads"
            f" {_listed_kinds()}"
        )
    try:
        typed: HubObject = msgspec.convert(document, KINDS[kind])
    except msgspec.ValidationError as error:
        raise SimulatorInputError(f"{describe(document, position)}: {problem_of(error)}") from error
    # No API server returns such an object, and under an empty namespace it would go unseen.
    if not isinstance(typed, ManagedCluster | ManagedClusterSet) and not typed.metadata.namespace:
        raise SimulatorInputError(f"{describe(document, position)} needs metadata.namespace")
    return typed


def _listed_kinds() -> str:
    return ", ".join(sorted(KINDS))
