"""The two conditions of a Placement (scheduling_controller.go: newSatisfiedCondition,
newMisconfiguredCondition).
"""

from __future__ import annotations

from dataclasses import dataclass

from gitops_dsf.hub.objects import Placement
from gitops_dsf.simulator.membership import Membership
from gitops_dsf.simulator.status import Code, Status


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
        (unscheduled != 0, "NotAllDecisionsScheduled", f"{unscheduled} cluster decisions unscheduled"),
    ):
        if applies:
            return Condition("PlacementSatisfied", False, reason, message)
    return Condition("PlacementSatisfied", True, "AllDecisionsScheduled", "All cluster decisions scheduled")


def misconfigured_condition(status: Status) -> Condition:
    """PlacementMisconfigured. A mistake in the decision groups sets it, while
    PlacementSatisfied stays true.
    """
    if status.code is Code.MISCONFIGURED:
        return Condition("PlacementMisconfigured", True, "Misconfigured", f"{status.plugin}:{status.message}")
    return Condition(
        "PlacementMisconfigured", False, "Succeedconfigured", "Placement configurations check pass"
    )
