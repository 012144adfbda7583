"""DynamicScorer.status: upstream's healthStatus and lastSyncedConfig, and what the reconciler adds.

lastSyncedConfig repeats what somebody else's /config page said, so its types are loose on purpose: a strange
value must be visible in the status, not a reason for the API server to refuse it.
"""

from typing import Annotated, Literal

from pydantic import Field

from gitops_dsf.repository.model.base import Authored

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
