"""Converts models to JSON Schema, with docstrings as descriptions of fields, and to structural OpenAPI v3
schemas, the only form that apiextensions.k8s.io/v1 accepts.

Structural means: a type everywhere, no references, no alternatives, no additionalProperties beside properties
(Kubernetes documentation, "Extend the Kubernetes API with CustomResourceDefinitions", section "Specifying a
structural schema").
"""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from gitops_dsf.repository.model.base import Schema, rules_of
from gitops_dsf.repository.model.field_model import field_docs, unwrapped


class _Described(GenerateJsonSchema):
    def model_schema(self, schema: ModelSchema) -> dict[str, Any]:
        result = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        if "description" in result:
            result["description"] = unwrapped(result["description"])
        for name, text in field_docs(model).items():
            field = model.model_fields[name]
            if not _says(field.annotation, text):
                result["properties"][field.alias or name]["description"] = text
        return result


def _says(annotation: Any, text: str) -> bool:  # noqa: ANN401 - any annotation
    """Whether the field refers to a model with the same description, which a reference does not repeat."""
    return (
        isinstance(annotation, type)
        and issubclass(annotation, BaseModel)
        and unwrapped(annotation.__doc__) == text
    )


def json_schema(model: type[BaseModel]) -> Schema:
    """The JSON Schema of a model, with field names as people write them."""
    return model.model_json_schema(by_alias=True, schema_generator=_Described)


_KEPT = (
    "type format description enum pattern minimum maximum minLength maxLength minItems maxItems"
    " x-kubernetes-list-type x-kubernetes-list-map-keys"
)
_ATOMIC_MAPS = frozenset({"KeyRef", "LabelSelector"})
"""Models that Kubernetes' own kinds merge as one value: LabelSelector and the key selectors of core/v1."""
_NO_DEFAULTS = frozenset({"LabelSelector", "Requirement"})
"""Kubernetes stores selectors without defaults."""


def structural(model: type[BaseModel]) -> Schema:
    """The structural schema of a model. References are inlined, and "or null" means optional."""
    whole = json_schema(model)
    return _convert(whole, whole.get("$defs", {}))


def _convert(node: Schema, definitions: Schema) -> Schema:
    node, model = _inlined(node, definitions)
    if "const" in node:
        node = {**node, "enum": [node["const"]]}
    result = {key: node[key] for key in _KEPT.split() if key in node}
    if node["type"] == "object":
        result |= _object(node, definitions, model=model)
    elif node["type"] == "array":
        result["items"] = _convert(node["items"], definitions)
        result.setdefault("x-kubernetes-list-type", "atomic")
    return result


def _object(node: Schema, definitions: Schema, *, model: str) -> Schema:
    extra = node.get("additionalProperties")
    if "properties" not in node:
        if isinstance(extra, dict):
            return {"additionalProperties": _convert(extra, definitions)}
        if extra is True:
            return {"x-kubernetes-preserve-unknown-fields": True}
        return {}
    result: Schema = {}
    properties: Schema = {}
    for name, child in node["properties"].items():
        properties[name] = converted = _convert(child, definitions)
        if model not in _NO_DEFAULTS:
            default = _default(child, converted)
            if default is not None:
                converted["default"] = default
    result["properties"] = properties
    if node.get("required"):
        result["required"] = sorted(node["required"])
    if model in _ATOMIC_MAPS:
        result["x-kubernetes-map-type"] = "atomic"
    rules = [{"rule": rule.cel, "message": rule.message} for rule in rules_of(model) if rule.cel]
    if rules:
        result["x-kubernetes-validations"] = rules
    return result


def _default(child: Schema, converted: Schema) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The default to store. "Not set" (null, empty) is none, and fields of objects have their own."""
    default = child.get("default")
    if default is None or default in ("", []):
        return None
    if isinstance(default, dict):
        fields: Schema = converted.get("properties", {})
        return {} if any("default" in field for field in fields.values()) else None
    return default


def _inlined(node: Schema, definitions: Schema) -> tuple[Schema, str]:
    """Replaces a reference or "or null" in a node. Also returns the name of the model, if the node is one."""
    outer = {key: value for key, value in node.items() if key not in {"$ref", "anyOf", "$defs"}}
    if "anyOf" in node:
        # A stored field has one type.
        [choice] = (choice for choice in node["anyOf"] if choice.get("type") != "null")
        inner, model = _inlined(choice, definitions)
        return {**inner, **outer}, model
    if "$ref" in node:
        target = definitions[node["$ref"].removeprefix("#/$defs/")]
        return {**target, **outer}, target.get("title", "")
    return outer, outer.get("title", "") if "properties" in outer else ""
