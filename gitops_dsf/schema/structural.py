"""The structural schema of a model, the only form that a CustomResourceDefinition accepts.

A model becomes JSON Schema, with docstrings as descriptions of fields, and that a structural
OpenAPI v3 schema: a type everywhere, no references, no alternatives, no additionalProperties beside
properties (Kubernetes documentation, "Extend the Kubernetes API with CustomResourceDefinitions",
section "Specifying a structural schema").
"""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from gitops_dsf.repository.model.field_model import field_docs, unwrapped
from gitops_dsf.repository.model.field_rules import Schema, rules_of

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

# Models that Kubernetes' own kinds merge as one value: LabelSelector and the key selectors of
# core/v1.
_ATOMIC_MAPS = frozenset({"KeyRef", "LabelSelector"})

# Kubernetes stores selectors without defaults.
_NO_DEFAULTS = frozenset({"LabelSelector", "Requirement"})


class _Described(GenerateJsonSchema):
    def model_schema(self, schema: ModelSchema) -> dict[str, Any]:
        result = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        if "description" in result:
            result["description"] = unwrapped(result["description"])
        for name, text in field_docs(model).items():
            field = model.model_fields[name]
            if not _is_described(field.annotation, text):
                result["properties"][field.alias or name]["description"] = text
        return result


def _is_described(annotation: Any, text: str) -> bool:  # noqa: ANN401 - any annotation
    """Whether the field refers to a model with the same description.

    A reference does not repeat that.
    """
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return is_model and unwrapped(annotation.__doc__) == text


def json_schema(model: type[BaseModel]) -> Schema:
    """The JSON Schema of a model, with field names as people write them."""
    return model.model_json_schema(by_alias=True, schema_generator=_Described)


def structural(model: type[BaseModel]) -> Schema:
    """The structural schema of a model. References are inlined, and "or null" means optional."""
    with_references = json_schema(model)
    return _convert(with_references, with_references.get("$defs", {}))


def _convert(node: Schema, definitions: Schema) -> Schema:
    node, model = _inlined(node, definitions)
    # apiextensions.k8s.io/v1 has no const.
    if "const" in node:
        node = {**node, "enum": [node["const"]]}
    result = {key: node[key] for key in _KEPT if key in node}
    if node["type"] == "object":
        result |= _object(node, definitions, model=model)
    elif node["type"] == "array":
        result["items"] = _convert(node["items"], definitions)
        # A list without keys can only be replaced as a whole, and server-side apply needs an
        # explicit type for that.
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
        converted = _convert(child, definitions)
        default = _default(child, converted)
        if model not in _NO_DEFAULTS and default is not None:
            converted["default"] = default
        properties[name] = converted
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
    """The default to store.

    "Not set" (null, empty) is none, and fields of objects have their own.
    """
    default = child.get("default")
    if default is None or default in ("", []):
        return None
    if not isinstance(default, dict):
        return default
    # The API server fills in the defaults of fields only if the object is there.
    fields: Schema = converted.get("properties", {})
    if any("default" in field for field in fields.values()):
        return {}
    return None


def _inlined(node: Schema, definitions: Schema) -> tuple[Schema, str]:
    """Replaces a reference or "or null" in a node.

    Also returns the name of the model, if the node is one.
    """
    outer = {key: value for key, value in node.items() if key not in {"$ref", "anyOf", "$defs"}}
    if "anyOf" in node:
        # A stored field has one type.
        [choice] = (choice for choice in node["anyOf"] if choice.get("type") != "null")
        inner, model = _inlined(choice, definitions)
        return {**inner, **outer}, model
    if "$ref" in node:
        target = definitions[node["$ref"].removeprefix("#/$defs/")]
        return {**target, **outer}, target.get("title", "")
    if "properties" in outer:
        return outer, outer.get("title", "")
    return outer, ""
