"""OCM's own CEL functions: scores() and parseJSON() (sdk-go/pkg/cel/library/{managedcluster,json}.go)."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from gitops_dsf.hub.scores import Scores
from gitops_dsf.simulator.cel.function import CelFailure, CelUnsupported, Function, method

_SURROGATE = re.compile("[\\ud800-\\udfff]")
DEEPEST_JSON = 200
"""JSON that is nested deeper is not passed to the parser."""


def score_functions(scores: Scores) -> tuple[Function, ...]:
    """scores() reads the hub's AddOnPlacementScores. Like OCM, it ignores validUntil."""

    def read(cluster: Mapping[str, Any], resource: str) -> list[dict[str, str | int]]:
        metadata = cluster.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        if not isinstance(name, str):
            raise CelFailure("failed to get cluster name")
        found = scores.get(resource, {}).get(name)
        if found is None:
            raise CelFailure(f'addonplacementscores "{resource}" not found in namespace {name}')
        return [{"name": name, "value": value} for name, value in found.items()]

    return (
        # For the checker it returns dyn, as OCM declares it. The evaluator can only bind maps, and OCM fails
        # on other types.
        method("scores", read, ("dyn", "string", "list(dyn)")),
        method("parseJSON", parse_json, ("string", "dyn")),
    )


def parse_json(text: str) -> object:
    """json.Unmarshal into an interface: every number is a double."""
    if text.count("[") + text.count("{") > DEEPEST_JSON:
        raise CelUnsupported(f"parseJSON of a text with more than {DEEPEST_JSON} brackets")
    try:
        parsed: object = json.loads(text, parse_int=_finite, parse_float=_finite, parse_constant=_refuse)
    except ValueError as error:
        raise CelFailure(f"failed to parse json: {error}") from error
    if "\\u" in text and _SURROGATE.search(json.dumps(parsed, ensure_ascii=False)):
        raise CelUnsupported("parseJSON of half a surrogate pair")
    return parsed


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise ValueError(f"{number} is out of range")
    return value


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
