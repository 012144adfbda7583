"""The kinds of this product in the folder layout of kubeconform's -schema-location.

The layout is `{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json`, as kubeconform's README recommends
for CRDs. OCM's and Argo CD's own kinds are left out, because our models cover only parts of them.
"""

from collections.abc import Mapping
from typing import Any

from gitops_dsf.repository.model.base import PRODUCT_API
from gitops_dsf.repository.model.kinds import KINDS
from gitops_dsf.schema.crd import crds
from gitops_dsf.schema.editor import DRAFT, kind_file, kind_schema
from gitops_dsf.schema.rules import RULES, Schema


def kubeconform_schemas() -> Mapping[str, Schema]:
    """Schemas by path below the schema location."""
    result = {_path(api, kind): kind_schema(api, kind) for api, kind in KINDS if api == PRODUCT_API}
    for crd in crds():
        group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
        for version in crd["spec"]["versions"]:
            api = f"{group}/{version['name']}"
            result[_path(api, kind)] = _of_crd(api, kind, version["schema"]["openAPIV3Schema"])
    return dict(sorted(result.items()))


def _path(api_version: str, kind: str) -> str:
    return f"{api_version.partition('/')[0]}/{kind_file(api_version, kind)}"


def _of_crd(api_version: str, kind: str, schema: Schema) -> Schema:
    """Converts a stored schema to strict JSON Schema: unknown fields are errors, rules between fields are
    added, and Kubernetes' extensions are removed.
    """
    top = _strict(schema)
    top["properties"]["apiVersion"] = {"const": api_version}
    top["properties"]["kind"] = {"const": kind}
    top["required"] = sorted({"apiVersion", "kind", "metadata", *top.get("required", [])})
    return {"$schema": DRAFT, "title": kind, **top}


_RULES_BY_CEL = {rule.cel: rule for rules in RULES.values() for rule in rules if rule.cel}


def _strict(node: Any) -> Any:  # noqa: ANN401 - whatever a schema holds
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    result: Schema = {}
    for key, value in node.items():
        if key == "properties":
            result[key] = {name: _strict(child) for name, child in value.items()}
            result["additionalProperties"] = False
        elif key == "x-kubernetes-validations":
            rules = [_RULES_BY_CEL[item["rule"]] for item in value]
            known = [dict(rule.json) | {"description": rule.message} for rule in rules if rule.json]
            result |= {"allOf": known} if known else {}
        elif key in {"default", "enum", "required"}:
            result[key] = value
        elif not key.startswith("x-kubernetes-"):
            result[key] = _strict(value)
    return result
