"""The two conditions of a Placement (scheduling_controller.go: newSatisfiedCondition,
newMisconfiguredCondition), and notes for people: which traps a verdict ran into.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitops_dsf.hub.objects import Placement
from gitops_dsf.simulator.filters import Membership
from gitops_dsf.simulator.prioritizers import selector_error
from gitops_dsf.simulator.status import Code, Status

if TYPE_CHECKING:
    from gitops_dsf.simulator.verdict import Verdict


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
