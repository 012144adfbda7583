"""DynamicScoringConfig: the masks, which exclude scores from clusters."""

from typing import Annotated, Literal

from pydantic import Field

from gitops_dsf.repository.model.base import DSF_API, Authored, LabelSelector, Metadata
from gitops_dsf.repository.model.field_rules import Ruled, exactly_one

# Upstream's controller (addon-contrib f5844b9) reads the object of this name, and no other.
SINGLETON_NAME = "dynamic-scoring-config"


class Mask(Ruled):
    """Excludes a score from clusters."""

    rules = (
        exactly_one(
            "cluster_name",
            "cluster_selector",
            "a mask names its clusters by clusterName or by clusterSelector: write exactly one of"
            " them",
        ),
    )

    cluster_name: Annotated[str, Field(min_length=1)] | None = None
    """Cluster, or a shell-style glob."""
    cluster_selector: LabelSelector | None = None
    """Clusters by their labels, instead of clusterName."""
    score_name: Annotated[str, Field(min_length=1)]
    """Score name, or a shell-style glob."""


class DynamicScoringConfigSpec(Authored):
    """Which scores are excluded from which clusters."""

    masks: list[Mask] = []
    """Each mask excludes a score from clusters."""


class DynamicScoringConfig(Authored):
    """The masks of a fleet. There is one such object, and its name is dynamic-scoring-config."""

    api_version: Literal["dynamic-scoring.open-cluster-management.io/v1alpha1"] = DSF_API
    kind: Literal["DynamicScoringConfig"] = "DynamicScoringConfig"
    metadata: Metadata
    spec: DynamicScoringConfigSpec = DynamicScoringConfigSpec()
