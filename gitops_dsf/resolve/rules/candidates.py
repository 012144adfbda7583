"""Clusters of the inventory that an application or a Placement may choose. Taints are ignored because they
change often.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from gitops_dsf.repository.model.base import LabelSelector
from gitops_dsf.repository.model.declared import Item, RankingItem
from gitops_dsf.repository.model.delivery import RawPlacement
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.inventory import ClusterInventory


def eligible(context: Context, item: RankingItem) -> frozenset[str]:
    """Clusters that match the sets and the selector of a ranking."""
    rules = item.value.spec.placement
    members = context.inventory.members(rules.cluster_sets)
    return (
        members
        if rules.cluster_selector is None
        else members & context.inventory.selected(rules.cluster_selector)
    )


def choosable(context: Context, item: Item[RawPlacement]) -> frozenset[str] | None:
    """Clusters that match the Placement's sets and label selectors. None if they are not known: no sets,
    claims, CEL, or a mistake.
    """
    spec = item.value.spec
    sets, predicates = spec.get("clusterSets"), spec.get("predicates") or []
    if (
        not isinstance(sets, list)
        or not sets
        or not all(isinstance(name, str) for name in sets)
        or not isinstance(predicates, list)
    ):
        return None
    members = context.inventory.members(sets)
    if not predicates:
        return members
    selected = [_selected(context.inventory, predicate) for predicate in predicates]
    known = [clusters for clusters in selected if clusters is not None]
    return members & frozenset().union(*known) if len(known) == len(selected) else None


def _selected(inventory: ClusterInventory, predicate: Any) -> frozenset[str] | None:  # noqa: ANN401 - plain data
    required = predicate.get("requiredClusterSelector") if isinstance(predicate, Mapping) else None
    if not isinstance(required, Mapping) or not required.keys() <= {"labelSelector"}:
        return None
    try:
        return inventory.selected(LabelSelector.model_validate(required.get("labelSelector") or {}))
    except ValidationError:
        return None
