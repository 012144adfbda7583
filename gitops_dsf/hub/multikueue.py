"""Orders of clusters for Kueue's MultiKueue: what people wrote is an annotation on the Placement.

Since 0.19 Kueue's incremental dispatcher nominates clusters in the order of
`MultiKueueConfig.spec.clusters`. The reconciler keeps that list in the order of the scores.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gitops_dsf.hub import objects
from gitops_dsf.hub.pace import MAX_TERMS, PacedTerm, load_of, measured_after, total_weight

MULTIKUEUE_ANNOTATION: Final = "gitops-dsf.io/multikueue"
"""On a Placement: a `MultiKueueOrder` as JSON."""
KUEUE_NAMESPACE: Final = "kueue-system"
"""The namespace of Kueue in its own manifests and chart."""
MAX_CLUSTERS: Final = 20
"""The items that the CRD of MultiKueueConfigs allows in `spec.clusters` (Kueue 0.19.2)."""


class MultiKueueOrder(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How people ranked the clusters for the jobs of a MultiKueueConfig."""

    config: str
    """Name of the MultiKueueConfig, which is cluster-scoped."""
    reorder_seconds: Annotated[float, Meta(gt=0)]
    """Seconds between two changes of the order."""
    terms: Annotated[tuple[PacedTerm, ...], Meta(max_length=MAX_TERMS)]
    stickiness: Annotated[float, Meta(ge=0)]
    """Points of the weighted mean by which a cluster must lead another one to overtake it."""

    @property
    def total_weight(self) -> int:
        """Dividing a weighted sum by it gives points (`gitops_dsf.hub.points`); never 0."""
        return total_weight(self.terms)

    @property
    def load(self) -> float:
        """Points of the weighted mean of the scores that a job takes where it runs."""
        return load_of(self.terms)

    @property
    def measured_after(self) -> float:
        """Seconds after a change until every score has measured it completely."""
        return measured_after(self.terms)


def multikueue_order(placement: objects.Placement) -> MultiKueueOrder | None:
    """How people ranked the clusters for jobs; None if the Placement orders no MultiKueueConfig.

    Raises msgspec.DecodeError if the annotation does not have our format.
    """
    text = placement.metadata.annotation(MULTIKUEUE_ANNOTATION)
    return msgspec.json.decode(text, type=MultiKueueOrder) if text else None
