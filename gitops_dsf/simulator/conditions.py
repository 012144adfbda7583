"""The two conditions that a pass writes on a Placement.

Source: newSatisfiedCondition and newMisconfiguredCondition of OCM v1.2.1, in
pkg/placement/controllers/scheduling/scheduling_controller.go. Messages are those of the controller.
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
    # The order is that of the controller. A Placement without sets also selects nothing, and only
    # the first reason says why.
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
    # Error alone: a misconfigured Placement selects nothing, so it gets the next reason.
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
    """PlacementMisconfigured, which a mistake in the decision groups sets, too."""
    # PlacementSatisfied stays True after such a mistake.
    # Only the code Misconfigured counts: after an Error this condition says that all is well.
    if status.code is Code.MISCONFIGURED:
        return Condition(
            "PlacementMisconfigured", True, "Misconfigured", f"{status.plugin}:{status.message}"
        )
    return Condition(
        "PlacementMisconfigured", False, "Succeedconfigured", "Placement configurations check pass"
    )
