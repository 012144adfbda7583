"""Decision groups of a pass, with their PlacementDecisions.

Source: generateDecisionGroups, generateDecision and calculateLength of OCM v1.2.1, in
pkg/placement/controllers/scheduling/scheduling_controller.go.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gitops_dsf.hub.decisions import PAGE_CLUSTERS
from gitops_dsf.hub.names import GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL
from gitops_dsf.hub.objects import ClusterPredicate, GroupStrategy, Placement
from gitops_dsf.hub.placements import predicate_of
from gitops_dsf.hub.selectors import SelectorError
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import SUCCESS, Code, Status

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class DecisionObject:
    """A PlacementDecision as the controller would write it.

    Clusters are in order of name, not of rank.
    """

    name: str
    namespace: str
    labels: Mapping[str, str]
    clusters: tuple[str, ...]

    def to_object(self) -> dict[str, object]:
        """The Kubernetes object. OCM leaves `reason` empty and never writes a score."""
        return {
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "PlacementDecision",
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                "labels": dict(self.labels),
            },
            "status": {
                "decisions": [{"clusterName": name, "reason": ""} for name in self.clusters]
            },
        }


@dataclass(frozen=True, slots=True)
class Group:
    index: int
    name: str
    """Empty for the clusters that no decisionGroup selected."""
    decisions: tuple[DecisionObject, ...]
    clusters: tuple[str, ...] = field(repr=False)


def group_length(written: int | str | None, total: int) -> tuple[int, Status]:
    """The number of clusters in a group. A length outside of 1 to `total` means `total`."""
    length = 0
    if isinstance(written, str):
        # The CRD's pattern admits "5", and then the controller finds no percentage in it.
        percentage = written.removesuffix("%")
        if not written.endswith("%") or not _NUMBER.match(percentage):
            return total, Status(
                Code.MISCONFIGURED, f"{written} invalid type: string is not a percentage"
            )
        # The order of operations is that of the Go code, because it decides the last bit.
        share = float(percentage) / 100 * float(total)
        if math.isfinite(share):
            length = math.ceil(share)
    elif written is not None:
        length = written
    if not 0 < length <= total:
        length = total
    return length, SUCCESS


class DecidedGroups(NamedTuple):
    """The groups of a decision, and how the grouping went."""

    groups: tuple[Group, ...]
    status: Status


def decide_groups(
    placement: Placement, *, state: HubState, selected: Sequence[int]
) -> DecidedGroups:
    """Returns groups in order, with their PlacementDecisions.

    A mistake in the group strategy ends the grouping: earlier groups remain, the other clusters get
    no PlacementDecision, and existing ones are deleted.
    """
    parts, status = _cut(placement, state, selected)
    groups: list[Group] = []
    # PlacementDecisions are numbered through all groups. So a cluster that joins one group renames
    # the decisions of those after it.
    number = 0
    for index, (name, members) in enumerate(parts):
        labels = {
            PLACEMENT_LABEL: placement.metadata.name,
            GROUP_NAME_LABEL: name,
            GROUP_INDEX_LABEL: str(index),
        }
        pages: list[DecisionObject] = []
        # A group without clusters has one PlacementDecision, which is empty. Without it, consumers
        # would find no decision at all, which Argo CD takes for an error.
        for start in range(0, len(members) or 1, PAGE_CLUSTERS):
            number += 1
            page = DecisionObject(
                name=f"{placement.metadata.name}-decision-{number}",
                namespace=placement.metadata.namespace or "",
                labels=labels,
                clusters=members[start : start + PAGE_CLUSTERS],
            )
            pages.append(page)
        groups.append(Group(index, name, tuple(pages), members))
    return DecidedGroups(tuple(groups), status)


def _cut(
    placement: Placement, state: HubState, selected: Sequence[int]
) -> tuple[list[tuple[str, tuple[str, ...]]], Status]:
    """The name and the clusters of each group, in order."""
    strategy = GroupStrategy()
    decision_strategy = placement.spec.decision_strategy
    if decision_strategy and decision_strategy.group_strategy:
        strategy = decision_strategy.group_strategy
    parts: list[tuple[str, tuple[str, ...]]] = []
    length, status = group_length(strategy.clusters_per_decision_group, len(selected))
    if status.failed:
        return parts, status
    pool = set(selected)
    for group in strategy.decision_groups or ():
        # Groups match labels and claims alone: OCM gives them no CEL environment.
        try:
            wanted = predicate_of(ClusterPredicate(group.group_cluster_selector))
        except SelectorError as error:
            return parts, Status(Code.MISCONFIGURED, str(error))
        matched = pool & state.labels.select(wanted.labels) & state.claims.select(wanted.claims)
        pool -= matched
        parts.extend((group.group_name, members) for members in _chunks(matched, length, state))
    parts.extend(("", members) for members in _chunks(pool, length, state))
    return parts or [("", ())], SUCCESS


def _chunks(members: set[int], length: int, state: HubState) -> list[tuple[str, ...]]:
    """The names of clusters in pieces of `length`. No clusters are not a piece."""
    # The clusters are in order of name: here OCM loses the order of the scores, so readers do not
    # see which is best.
    names = [state.names[cluster] for cluster in sorted(members)]
    return [tuple(names[start : start + length]) for start in range(0, len(names), length or 1)]
