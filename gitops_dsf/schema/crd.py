"""The two CustomResourceDefinitions, supersets of upstream's.

They are built from the models of the same kinds. DynamicScorer.status has upstream's healthStatus
and lastSyncedConfig, and what the reconciler adds.

lastSyncedConfig repeats what somebody else's /config page said, so its types are loose on purpose:
a strange value must be visible in the status, not a reason for the API server to refuse it.

A model becomes JSON Schema, with docstrings as descriptions of fields, and that a structural
OpenAPI v3 schema, the only form that apiextensions.k8s.io/v1 accepts: a type everywhere, no
references, no alternatives, no additionalProperties beside properties (Kubernetes documentation,
"Extend the Kubernetes API with CustomResourceDefinitions", section "Specifying a structural
schema").
"""

from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from dsf_wire.constants import DSF_GROUP, DSF_VERSION
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.field_model import field_docs, unwrapped
from gitops_dsf.repository.model.field_rules import Schema, rules_of
from gitops_dsf.repository.model.metric_source import MetricSourceSpec
from gitops_dsf.repository.model.scorer import DynamicScorer, DynamicScorerSpec
from gitops_dsf.repository.model.scoring_config import (
    DynamicScoringConfig,
    DynamicScoringConfigSpec,
)


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
    """Whether the field refers to a model with the same description.

    A reference does not repeat that.
    """
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return is_model and unwrapped(annotation.__doc__) == text


def json_schema(model: type[BaseModel]) -> Schema:
    """The JSON Schema of a model, with field names as people write them."""
    return model.model_json_schema(by_alias=True, schema_generator=_Described)


_KEPT = (
    "type format description enum pattern minimum maximum minLength maxLength minItems maxItems"
    " x-kubernetes-list-type x-kubernetes-list-map-keys"
)
_ATOMIC_MAPS = frozenset({"KeyRef", "LabelSelector"})
"""Models that Kubernetes' own kinds merge as one value: LabelSelector and the key selectors of
core/v1.
"""
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
    """The default to store.

    "Not set" (null, empty) is none, and fields of objects have their own.
    """
    default = child.get("default")
    if default is None or default in ("", []):
        return None
    if isinstance(default, dict):
        fields: Schema = converted.get("properties", {})
        return {} if any("default" in field for field in fields.values()) else None
    return default


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
    return outer, outer.get("title", "") if "properties" in outer else ""


CONDITION_REASON = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
CONDITION_TYPE = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"  # noqa: E501


class Condition(Authored):
    """One observation, with the meaning and the bounds of metav1.Condition (Kubernetes apimachinery,
    meta/v1).
    """

    type: Annotated[str, Field(pattern=CONDITION_TYPE, max_length=316)]
    """Healthy, ConfigSynced, Scored or, with a journal, Settled."""
    status: Literal["True", "False", "Unknown"]
    """Whether it holds."""
    reason: Annotated[str, Field(pattern=CONDITION_REASON, min_length=1, max_length=1024)]
    """Why, as one word for programs."""
    message: Annotated[str, Field(max_length=32_768)]
    """Why, for people."""
    last_transition_time: Annotated[str, Field(json_schema_extra={"format": "date-time"})]
    """When status last changed."""
    observed_generation: (
        Annotated[int, Field(ge=0, json_schema_extra={"format": "int64"})] | None
    ) = None
    """metadata.generation that was looked at."""


class DynamicScorerStatus(Authored):
    """What the hub observed; written by the reconciler alone."""

    observed_generation: (
        Annotated[int, Field(ge=0, json_schema_extra={"format": "int64"})] | None
    ) = None
    """metadata.generation that this status is about."""
    health_status: Literal["Active", "Inactive", "Unknown"] | None = None
    """Whether the scoring API answers: Active, Inactive, or Unknown while nobody has looked or can
    look. A scorer without a scoring API is Active while its scores are fresh, as the condition
    Scored says.
    """
    last_synced_config: dict[str, Any] | None = None
    """What the scoring API's /config page said when it was last read."""
    conditions: Annotated[
        list[Condition],
        Field(
            json_schema_extra={
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
            }
        ),
    ] = []
    """Healthy, ConfigSynced, Scored and, with a journal, Settled."""


def _column(
    name: str, path: str, description: str, *, type_: str = "string", priority: int = 0
) -> Schema:
    """A column of `kubectl get`; priority 1 is shown only with -o wide."""
    column: Schema = {"name": name, "type": type_, "description": description, "jsonPath": path}
    return column | ({"priority": priority} if priority else {})


_AGE = _column("Age", ".metadata.creationTimestamp", "Time since it was created.", type_="date")


def _condition(type_: str, description: str, *, priority: int = 0) -> Schema:
    return _column(
        type_, f'.status.conditions[?(@.type=="{type_}")].status', description, priority=priority
    )


def _said(description: str, type_: str = "string", **properties: Schema) -> Schema:
    if properties:
        return {"type": "object", "description": description, "properties": properties}
    return {"type": type_, "description": description}


_ASKED: Final = _said(
    "What is asked of the metric source.",
    query=_said("PromQL."),
    range=_said("Seconds of history.", "integer"),
    step=_said("Seconds between two points.", "integer"),
)
_SCORED: Final = _said(
    "How often is scored, and under which name.",
    name=_said("Score name."),
    interval=_said("Seconds between two runs.", "integer"),
)
_SYNCED_CONFIG: Final = {
    "name": _said("Name that the scoring API gives itself."),
    "description": _said("What it says that it does."),
    "source": _said(
        "Where the metrics come from.",
        type=_said("Kind of metric source."),
        host=_said("URL of the metric source."),
        path=_said("Path of the query API."),
        params=_ASKED,
    ),
    "scoring": _said(
        "How it wants to be called.",
        host=_said("URL of the scoring API."),
        path=_said("Path of the scoring endpoint."),
        params=_SCORED,
    ),
}

_SCORER_COLUMNS = (
    _column("Score", ".spec.scoring.params.name", "Score name."),
    _column(
        "Mode", ".spec.configSyncMode", "Whether /config counts (Full) or only the spec (None)."
    ),
    _column(
        "Interval", ".spec.scoring.params.interval", "Seconds between two runs.", type_="integer"
    ),
    _column("Suspended", ".spec.suspend", "Whether it runs nowhere.", type_="boolean"),
    _column("Health", ".status.healthStatus", "Whether the scoring API answers."),
    _condition("Scored", "Whether the clusters have fresh scores."),
    _condition("ConfigSynced", "Whether /config still says what was accepted.", priority=1),
    _column("Destination", ".spec.scoreDestination", "Where scores go.", priority=1),
    _column("Scoring-API", ".spec.scoring.host", "URL of the scoring API.", priority=1),
    _AGE,
)


@cache
def crds() -> list[dict[str, Any]]:
    """CustomResourceDefinitions of DynamicScorer and DynamicScoringConfig, by name.

    They are shared, because to derive them takes longer than rendering a small repository: do not
    change them.
    """
    spec = structural(DynamicScorerSpec)
    variants: Schema = structural(MetricSourceSpec)["properties"]["variants"]
    variants["description"] = (
        "The variants of the MetricSource that ref names, as `render` resolved them. Not written"
        " in a fleet repository."
    )
    spec["properties"]["source"]["properties"]["variants"] = variants
    empty: Schema = {"type": "object", "description": "Empty, as upstream has it."}
    status = structural(DynamicScorerStatus)
    synced: Schema = status["properties"]["lastSyncedConfig"]
    del synced["x-kubernetes-preserve-unknown-fields"]
    synced["properties"] = _SYNCED_CONFIG
    scorer = _crd(DynamicScorer, "dscorer", spec, status, _SCORER_COLUMNS)
    scorer["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["required"] = ["spec"]
    masks = _crd(
        DynamicScoringConfig, "dsconfig", structural(DynamicScoringConfigSpec), empty, (_AGE,)
    )
    return [scorer, masks]


def _crd(
    model: type[Authored],
    short_name: str,
    spec: Schema,
    status: Schema,
    columns: tuple[Schema, ...],
) -> Schema:
    kind = model.__name__
    plural = f"{kind.lower()}s"
    root: Schema = {
        "type": "object",
        "description": unwrapped(model.__doc__),
        "properties": {
            "apiVersion": {"type": "string", "description": f"{DSF_GROUP}/{DSF_VERSION}"},
            "kind": {"type": "string", "description": kind},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
    }
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    version = {
        "name": DSF_VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": root},
        "subresources": {"status": {}},
        "additionalPrinterColumns": list(columns),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{DSF_GROUP}"},
        "spec": {
            "group": DSF_GROUP,
            "names": {**names, "shortNames": [short_name], "categories": ["dsf"]},
            "scope": "Namespaced",
            "versions": [version],
        },
    }
