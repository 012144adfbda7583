"""JSON Schemas (draft 2020-12) of the authored kinds, for editors and for checks outside of `validate`.

They accept what the models accept, as far as JSON Schema can express it. Arithmetic and references to other
documents are left to `validate`.
"""

from collections.abc import Mapping
from typing import Final

from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.delivery import RawPlacement
from gitops_dsf.repository.model.kinds import KINDS
from gitops_dsf.schema.described import json_schema
from gitops_dsf.schema.placement import placement_spec
from gitops_dsf.schema.rules import RULES, Schema

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
DOCUMENT: Final = "document.json"


def kind_file(api_version: str, kind: str) -> str:
    """File name of a kind's schema, such as dynamicscorer_v1alpha1.json."""
    return f"{kind.lower()}_{api_version.rpartition('/')[2]}.json"


def kind_schema(api_version: str, kind: str) -> Schema:
    """The schema of one authored kind. Raises KeyError for a kind that a fleet repository cannot hold."""
    return _schema(KINDS[api_version, kind])


def document_schema() -> Schema:
    """The schema of any document of a fleet repository: apiVersion and kind choose the schema file next to
    it.
    """
    return {
        "$schema": DRAFT,
        "title": "Document of a fleet repository",
        "description": "File names carry no meaning; apiVersion and kind say what a document is.",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {
            "apiVersion": {"enum": sorted({api_version for api_version, _ in KINDS})},
            "kind": {"enum": sorted(kind for _, kind in KINDS)},
        },
        "allOf": [
            {
                "if": {"required": ["kind"], "properties": {"kind": {"const": kind}}},
                "then": {"$ref": kind_file(api_version, kind)},
            }
            for api_version, kind in sorted(KINDS)
        ],
    }


def editor_schemas() -> Mapping[str, Schema]:
    """Schemas by file name: one per kind, and the one that chooses among them."""
    kinds = {kind_file(*key): kind_schema(*key) for key in KINDS}
    return dict(sorted({**kinds, DOCUMENT: document_schema()}.items()))


def _schema(model: type[Authored]) -> Schema:
    plain = json_schema(model)
    definitions = {name: _definition(name, item) for name, item in plain.pop("$defs", {}).items()}
    top = _definition(model.__name__, plain)
    if model is RawPlacement:
        top["properties"]["spec"] = placement_spec()
    # The models set their own apiVersion and kind; a document has to write them.
    top["required"] = sorted({"apiVersion", "kind", *top.get("required", [])})
    for name in ("apiVersion", "kind"):
        top["properties"][name].pop("default", None)
    return {"$schema": DRAFT, "title": top["properties"]["kind"]["const"], **top, "$defs": definitions}


def _definition(name: str, schema: Schema) -> Schema:
    # Titles are Python names of classes and fields. Editors would show them in every tooltip.
    result = {key: value for key, value in schema.items() if key not in {"title", "$defs"}}
    if "properties" in result:
        result["properties"] = {key: _field(value) for key, value in result["properties"].items()}
    rules = [dict(rule.json) | {"description": rule.message} for rule in RULES.get(name, ()) if rule.json]
    return result | ({"allOf": rules} if rules else {})


def _field(schema: Schema) -> Schema:
    return {
        key: value
        for key, value in schema.items()
        if key != "title" and not (key == "default" and value is None)
    }
