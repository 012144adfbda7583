"""Orders of clusters for Kueue's MultiKueue, as people write them in an annotation of a Placement.

Since 0.19 Kueue's incremental dispatcher nominates clusters in the order of
`MultiKueueConfig.spec.clusters`. The reconciler keeps that list in the order of the scores.
"""

from collections.abc import Iterable
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gitops_dsf.hub import objects
from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.pace import MAX_TERMS, PacedTerm, measured_after, total_weight
from gitops_dsf.hub.times import Timestamp

MULTIKUEUE_ANNOTATION: Final = "gitops-dsf.io/multikueue"
"""Annotation of a Placement: a `MultiKueueOrder` as JSON."""
KUEUE_NAMESPACE: Final = "kueue-system"
"""The namespace of Kueue in its own manifests and chart."""
MULTIKUEUE_CONTROLLER: Final = "kueue.x-k8s.io/multikueue"
"""The controllerName of AdmissionChecks that Kueue's MultiKueue serves."""
OCM_CONTROLLER: Final = "open-cluster-management.io/placement"
"""The controllerName of AdmissionChecks for which OCM's add-on writes a MultiKueueConfig.

It has the name of the Placement, which is in the namespace of Kueue (kueue-addon of addon-contrib,
pkg/hub/controllers/admissioncheck/controller.go, f5844b98).
"""
MAX_CLUSTERS: Final = 20
"""The items that the CRD of MultiKueueConfigs allows in `spec.clusters` (Kueue 0.19.2)."""
ORDERED_AT_ANNOTATION: Final = "gitops-dsf.io/ordered-at"
"""Annotation of a MultiKueueConfig of ours: when its list was ordered last, and not only appended
to.
"""
ORDER_ANNOTATION: Final = "gitops-dsf.io/order"
"""Annotation of a MultiKueueConfig of ours: a `WrittenOrder` as JSON."""


class MultiKueueOrder(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The ranking of the clusters for the jobs of a MultiKueueConfig, as people wrote it."""

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
    def measured_after(self) -> float:
        """Seconds after a change until every score has measured it completely."""
        return measured_after(self.terms)


class WrittenOrder(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The list that the reconciler wrote last into a MultiKueueConfig.

    If the list on the hub differs, another program wrote it.
    """

    placement: str = ""
    """namespace/name of the Placement that orders the list."""
    clusters: tuple[str, ...] = ()
    points: dict[str, float] = {}
    """The points of the listed clusters at that time, with the load that was assumed.

    A cluster without points had scores that had expired, or was not eligible.
    """
    left_out: tuple[str, ...] = ()
    """Eligible clusters that had no place in the list, best first."""
    reason: str = ""
    """The reason why the list was written."""


class KueueConfigSpec(Struct, frozen=True):
    clusters: tuple[str, ...] = ()


class MultiKueueConfig(Struct, frozen=True):
    """A MultiKueueConfig of Kueue (v1beta2)."""

    metadata: Metadata
    spec: KueueConfigSpec = KueueConfigSpec()

    @property
    def ordered_at(self) -> float | None:
        """The time when the list was ordered last, in seconds since 1970; None if it is unknown."""
        # An absent annotation is an empty text, which is not a time. People may edit it, too.
        try:
            return msgspec.convert(
                self.metadata.annotation(ORDERED_AT_ANNOTATION), Timestamp, strict=False
            ).timestamp()
        except msgspec.ValidationError:
            return None

    @property
    def written(self) -> WrittenOrder:
        """The list that we wrote last; empty if it is unknown."""
        text = self.metadata.annotation(ORDER_ANNOTATION)
        # Without it the list on the hub is the base of the next one, so nothing is lost.
        try:
            return msgspec.json.decode(text, type=WrittenOrder)
        except msgspec.DecodeError:
            return WrittenOrder()


def multikueue_order(placement: objects.Placement) -> MultiKueueOrder | None:
    """The ranking of the clusters for jobs; None if the Placement orders no MultiKueueConfig.

    Raises msgspec.DecodeError if the annotation does not have our format.
    """
    text = placement.metadata.annotation(MULTIKUEUE_ANNOTATION)
    return msgspec.json.decode(text, type=MultiKueueOrder) if text else None


def readable_order(placement: objects.Placement) -> MultiKueueOrder | None:
    """The ranking of the clusters for jobs; None if the Placement orders no MultiKueueConfig.

    It is also None for an annotation that cannot be read: the reconciler orders nothing by it.
    """
    try:
        return multikueue_order(placement)
    except msgspec.DecodeError:
        return None


def any_orders_jobs(placements: Iterable[objects.Placement]) -> bool:
    """Whether a Placement has an order for a MultiKueueConfig, even one that cannot be read.

    Only a hub with one needs the right to read objects of Kueue. Another one may have no Kueue.
    """
    return any(placement.metadata.annotation(MULTIKUEUE_ANNOTATION) for placement in placements)
