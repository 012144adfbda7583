"""JSON Schemas (draft 2020-12) of the authored kinds and of the wire contract.

Editors use them, and checks outside of `validate`. There is one for each kind, and every kind in
one file of one line, which `init` writes and `gitops-dsf schema` refreshes.

They accept what the models accept, as far as JSON Schema can express it. Arithmetic and references
to other documents are left to `validate`.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Final

import msgspec

from dsf_wire.constants import AGENT_NAMESPACE, CONFIGMAP_KEY, CONFIGMAP_NAME
from dsf_wire.summary import UPSTREAM_KEYS, ScorerSummary
from gitops_dsf.argocd import fields
from gitops_dsf.hub.selectors import OPERATORS
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.declared import KINDS
from gitops_dsf.repository.model.field_rules import Schema, rules_of
from gitops_dsf.repository.model.foreign import RawPlacement
from gitops_dsf.resolve.raw_placements import UNREAD
from gitops_dsf.schema.structural import json_schema

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
FILE: Final = ".schemas/gitops-dsf.json"
"""The place of the file in a fleet repository.

The editor settings and the first lines of files name it.
"""

# Bounds that OCM's controllers enforce and its CRDs do not state, by `object.field`.
_BESIDES: Final[dict[str, Schema]] = {
    "matchExpressions.operator": {"enum": list(OPERATORS)},
    "spec.numberOfClusters": {"minimum": 0},
}


def kind_file(api_version: str, kind: str) -> str:
    """File name of a kind's schema, such as dynamicscorer_v1alpha1.json."""
    return f"{kind.lower()}_{api_version.rpartition('/')[2]}.json"


def kind_schema(api_version: str, kind: str) -> Schema:
    """The schema of one authored kind.

    Raises KeyError for a kind that a fleet repository cannot hold.
    """
    return _schema(KINDS[api_version, kind])


@cache
def bundle() -> str:
    """The schema of any document of a fleet repository, with the same bytes on every machine."""
    definitions: dict[str, Schema] = {}
    choices: list[Schema] = []
    api_versions: set[str] = set()
    kinds: list[str] = []
    for api_version, kind in sorted(KINDS):
        api_versions.add(api_version)
        kinds.append(kind)
        schema = kind_schema(api_version, kind)
        del schema["$schema"]
        definitions |= schema.pop("$defs")
        # One condition for each kind, so that editors report the mistakes of that kind alone.
        is_kind = {"required": ["kind"], "properties": {"kind": {"const": kind}}}
        choices.append({"if": is_kind, "then": schema})
    any_document = {
        "$schema": DRAFT,
        "title": "Document of a fleet repository",
        "description": "File names carry no meaning; apiVersion and kind say what a document is.",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {
            "apiVersion": {"enum": sorted(api_versions)},
            "kind": {"enum": sorted(kinds)},
        },
        "allOf": choices,
        "$defs": definitions,
    }
    return json.dumps(any_document, separators=(",", ":"), ensure_ascii=False) + "\n"


def editor_schemas() -> Mapping[str, Schema]:
    """The schema of each kind by file name, which is as kubeconform looks for it."""
    schemas: dict[str, Schema] = {}
    for api_version, kind in KINDS:
        schemas[kind_file(api_version, kind)] = kind_schema(api_version, kind)
    return schemas


def _schema(model: type[Authored]) -> Schema:
    plain = json_schema(model)
    definitions: dict[str, Schema] = {}
    for name, definition in plain.pop("$defs", {}).items():
        definitions[name] = _definition(name, definition)
    top = _definition(model.__name__, plain)
    if model is RawPlacement:
        top["properties"]["spec"] = _placement_spec()
    # The models set their own apiVersion and kind; a document has to write them.
    top["required"] = sorted({"apiVersion", "kind", *top.get("required", [])})
    for name in ("apiVersion", "kind"):
        top["properties"][name].pop("default", None)
    return {
        "$schema": DRAFT,
        "title": top["properties"]["kind"]["const"],
        **top,
        "$defs": definitions,
    }


def _definition(name: str, schema: Schema) -> Schema:
    # Titles are Python names of classes and fields. Editors would show them in every tooltip.
    result = {key: value for key, value in schema.items() if key not in {"title", "$defs"}}
    if "properties" in result:
        result["properties"] = {key: _field(value) for key, value in result["properties"].items()}
    rules: list[Schema] = []
    for rule in rules_of(name):
        # Some rules can only be written in CEL: the API server checks them, and `validate` does.
        if rule.json:
            rules.append({**rule.json, "description": rule.message})
    if rules:
        result["allOf"] = rules
    return result


def _field(schema: Schema) -> Schema:
    field: Schema = {}
    for key, value in schema.items():
        # A default of null only says that the field may be absent.
        if key == "title" or (key == "default" and value is None):
            continue
        field[key] = value
    return field


def _placement_spec() -> Schema:
    """The schema of `spec` of a hand-written Placement, which is stricter than OCM's CRD."""
    schema = _strict("spec", fields.placement_spec())
    # Fields that the CRD has and no controller reads are allowed: `validate` says so.
    unread: dict[str, Schema] = {name: {} for name in UNREAD}
    return {**schema, "properties": unread | schema["properties"]}


def _strict(name: str, schema: Schema) -> Schema:
    """The same without fields that the schema does not name, which an API server drops."""
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"], "pattern": schema["pattern"]}
    if "items" in schema:
        return {**schema, "items": _strict(name, schema["items"])}
    if "properties" not in schema:
        return schema
    properties: dict[str, Schema] = {}
    for field, inside in schema["properties"].items():
        properties[field] = {**_strict(field, inside), **_BESIDES.get(f"{name}.{field}", {})}
    return {**schema, "properties": properties, "additionalProperties": False}


def summaries_schema() -> Schema:
    """The schema for writers: upstream's sixteen keys always.

    Readers accept fewer and unknown ones.
    """
    plain = msgspec.json.schema(list[ScorerSummary])
    definitions: Schema = plain.pop("$defs")
    for definition in definitions.values():
        definition.pop("title", None)
    summary = definitions["ScorerSummary"]
    summary["required"] = list(UPSTREAM_KEYS)
    summary["description"] = (
        "One scorer as one cluster runs it. Ranges, steps and intervals are seconds; endpoints are"
        " whole URLs."
    )
    for name in UPSTREAM_KEYS:
        summary["properties"][name].pop("default", None)
    for name in ("name", "scoreName"):
        summary["properties"][name]["minLength"] = 1
    title = f"{CONFIGMAP_KEY} of ConfigMap {AGENT_NAMESPACE}/{CONFIGMAP_NAME}"
    return {"$schema": DRAFT, "title": title, **plain, "$defs": definitions}
