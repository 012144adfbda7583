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

    def condition(satisfied: bool, reason: str, message: str) -> Condition:
        return Condition("PlacementSatisfied", satisfied, reason, message)

    if membership.bindings == 0:
        return condition(
            False,
            "NoManagedClusterSetBindings",
            "No valid ManagedClusterSetBindings found in placement namespace",
        )
    if not membership.sets:
        listed = ",".join(placement.spec.cluster_sets or ())
        return condition(
            False, "NoIntersection", f"None of ManagedClusterSets [{listed}] is bound to placement namespace"
        )
    if not membership.clusters:
        sets = ",".join(membership.sets)
        return condition(
            False,
            "AllManagedClusterSetsEmpty",
            f"All ManagedClusterSets [{sets}] have no member ManagedCluster",
        )
    if status.code is Code.ERROR:
        return condition(False, "NotAllDecisionsScheduled", status.message)
    if selected == 0:
        return condition(
            False, "NoManagedClusterMatched", "No ManagedCluster matches any of the cluster predicate"
        )
    if unscheduled == 0:
        return condition(True, "AllDecisionsScheduled", "All cluster decisions scheduled")
    return condition(False, "NotAllDecisionsScheduled", f"{unscheduled} cluster decisions unscheduled")


def misconfigured_condition(status: Status) -> Condition:
    """PlacementMisconfigured. A mistake in the decision groups sets it, while
    PlacementSatisfied stays true.
    """
    if status.code is Code.MISCONFIGURED:
        return Condition("PlacementMisconfigured", True, "Misconfigured", f"{status.plugin}:{status.message}")
    return Condition(
        "PlacementMisconfigured", False, "Succeedconfigured", "Placement configurations check pass"
    )
