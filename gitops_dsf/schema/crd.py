"""The two CustomResourceDefinitions: supersets of upstream's, built from the models of the same kinds, and
DynamicScorer.status: upstream's healthStatus and lastSyncedConfig, and what the reconciler adds.

lastSyncedConfig repeats what somebody else's /config page said, so its types are loose on purpose: a strange
value must be visible in the status, not a reason for the API server to refuse it.
"""

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field

from dsf_wire.constants import DSF_GROUP, DSF_VERSION
from gitops_dsf.repository.model.base import Authored, Schema
from gitops_dsf.repository.model.field_model import unwrapped
from gitops_dsf.repository.model.metric_source import MetricSourceSpec
from gitops_dsf.repository.model.scorer import DynamicScorer, DynamicScorerSpec
from gitops_dsf.repository.model.scoring_config import DynamicScoringConfig, DynamicScoringConfigSpec
from gitops_dsf.schema.structural import structural

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
    observed_generation: Annotated[int, Field(ge=0, json_schema_extra={"format": "int64"})] | None = None
    """metadata.generation that was looked at."""


class SyncedSourceParams(Authored):
    """source.params of /config."""

    query: str | None = None
    """PromQL."""
    range: int | None = None
    """Seconds of history."""
    step: int | None = None
    """Seconds between two points."""


class SyncedSource(Authored):
    """Source of /config."""

    type: str | None = None
    """Kind of metric source."""
    host: str | None = None
    """URL of the metric source."""
    path: str | None = None
    """Path of the query API."""
    params: SyncedSourceParams | None = None
    """What is asked of the metric source."""


class SyncedScoringParams(Authored):
    """scoring.params of /config."""

    name: str | None = None
    """Score name."""
    interval: int | None = None
    """Seconds between two runs."""


class SyncedScoring(Authored):
    """Scoring of /config."""

    host: str | None = None
    """URL of the scoring API."""
    path: str | None = None
    """Path of the scoring endpoint."""
    params: SyncedScoringParams | None = None
    """How often is scored, and under which name."""


class SyncedConfig(Authored):
    """What the scoring API's /config page said when it was last read."""

    name: str | None = None
    """Name that the scoring API gives itself."""
    description: str | None = None
    """What it says that it does."""
    source: SyncedSource | None = None
    """Where the metrics come from."""
    scoring: SyncedScoring | None = None
    """How it wants to be called."""


class DynamicScorerStatus(Authored):
    """What the hub observed; written by the reconciler alone."""

    observed_generation: Annotated[int, Field(ge=0, json_schema_extra={"format": "int64"})] | None = None
    """metadata.generation that this status is about."""
    health_status: Literal["Active", "Inactive", "Unknown"] | None = None
    """Whether the scoring API answers: Active, Inactive, or Unknown while nobody has looked or can look. A
    scorer without a scoring API is Active while its scores are fresh, as the condition Scored says.
    """
    last_synced_config: SyncedConfig | None = None
    """What the scoring API's /config page said when it was last read."""
    conditions: Annotated[
        list[Condition],
        Field(json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}),
    ] = []
    """Healthy, ConfigSynced, Scored and, with a journal, Settled."""


def _column(name: str, path: str, description: str, *, type_: str = "string", priority: int = 0) -> Schema:
    """A column of `kubectl get`; priority 1 is shown only with -o wide."""
    column: Schema = {"name": name, "type": type_, "description": description, "jsonPath": path}
    return column | ({"priority": priority} if priority else {})


_AGE = _column("Age", ".metadata.creationTimestamp", "Time since it was created.", type_="date")


def _condition(type_: str, description: str, *, priority: int = 0) -> Schema:
    return _column(type_, f'.status.conditions[?(@.type=="{type_}")].status', description, priority=priority)


_SCORER_COLUMNS = (
    _column("Score", ".spec.scoring.params.name", "Score name."),
    _column("Mode", ".spec.configSyncMode", "Whether /config counts (Full) or only the spec (None)."),
    _column("Interval", ".spec.scoring.params.interval", "Seconds between two runs.", type_="integer"),
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
    """CustomResourceDefinitions of DynamicScorer and DynamicScoringConfig (apiextensions.k8s.io/v1), by
    name. They are shared, because to derive them takes longer than rendering a small repository: do not
    change them.
    """
    spec = structural(DynamicScorerSpec)
    variants: Schema = structural(MetricSourceSpec)["properties"]["variants"]
    variants["description"] = (
        "The variants of the MetricSource that ref names, as `render` resolved them. Not written in a fleet"
        " repository."
    )
    spec["properties"]["source"]["properties"]["variants"] = variants
    empty: Schema = {"type": "object", "description": "Empty, as upstream has it."}
    scorer = _crd(DynamicScorer, "dscorer", spec, structural(DynamicScorerStatus), _SCORER_COLUMNS)
    scorer["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["required"] = ["spec"]
    masks = _crd(DynamicScoringConfig, "dsconfig", structural(DynamicScoringConfigSpec), empty, (_AGE,))
    return [scorer, masks]


def _crd(
    model: type[Authored], short_name: str, spec: Schema, status: Schema, columns: tuple[Schema, ...]
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
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{DSF_GROUP}"},
        "spec": {
            "group": DSF_GROUP,
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
                "shortNames": [short_name],
                "categories": ["dsf"],
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": DSF_VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": root},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": list(columns),
                }
            ],
        },
    }
