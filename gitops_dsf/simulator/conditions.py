"""The two conditions that a pass writes on a Placement.

Sources: newSatisfiedCondition and newMisconfiguredCondition of scheduling_controller.go (OCM v1.2.1).
Messages are those of the controller.
"""

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
    """PlacementSatisfied: the first reason that applies."""
    if membership.bindings == 0:
        return _unsatisfied(
            "NoManagedClusterSetBindings",
            "No valid ManagedClusterSetBindings found in placement namespace",
        )
    if not membership.sets:
        listed = ",".join(placement.spec.cluster_sets or ())
        return _unsatisfied(
            "NoIntersection",
            f"None of ManagedClusterSets [{listed}] is bound to placement namespace",
        )
    if not membership.clusters:
        return _unsatisfied(
            "AllManagedClusterSetsEmpty",
            f"All ManagedClusterSets [{','.join(membership.sets)}] have no member ManagedCluster",
        )
    if status.code is Code.ERROR:
        return _unsatisfied("NotAllDecisionsScheduled", status.message)
    if selected == 0:
        return _unsatisfied(
            "NoManagedClusterMatched",
            "No ManagedCluster matches any of the cluster predicate",
        )
    if unscheduled != 0:
        return _unsatisfied(
            "NotAllDecisionsScheduled", f"{unscheduled} cluster decisions unscheduled"
        )
    return Condition(
        "PlacementSatisfied", True, "AllDecisionsScheduled", "All cluster decisions scheduled"
    )


def _unsatisfied(reason: str, message: str) -> Condition:
    return Condition("PlacementSatisfied", False, reason, message)


def misconfigured_condition(status: Status) -> Condition:
    """PlacementMisconfigured. A mistake in the decision groups sets it; PlacementSatisfied stays True."""
    if status.code is Code.MISCONFIGURED:
        return Condition(
            "PlacementMisconfigured", True, "Misconfigured", f"{status.plugin}:{status.message}"
        )
    return Condition(
        "PlacementMisconfigured", False, "Succeedconfigured", "Placement configurations check pass"
    )
