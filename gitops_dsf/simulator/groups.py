"""What a pass writes (scheduling_controller.go): decision groups with their PlacementDecisions
(generateDecisionGroups), the two conditions of a Placement (newSatisfiedCondition,
newMisconfiguredCondition), and notes for people: which traps a verdict ran into.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gitops_dsf.hub.names import GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL
from gitops_dsf.hub.objects import ClusterPredicate, Placement
from gitops_dsf.hub.placements import PAGE_CLUSTERS, predicate_of
from gitops_dsf.hub.selectors import SelectorError
from gitops_dsf.simulator.filters import Membership
from gitops_dsf.simulator.prioritizers import selector_error
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import SUCCESS, Code, Status

if TYPE_CHECKING:
    from gitops_dsf.simulator.verdict import Verdict


_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class DecisionObject:
    """A PlacementDecision as the controller would write it. Clusters are in order of name, not of rank."""

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
    """ClustersPerDecisionGroup as a number of clusters; anything outside 1..total means total."""
    length = 0
    if isinstance(written, str):
        percentage = written.removesuffix("%")
        if not written.endswith("%") or not _NUMBER.match(percentage):
            message = f"{written} invalid type: string is not a percentage"
            return total, Status(Code.MISCONFIGURED, message)
        share = float(percentage) / 100 * float(total)
        length = math.ceil(share) if math.isfinite(share) else 0
    elif written is not None:
        length = written
    return (length if 0 < length <= total else total), SUCCESS


def decide_groups(
    placement: Placement, *, state: HubState, selected: Sequence[int]
) -> tuple[tuple[Group, ...], Status]:
    """Returns groups in order, with their PlacementDecisions.

    A mistake in the group strategy ends the grouping: earlier groups remain, the other clusters get no
    PlacementDecision, and existing ones are deleted.
    """
    cut, status = _cut(placement, state, selected)
    groups: list[Group] = []
    number = 1
    for index, (name, members) in enumerate(cut):
        starts = range(0, len(members) or 1, PAGE_CLUSTERS)
        chunks = [members[start : start + PAGE_CLUSTERS] for start in starts]
        decisions = tuple(
            DecisionObject(
                name=f"{placement.metadata.name}-decision-{number + offset}",
                namespace=placement.metadata.namespace or "",
                labels={
                    PLACEMENT_LABEL: placement.metadata.name,
                    GROUP_NAME_LABEL: name,
                    GROUP_INDEX_LABEL: str(index),
                },
                clusters=chunk,
            )
            for offset, chunk in enumerate(chunks)
        )
        number += len(decisions)
        groups.append(Group(index, name, decisions, members))
    return tuple(groups), status


def _cut(
    placement: Placement, state: HubState, selected: Sequence[int]
) -> tuple[list[tuple[str, tuple[str, ...]]], Status]:
    strategy = (
        placement.spec.decision_strategy.group_strategy
        if placement.spec.decision_strategy
        else None
    )
    length, status = group_length(
        strategy.clusters_per_decision_group if strategy else None, len(selected)
    )
    cut: list[tuple[str, tuple[str, ...]]] = []
    if status.failed:
        return cut, status
    pool = set(selected)
    for group in (strategy.decision_groups if strategy else None) or ():
        try:
            wanted = predicate_of(ClusterPredicate(group.group_cluster_selector))
        except SelectorError as error:
            return cut, Status(Code.MISCONFIGURED, str(error))
        matched = pool & state.labels.select(wanted.labels) & state.claims.select(wanted.claims)
        pool -= matched
        cut.extend((group.group_name, chunk) for chunk in _chunks(matched, length, state))
    cut.extend(("", chunk) for chunk in _chunks(pool, length, state))
    return cut or [("", ())], SUCCESS


def _chunks(members: set[int], length: int, state: HubState) -> list[tuple[str, ...]]:
    names = [state.names[cluster] for cluster in sorted(members)]
    return (
        [tuple(names[start : start + length]) for start in range(0, len(names), length)]
        if names
        else []
    )


@dataclass(frozen=True, slots=True)
class Condition:
    type: str
    status: bool
    reason: str
    message: str

    def to_list(self) -> list[str]:
        return [str(self.status), self.reason, self.message]


def satisfied_condition(
    placement: Placement, *, membership: Membership, selected: int, unscheduled: int, status: Status
) -> Condition:
    """PlacementSatisfied: the first rule that applies."""
    listed, sets = ",".join(placement.spec.cluster_sets or ()), ",".join(membership.sets)
    for applies, reason, message in (
        (
            membership.bindings == 0,
            "NoManagedClusterSetBindings",
            "No valid ManagedClusterSetBindings found in placement namespace",
        ),
        (
            not membership.sets,
            "NoIntersection",
            f"None of ManagedClusterSets [{listed}] is bound to placement namespace",
        ),
        (
            not membership.clusters,
            "AllManagedClusterSetsEmpty",
            f"All ManagedClusterSets [{sets}] have no member ManagedCluster",
        ),
        (status.code is Code.ERROR, "NotAllDecisionsScheduled", status.message),
        (
            selected == 0,
            "NoManagedClusterMatched",
            "No ManagedCluster matches any of the cluster predicate",
        ),
        (
            unscheduled != 0,
            "NotAllDecisionsScheduled",
            f"{unscheduled} cluster decisions unscheduled",
        ),
    ):
        if applies:
            return Condition("PlacementSatisfied", False, reason, message)
    return Condition(
        "PlacementSatisfied", True, "AllDecisionsScheduled", "All cluster decisions scheduled"
    )


def misconfigured_condition(status: Status) -> Condition:
    """PlacementMisconfigured: a mistake in the decision groups sets it, PlacementSatisfied stays true."""
    if status.code is Code.MISCONFIGURED:
        return Condition(
            "PlacementMisconfigured", True, "Misconfigured", f"{status.plugin}:{status.message}"
        )
    return Condition(
        "PlacementMisconfigured", False, "Succeedconfigured", "Placement configurations check pass"
    )


RESYNC_SECONDS = 600
"""Resync period of the informers: OCM notices at the latest then what sends no event."""


def notes_on(verdict: "Verdict") -> tuple[str, ...]:
    """Returns the notes, the most severe first."""
    return (*_controller(verdict), *_decisions(verdict), *_scores(verdict))


def _controller(verdict: "Verdict") -> Iterator[str]:
    outcome = str(verdict.outcome)
    if verdict.panic is not None:
        yield (
            f"numberOfClusters is {verdict.source.spec.number_of_clusters}: the placement controller panics"
            f" on each reconciliation of this Placement ({verdict.panic}) and recovers, so its old decision"
            " stays and no condition shows it; set it to 0 or more. With OPENSHIFT_ON_PANIC=crash the process"
            " ends, and no Placement of this hub is scheduled"
        )
    if outcome == "Disabled":
        yield "scheduling is disabled by annotation: PlacementDecisions stay as they are"
    if outcome == "Deleting":
        yield "the Placement is being deleted: OCM does not schedule it"
    if outcome == "Failed":
        yield f"OCM ends its pass before scheduling and keeps the decisions: {verdict.sync_error}"
    yield from (str(reason) for reason in verdict.unsupported)
    if selector_error(verdict.source):
        yield (
            "the Placement's name is longer than 63 bytes, so it is no label value: an API server refuses its"
            " PlacementDecisions, and OCM hides that error; shorten the name"
        )


def _decisions(verdict: "Verdict") -> Iterator[str]:
    if str(verdict.outcome) != "Scheduled":
        return
    if verdict.status.failed:
        what = "PlacementMisconfigured" if verdict.status.code is Code.MISCONFIGURED else "an error"
        lost = ", ".join(verdict.evicted[:5]) + (" and others" if len(verdict.evicted) > 5 else "")
        if verdict.evicts_everything:
            yield f"{what} ({verdict.status.message}) empties the decisions: evicted are {lost}"
        else:
            yield (
                f"{what} ({verdict.status.message}): OCM writes no decisions for the rest until it is"
                " repaired"
            )
        if verdict.satisfied and verdict.satisfied.status:
            yield "PlacementSatisfied stays True although PlacementDecisions are deleted"
    elif verdict.source.spec.number_of_clusters == 0:
        yield "numberOfClusters is 0: nothing is selected, and PlacementSatisfied is False"


def _scores(verdict: "Verdict") -> Iterator[str]:
    if verdict.status.code is Code.WARNING:
        yield (
            f"{verdict.status.message}: each counts as 0, which beats every negative score, and OCM repeats"
            " its pass with growing delay until the score is renewed"
        )
    if verdict.next_expiry is not None:
        expiry = verdict.next_expiry.isoformat()
        yield f"the next score expires at {expiry}; OCM notices up to {RESYNC_SECONDS} s later"
