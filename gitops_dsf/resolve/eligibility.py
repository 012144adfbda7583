"""The clusters that a Placement may choose, by its sets and selectors.

Taints and tolerations do not count: taints change often, and the inventory may be old.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from gitops_dsf.repository.model.base import LabelSelector
from gitops_dsf.repository.model.declared import Item, RankingItem
from gitops_dsf.repository.model.foreign import RawPlacement
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.inventory import ClusterInventory


def eligible(context: Context, ranking: RankingItem) -> frozenset[str]:
    """Clusters that match the sets and the selector of a ranking."""
    rules = ranking.value.spec.placement
    members = context.inventory.members(rules.cluster_sets)
    if rules.cluster_selector is None:
        return members
    return members & context.inventory.selected(rules.cluster_selector)


def choosable(context: Context, placement: Item[RawPlacement]) -> frozenset[str] | None:
    """Clusters that match the sets and the label selectors of a raw Placement.

    None if that cannot be known from files: the Placement names no sets, selects by claims or CEL,
    or has a mistake.
    """
    # Without sets OCM takes all that are bound in the namespace, also by bindings on the hub only.
    sets = placement.value.spec.get("clusterSets")
    predicates = placement.value.spec.get("predicates") or []
    if not isinstance(sets, list) or not sets or not isinstance(predicates, list):
        return None
    if not all(isinstance(name, str) for name in sets):
        return None
    members = context.inventory.members(sets)
    # No predicates match every cluster.
    if not predicates:
        return members
    selected: set[str] = set()
    for predicate in predicates:
        clusters = _selected(context.inventory, predicate)
        if clusters is None:
            return None
        selected |= clusters  # OCM chooses a cluster that matches any of the predicates
    return members & selected


def _selected(
    inventory: ClusterInventory,
    predicate: Any,  # noqa: ANN401 - plain data
) -> frozenset[str] | None:
    """The clusters of one predicate, or None if it has more than a valid label selector."""
    required = predicate.get("requiredClusterSelector") if isinstance(predicate, Mapping) else None
    # Claims and CEL can read what only the hub knows.
    if not isinstance(required, Mapping) or not required.keys() <= {"labelSelector"}:
        return None
    try:
        return inventory.selected(LabelSelector.model_validate(required.get("labelSelector") or {}))
    except ValidationError:
        return None
