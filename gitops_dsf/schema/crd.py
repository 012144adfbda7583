"""The two CustomResourceDefinitions: supersets of upstream's, built from the models of the same kinds."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel

from dsf_wire.constants import DSF_GROUP, DSF_VERSION
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.field_docs import unwrapped
from gitops_dsf.repository.model.metric_source import MetricSourceSpec
from gitops_dsf.repository.model.scorer import DynamicScorer, DynamicScorerSpec
from gitops_dsf.repository.model.scoring_config import DynamicScoringConfig, DynamicScoringConfigSpec
from gitops_dsf.schema.rules import Schema
from gitops_dsf.schema.status import DynamicScorerStatus
from gitops_dsf.schema.structural import structural


def _column(name: str, path: str, description: str, *, type_: str = "string", priority: int = 0) -> Schema:
    """A column of `kubectl get`; priority 1 is shown only with -o wide."""
    column: Schema = {"name": name, "type": type_, "description": description, "jsonPath": path}
    return column | ({"priority": priority} if priority else {})


@dataclass(frozen=True, kw_only=True)
class _Definition:
    model: type[Authored]
    spec: type[BaseModel]
    status: type[BaseModel] | None
    plural: str
    short_name: str
    columns: tuple[Schema, ...]
    spec_required: bool


_AGE = _column("Age", ".metadata.creationTimestamp", "Time since it was created.", type_="date")


def _condition(type_: str, description: str, *, priority: int = 0) -> Schema:
    path = f'.status.conditions[?(@.type=="{type_}")].status'
    return _column(type_, path, description, priority=priority)


_DEFINITIONS = (
    _Definition(
        model=DynamicScorer,
        spec=DynamicScorerSpec,
        status=DynamicScorerStatus,
        plural="dynamicscorers",
        short_name="dscorer",
        spec_required=True,
        columns=(
            _column("Score", ".spec.scoring.params.name", "Score name."),
            _column("Mode", ".spec.configSyncMode", "Whether /config counts (Full) or only the spec (None)."),
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
        ),
    ),
    _Definition(
        model=DynamicScoringConfig,
        spec=DynamicScoringConfigSpec,
        status=None,
        plural="dynamicscoringconfigs",
        short_name="dsconfig",
        spec_required=False,
        columns=(_AGE,),
    ),
)


@cache
def crds() -> list[dict[str, Any]]:
    """CustomResourceDefinitions of DynamicScorer and DynamicScoringConfig (apiextensions.k8s.io/v1), by
    name. They are shared, because to derive them takes longer than rendering a small repository: do not
    change them.
    """
    return [_crd(definition) for definition in _DEFINITIONS]


def _crd(definition: _Definition) -> Schema:
    kind = definition.model.__name__
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{definition.plural}.{DSF_GROUP}"},
        "spec": {
            "group": DSF_GROUP,
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": definition.plural,
                "singular": kind.lower(),
                "shortNames": [definition.short_name],
                "categories": ["dsf"],
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": DSF_VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": _root(definition)},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": list(definition.columns),
                }
            ],
        },
    }


def _root(definition: _Definition) -> Schema:
    status: Schema = {"type": "object", "description": "Empty, as upstream has it."}
    if definition.status is not None:
        status = structural(definition.status)
    root: Schema = {
        "type": "object",
        "description": _summary(definition.model),
        "properties": {
            "apiVersion": {"type": "string", "description": f"{DSF_GROUP}/{DSF_VERSION}"},
            "kind": {"type": "string", "description": definition.model.__name__},
            "metadata": {"type": "object"},
            "spec": _spec(definition),
            "status": status,
        },
    }
    return root | ({"required": ["spec"]} if definition.spec_required else {})


def _spec(definition: _Definition) -> Schema:
    schema = structural(definition.spec)
    if definition.model is DynamicScorer:
        variants: Schema = structural(MetricSourceSpec)["properties"]["variants"]
        variants["description"] = (
            "The variants of the MetricSource that ref names, as `render` resolved them. Not written in a"
            " fleet repository."
        )
        schema["properties"]["source"]["properties"]["variants"] = variants
    return schema


def _summary(model: type[BaseModel]) -> str:
    return unwrapped(model.__doc__)
