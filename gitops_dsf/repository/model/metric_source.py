"""MetricSource: a metric source that scorers name, with one variant for each kind of cluster."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gitops_dsf.repository.model.base import PRODUCT_API, Authored, FieldError, LabelSelector, Metadata
from gitops_dsf.repository.model.scorer import Auth

MAX_VARIANTS = 50


class MetricSourceVariant(Authored):
    """How a group of clusters reaches the metric source."""

    cluster_selector: LabelSelector | None = None
    """Clusters that use this variant, by their labels in the inventory. Without it, every cluster that no
    earlier variant selects.
    """
    type: Literal["Prometheus", "Kubernetes", "OpenTelemetry"] = "Prometheus"
    """Prometheus and what speaks its HTTP API; Kubernetes for measures of the cluster's nodes and pods; or
    OpenTelemetry for the receiver beside the agent, which collectors of the cluster push to.
    """
    host: str = ""
    """URL of the metric source as these clusters see it."""
    path: str = ""
    """Path of the query API; /api/v1/query_range when the host carries no path."""
    auth: Auth | None = None
    """How the agent proves who it is to the metric source."""

    @model_validator(mode="after")
    def _has_a_host(self) -> Self:
        if not self.host and self.type == "Prometheus":
            msg = "write the base URL of the metric source, such as http://prometheus.monitoring.svc:9090"
            raise FieldError(msg, "host")
        return self


class MetricSourceSpec(Authored):
    """Where clusters find the metrics."""

    description: str = ""
    """What the source holds, for people."""
    variants: Annotated[list[MetricSourceVariant], Field(min_length=1, max_length=MAX_VARIANTS)]
    """A cluster uses the first variant whose selector matches its labels."""


class MetricSource(Authored):
    """A named metric source. It is resolved for each cluster, and is not applied to the hub."""

    api_version: Literal["gitops-dsf.io/v1alpha1"] = PRODUCT_API
    kind: Literal["MetricSource"] = "MetricSource"
    metadata: Metadata
    spec: MetricSourceSpec
