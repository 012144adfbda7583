"""OCM's own CEL functions: scores() and parseJSON().

Source: pkg/cel/library/managedcluster.go and json.go of OCM's sdk-go v1.2.0, which OCM v1.2.1 uses.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from gitops_dsf.hub.scores import Scores
from gitops_dsf.simulator.cel.function import CelFailure, CelFunction, CelUnsupported, method

_SURROGATE = re.compile("[\\ud800-\\udfff]")

MAX_JSON_BRACKETS = 200
"""Text with more brackets is not passed to the parser, which recurses for each of them."""


def score_functions(scores: Scores) -> tuple[CelFunction, ...]:
    """The functions over the scores of a hub.

    scores() ignores validUntil, as OCM v1.2.1 does: a predicate still sees a score that has
    expired.
    """

    def read(cluster: Mapping[str, Any], resource: str) -> list[dict[str, str | int]]:
        metadata = cluster.get("metadata")
        if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
            raise CelFailure("failed to get cluster name")
        name = metadata["name"]
        items = scores.get(resource, {}).get(name)
        if items is None:
            raise CelFailure(f'addonplacementscores "{resource}" not found in namespace {name}')
        # OCM's documentation also names the key `quantity`, which its code does not have.
        return [{"name": name, "value": value} for name, value in items.items()]

    return (
        # OCM declares the parameter as dyn and fails on anything but a cluster. The evaluator can
        # bind only maps, which has the same effect.
        method("scores", read, ("dyn", "string", "list(dyn)")),
        method("parseJSON", parse_json, ("string", "dyn")),
    )


def parse_json(text: str) -> object:
    """Parses JSON as Go's json.Unmarshal does into an interface: every number is a double.

    Raises CelFailure if it is not JSON, and CelUnsupported where Go would decide otherwise.
    """
    if text.count("[") + text.count("{") > MAX_JSON_BRACKETS:
        raise CelUnsupported(f"parseJSON of a text with more than {MAX_JSON_BRACKETS} brackets")
    try:
        parsed: object = json.loads(
            text, parse_int=_finite, parse_float=_finite, parse_constant=_refuse
        )
    except ValueError as error:
        raise CelFailure(f"failed to parse json: {error}") from error
    # Go replaces half a surrogate pair by U+FFFD, and Python keeps it.
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
