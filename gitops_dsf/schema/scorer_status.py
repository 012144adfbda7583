"""The status of a DynamicScorer, as models: what the reconciler writes on the hub.

It has upstream's healthStatus and lastSyncedConfig, and the conditions of Kubernetes.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from gitops_dsf.repository.model.base import Authored

CONDITION_REASON = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
CONDITION_TYPE = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)


class ScorerStatusCondition(Authored):
    """One observation, with the meaning and the bounds of metav1.Condition of Kubernetes."""

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
        list[ScorerStatusCondition],
        Field(
            json_schema_extra={
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
            }
        ),
    ] = []
    """Healthy, ConfigSynced, Scored and, with a journal, Settled."""
