"""The order in which Kueue offers jobs to the clusters of a Placement, as it is on the hub."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from msgspec import Struct

from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.hub.multikueue import MultiKueueConfig, readable_order
from gitops_dsf.hub.names import RECONCILER
from gitops_dsf.hub.objects import Placement
from gitops_dsf.multikueue.byscores import OrderedCluster
from gitops_dsf.views.worded import Worded


class OrderProblem(Enum):
    """The reason why a list is not in the order of the scores."""

    UNREAD = auto()
    """The MultiKueueConfigs could not be read."""
    NOT_WRITTEN = auto()
    """There is no such MultiKueueConfig yet."""
    FOREIGN = auto()
    """It belongs to another program."""
    FOR_ANOTHER = auto()
    """It is in the order of another Placement."""
    EDITED = auto()
    """Somebody else changed the list."""


@dataclass(frozen=True)
class OrderNote:
    """The reason why a list is not in the order of the scores of a Placement."""

    problem: OrderProblem
    ordered_for: str = ""
    """The Placement whose order the list has; empty if its name is not known either."""


class JobOrderView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The MultiKueueConfig that a Placement orders."""

    config: str
    clusters: tuple[OrderedCluster, ...]
    left_out: tuple[str, ...]
    """Decided clusters that have no place in the list, best first."""
    reason: str
    """The last cause of a change of the list; empty if it is unknown."""
    note: Worded[OrderNote] | None
    """The reason why the list is not in the order of the scores; None if it is."""


def job_order(
    placement: Placement, configs: Iterable[MultiKueueConfig] | None
) -> JobOrderView | None:
    """None if the Placement orders no jobs. `configs` is None if they could not be read."""
    order = readable_order(placement)
    if order is None:
        return None
    name = order.config
    if configs is None:
        return _without_list(name, OrderProblem.UNREAD)
    config = next((config for config in configs if config.metadata.name == name), None)
    if config is None:
        return _without_list(name, OrderProblem.NOT_WRITTEN)
    # The order that the reconciler wrote beside the list, in annotations of the config.
    last_order = config.written
    note: OrderNote | None = None
    if config.metadata.label(MANAGED_BY_LABEL) != RECONCILER:
        note = OrderNote(OrderProblem.FOREIGN)
    # Two Placements may name one config. It is ordered by the one for which it was written
    # last, and the label does not tell which one that is.
    elif last_order.placement != placement.key:
        note = OrderNote(OrderProblem.FOR_ANOTHER, ordered_for=last_order.placement)
    elif last_order.clusters != config.spec.clusters:
        note = OrderNote(OrderProblem.EDITED)
    # The list as Kueue reads it, with the points by which it was made.
    clusters: list[OrderedCluster] = []
    for cluster in config.spec.clusters:
        clusters.append(OrderedCluster(cluster, last_order.points.get(cluster)))
    return JobOrderView(
        config=name,
        clusters=tuple(clusters),
        left_out=last_order.left_out,
        reason=last_order.reason,
        note=None if note is None else Worded(note),
    )


def _without_list(config: str, problem: OrderProblem) -> JobOrderView:
    note = Worded(OrderNote(problem))
    return JobOrderView(config=config, clusters=(), left_out=(), reason="", note=note)
