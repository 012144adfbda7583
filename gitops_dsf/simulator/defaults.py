"""What an API server fills into a Placement when it is created (defaults of the Placement CRD).

The scheduler's own Go code has other zero values: without these, a weight that was left out would be 0 and a
coordinate without a type an add-on. Manifests from git need them before they are simulated; objects from a hub have
them already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitops_dsf.simulator.errors import SimulatorInputError

Object = Mapping[str, Any]


def with_defaults(objects: Iterable[Object]) -> list[Object]:
    """The objects with every Placement as the API server would store it; the input is not changed.

    Raises:
        SimulatorInputError: a Placement whose parts are not mappings and lists.
    """
    return [_placement(document) if _is_placement(document) else document for document in objects]


def _is_placement(document: object) -> bool:
    return isinstance(document, Mapping) and document.get("kind") == "Placement"


def _placement(document: Object) -> Object:
    try:
        spec = {**(document.get("spec") or {})}
        if spec.get("prioritizerPolicy") is not None:
            spec["prioritizerPolicy"] = _policy(spec["prioritizerPolicy"])
        if spec.get("tolerations"):
            spec["tolerations"] = [{"operator": "Equal", **_present(found)} for found in spec["tolerations"]]
        strategy = spec.get("decisionStrategy") or {}
        if strategy.get("groupStrategy") is not None:
            groups = {"clustersPerDecisionGroup": "100%", **_present(strategy["groupStrategy"])}
            spec["decisionStrategy"] = {**strategy, "groupStrategy": groups}
    except (TypeError, AttributeError) as error:
        metadata = document.get("metadata")
        raise SimulatorInputError(
            f"Placement {metadata!r}: spec is not shaped as a Placement's: {error}; compare it with the Placement CRD"
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
    """Without nulls, which the API server drops before it fills in defaults."""
    return {key: value for key, value in mapping.items() if value is not None}
