"""The order in which Kueue offers jobs to the clusters of a Placement, as it is on the hub."""

from collections.abc import Iterable

from msgspec import Struct

from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.hub.multikueue import MultiKueueConfig, readable_order
from gitops_dsf.hub.names import RECONCILER
from gitops_dsf.hub.objects import Placement
from gitops_dsf.multikueue.byscores import OrderedCluster


class JobOrderView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The MultiKueueConfig that a Placement orders."""

    config: str
    clusters: tuple[OrderedCluster, ...]
    left_out: tuple[str, ...]
    """Decided clusters that have no place in the list, best first."""
    reason: str
    """What changed the list last; empty if that is not known."""
    note: str | None
    """Why the list is not in the order of the scores; None if it is."""


def job_order(
    placement: Placement, configs: Iterable[MultiKueueConfig] | None
) -> JobOrderView | None:
    """None if the Placement orders no jobs. `configs` is None if they could not be read."""
    order = readable_order(placement)
    if order is None:
        return None
    name = order.config
    if configs is None:
        return _without_list(name, "the MultiKueueConfigs could not be read")
    config = next((config for config in configs if config.metadata.name == name), None)
    if config is None:
        return _without_list(name, "the reconciler has not written it yet")
    # What the reconciler wrote beside the list, in annotations of the config.
    last_order = config.written
    note = None
    if config.metadata.label(MANAGED_BY_LABEL) != RECONCILER:
        note = "it belongs to another program, so its clusters are not ordered"
    # Two Placements may name one config. It is ordered by the one for which it was written
    # last, and the label does not tell which one that is.
    elif last_order.placement != placement.key:
        note = f"it is ordered by Placement {last_order.placement or 'of an unknown name'}"
    elif last_order.clusters != config.spec.clusters:
        note = "somebody else changed the list, and the reconciler will set it right"
    # The list as Kueue reads it, with the points by which it was made.
    clusters: list[OrderedCluster] = []
    for cluster in config.spec.clusters:
        clusters.append(OrderedCluster(cluster, last_order.points.get(cluster)))
    return JobOrderView(
        config=name,
        clusters=tuple(clusters),
        left_out=last_order.left_out,
        reason=last_order.reason,
        note=note,
    )


def _without_list(config: str, note: str) -> JobOrderView:
    return JobOrderView(config=config, clusters=(), left_out=(), reason="", note=note)
