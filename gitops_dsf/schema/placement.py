"""The JSON Schema of a hand-written Placement's spec: OCM's CRD, and what an editor can check besides."""

from typing import Final

from gitops_dsf.argocd import fields
from gitops_dsf.hub.placements import BUILT_INS
from gitops_dsf.hub.selectors import OPERATORS
from gitops_dsf.resolve.rules.placements import UNREAD
from gitops_dsf.schema.rules import Schema

_BESIDES: Final[dict[str, Schema]] = {
    "matchExpressions.operator": {"enum": list(OPERATORS)},
    "prioritizerPolicy.mode": {"enum": ["Additive", "Exact"]},
    "scoreCoordinate.builtIn": {"enum": list(BUILT_INS)},
    "spec.numberOfClusters": {"minimum": 0},
}
"""What OCM's controllers say of a field, by the name of its object and its own."""


def placement_spec() -> Schema:
    """The schema of `spec` of a Placement."""
    found = _strict("spec", fields.placement_spec())
    return {**found, "properties": {**{name: {} for name in UNREAD}, **found["properties"]}}


def _strict(name: str, schema: Schema) -> Schema:
    """The same without fields that the schema does not name, which an API server drops."""
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"], "pattern": schema["pattern"]}
    if "items" in schema:
        return {**schema, "items": _strict(name, schema["items"])}
    if "properties" not in schema:
        return schema
    inside = {
        field: {**_strict(field, value), **_BESIDES.get(f"{name}.{field}", {})}
        for field, value in schema["properties"].items()
    }
    return {**schema, "properties": inside, "additionalProperties": False}
