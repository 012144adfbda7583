"""The two CustomResourceDefinitions, supersets of upstream's.

They are built from the models of the same kinds. lastSyncedConfig repeats the content of a /config
page of another program, so its types are loose on purpose: a strange value must be visible in the
status, not a reason for the API server to refuse it.
"""

from functools import cache
from typing import Any, Final

from dsf_wire.constants import DSF_GROUP, DSF_VERSION
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.field_model import unwrapped
from gitops_dsf.repository.model.field_rules import Schema
from gitops_dsf.repository.model.metric_source import MetricSourceSpec
from gitops_dsf.repository.model.scorer import DynamicScorer, DynamicScorerSpec
from gitops_dsf.repository.model.scoring_config import (
    DynamicScoringConfig,
    DynamicScoringConfigSpec,
)
from gitops_dsf.schema.scorer_status import DynamicScorerStatus
from gitops_dsf.schema.structural import structural


def _column(
    name: str, path: str, description: str, *, type_: str = "string", priority: int = 0
) -> Schema:
    """A column of `kubectl get`; priority 1 is shown only with -o wide."""
    column: Schema = {"name": name, "type": type_, "description": description, "jsonPath": path}
    if priority:
        column["priority"] = priority
    return column


def _condition(type_: str, description: str, *, priority: int = 0) -> Schema:
    return _column(
        type_, f'.status.conditions[?(@.type=="{type_}")].status', description, priority=priority
    )


def _reported(description: str, type_: str = "string", **properties: Schema) -> Schema:
    """A field that repeats what a /config page said: without bounds and without required fields."""
    if properties:
        return {"type": "object", "description": description, "properties": properties}
    return {"type": type_, "description": description}


_AGE: Final = _column(
    "Age", ".metadata.creationTimestamp", "Time since it was created.", type_="date"
)
_QUERY_PARAMS: Final = _reported(
    "What is asked of the metric source.",
    query=_reported("PromQL."),
    range=_reported("Seconds of history.", "integer"),
    step=_reported("Seconds between two points.", "integer"),
)
_SCORING_PARAMS: Final = _reported(
    "How often is scored, and under which name.",
    name=_reported("Score name."),
    interval=_reported("Seconds between two runs.", "integer"),
)
_SYNCED_CONFIG: Final = {
    "name": _reported("Name that the scoring API gives itself."),
    "description": _reported("What it says that it does."),
    "source": _reported(
        "Where the metrics come from.",
        type=_reported("Kind of metric source."),
        host=_reported("URL of the metric source."),
        path=_reported("Path of the query API."),
        params=_QUERY_PARAMS,
    ),
    "scoring": _reported(
        "How it wants to be called.",
        host=_reported("URL of the scoring API."),
        path=_reported("Path of the scoring endpoint."),
        params=_SCORING_PARAMS,
    ),
}

_SCORER_COLUMNS: Final = (
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

    They are shared: do not change them.
    """
    # Cached, because to derive them takes longer than rendering a small repository.
    spec = structural(DynamicScorerSpec)
    variants: Schema = structural(MetricSourceSpec)["properties"]["variants"]
    variants["description"] = (
        "The variants of the MetricSource that ref names, as `render` resolved them. Not written"
        " in a fleet repository."
    )
    spec["properties"]["source"]["properties"]["variants"] = variants
    empty: Schema = {"type": "object", "description": "Empty, as upstream has it."}
    status = structural(DynamicScorerStatus)
    # The model is any object. Here its usual fields are named, so that `kubectl explain` shows
    # them.
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
