"""Completes objects from git as a hub does when they are created.

It fills in the defaults of the Placement CRD, and OCM's label for the cluster set `default` (OCM
v1.2.1: pkg/registration/webhook/v1/managedcluster_mutating.go, gate DefaultClusterSet, on by
default). Objects from a hub already have both. The zero values of the scheduler's Go code differ:
without the defaults, an omitted weight would be 0, and a coordinate without a type an add-on score.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.simulator.documents import SimulatorInputError

Manifest = Mapping[str, Any]

DEFAULT_SET = "default"
"""The cluster set of a ManagedCluster that names none."""


def with_defaults(objects: Iterable[Manifest]) -> list[Manifest]:
    """Copies of the objects as the hub would store them.

    Raises SimulatorInputError for parts that have another shape.
    """
    return list(map(_filled, objects))


def _filled(document: Manifest) -> Manifest:
    if not isinstance(document, dict):
        return document
    if document.get("kind") == "Placement":
        return _placement(document)
    if document.get("kind") == "ManagedCluster":
        return _cluster(document)
    return document


def _cluster(document: Manifest) -> Manifest:
    # Another shape than that of a ManagedCluster is reported when the document is read.
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping):
        return document
    labels = metadata.get("labels") or {}
    if not isinstance(labels, Mapping) or labels.get(CLUSTER_SET_LABEL):
        return document
    labels = {**labels, CLUSTER_SET_LABEL: DEFAULT_SET}
    return {**document, "metadata": {**metadata, "labels": labels}}


def _placement(document: Manifest) -> Manifest:
    try:
        spec = {**(document.get("spec") or {})}
        if spec.get("prioritizerPolicy") is not None:
            spec["prioritizerPolicy"] = _policy(spec["prioritizerPolicy"])
        if spec.get("tolerations"):
            tolerations: list[Manifest] = []
            for toleration in spec["tolerations"]:
                tolerations.append({"operator": "Equal", **_present(toleration)})
            spec["tolerations"] = tolerations
        strategy = spec.get("decisionStrategy") or {}
        if strategy.get("groupStrategy") is not None:
            groups = {"clustersPerDecisionGroup": "100%", **_present(strategy["groupStrategy"])}
            spec["decisionStrategy"] = {**strategy, "groupStrategy": groups}
    except (TypeError, AttributeError) as error:
        metadata = document.get("metadata")
        raise SimulatorInputError(
            f"Placement {metadata!r}: spec is not shaped as a Placement's: {error}; compare it with"
            " the Placement CRD"
        ) from error
    return {**document, "spec": spec}


def _policy(policy: Manifest) -> Manifest:
    filled = {"mode": "Additive", **_present(policy)}
    configurations = filled.get("configurations")
    if configurations:
        filled["configurations"] = list(map(_configuration, configurations))
    return filled


def _configuration(configuration: Manifest) -> Manifest:
    filled = {"weight": 1, **_present(configuration)}
    if filled.get("scoreCoordinate") is not None:
        filled["scoreCoordinate"] = {"type": "BuiltIn", **_present(filled["scoreCoordinate"])}
    return filled


def _present(mapping: Manifest) -> dict[str, Any]:
    """Removes nulls, as the API server does before it applies defaults."""
    return {key: value for key, value in mapping.items() if value is not None}
