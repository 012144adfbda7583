"""Converts models to structural OpenAPI v3 schemas, the only form that apiextensions.k8s.io/v1 accepts.

Structural means: a type everywhere, no references, no alternatives, no additionalProperties beside properties
(Kubernetes documentation, "Extend the Kubernetes API with CustomResourceDefinitions", section "Specifying a
structural schema").
"""

from typing import Any

from pydantic import BaseModel

from gitops_dsf.schema.described import json_schema
from gitops_dsf.schema.rules import RULES, Schema

_KEPT = (
    "type",
    "format",
    "description",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
)
_ATOMIC_MAPS = frozenset({"KeyRef", "LabelSelector"})
"""Models that Kubernetes' own kinds merge as one value: LabelSelector and the key selectors of core/v1."""
_NO_DEFAULTS = frozenset({"LabelSelector", "Requirement"})
"""Kubernetes stores selectors without defaults."""


class NotStructuralError(TypeError):
    """A model contains something that a structural schema cannot express. The model has to change."""


def structural(model: type[BaseModel]) -> Schema:
    """The structural schema of a model. References are inlined, and "or null" means optional."""
    whole = json_schema(model)
    return _convert(whole, definitions=whole.get("$defs", {}), path=model.__name__)


def _convert(node: Schema, *, definitions: Schema, path: str) -> Schema:
    node, model = _inlined(node, definitions=definitions, path=path)
    if "const" in node:
        node = {**node, "enum": [node["const"]]}
    if "type" not in node:
        msg = f"{path}: no single type in {sorted(node)}"
        raise NotStructuralError(msg)
    result = {key: node[key] for key in _KEPT if key in node}
    match node["type"]:
        case "object":
            result |= _object(node, model=model, definitions=definitions, path=path)
        case "array":
            result["items"] = _convert(node["items"], definitions=definitions, path=f"{path}[]")
            result.setdefault("x-kubernetes-list-type", "atomic")
        case "string" | "integer" | "number" | "boolean":
            pass
        case other:
            msg = f"{path}: type {other} cannot be stored"
            raise NotStructuralError(msg)
    return result


def _object(node: Schema, *, model: str, definitions: Schema, path: str) -> Schema:
    extra = node.get("additionalProperties")
    if "properties" not in node:
        if isinstance(extra, dict):
            return {"additionalProperties": _convert(extra, definitions=definitions, path=f"{path}.*")}
        if extra is True:
            return {"x-kubernetes-preserve-unknown-fields": True}
        return {}
    result: Schema = {}
    properties: Schema = {}
    for name, child in node["properties"].items():
        properties[name] = converted = _convert(child, definitions=definitions, path=f"{path}.{name}")
        if model not in _NO_DEFAULTS:
            default = _default(child, converted)
            if default is not None:
                converted["default"] = default
    result["properties"] = properties
    if node.get("required"):
        result["required"] = sorted(node["required"])
    if model in _ATOMIC_MAPS:
        result["x-kubernetes-map-type"] = "atomic"
    rules = [{"rule": rule.cel, "message": rule.message} for rule in RULES.get(model, ()) if rule.cel]
    if rules:
        result["x-kubernetes-validations"] = rules
    return result


def _default(child: Schema, converted: Schema) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The default to store, or None. "Not set" (null, empty) is not stored. The fields of an object have
    their own defaults.
    """
    default = child.get("default")
    if default is None or default in ("", []):
        return None
    if isinstance(default, dict):
        fields: Schema = converted.get("properties", {})
        return {} if any("default" in field for field in fields.values()) else None
    return default


def _inlined(node: Schema, *, definitions: Schema, path: str) -> tuple[Schema, str]:
    """Replaces a reference or "or null" in a node. Also returns the name of the model, if the node is one."""
    outer = {key: value for key, value in node.items() if key not in {"$ref", "anyOf", "$defs"}}
    if "anyOf" in node:
        choices = [choice for choice in node["anyOf"] if choice.get("type") != "null"]
        if len(choices) != 1:
            msg = f"{path}: {len(choices)} alternatives; a stored field has one type"
            raise NotStructuralError(msg)
        inner, model = _inlined(choices[0], definitions=definitions, path=path)
        return {**inner, **outer}, model
    if "$ref" in node:
        target = definitions[node["$ref"].removeprefix("#/$defs/")]
        return {**target, **outer}, target.get("title", "")
    return outer, outer.get("title", "") if "properties" in outer else ""
