"""Notes for people on a verdict: which traps of OCM it ran into.

The messages say what OCM v1.2.1 does and does not show. docs/decisions/scheduler.md explains the traps.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitops_dsf.simulator.prioritizers import selector_error
from gitops_dsf.simulator.status import Code

if TYPE_CHECKING:
    from gitops_dsf.simulator.verdict import Verdict


RESYNC_SECONDS = 600
"""Resync period of OCM's informers: what sends no event is noticed after this time at the latest."""

MAX_NAMED_CLUSTERS = 5
"""A note names that many clusters, and says that there are others."""


def notes_on(verdict: "Verdict") -> tuple[str, ...]:
    """The notes, the most severe first."""
    return (*_on_the_controller(verdict), *_on_decisions(verdict), *_on_scores(verdict))


def _on_the_controller(verdict: "Verdict") -> Iterator[str]:
    outcome = str(verdict.outcome)
    if verdict.panic is not None:
        yield (
            f"numberOfClusters is {verdict.source.spec.number_of_clusters}: the placement controller"
            f" panics on each reconciliation of this Placement ({verdict.panic}) and recovers, so its"
            " old decision stays and no condition shows it; set it to 0 or more. With"
            " OPENSHIFT_ON_PANIC=crash the process ends, and no Placement of this hub is scheduled"
        )
    if outcome == "Disabled":
        yield "scheduling is disabled by annotation: PlacementDecisions stay as they are"
    if outcome == "Deleting":
        yield "the Placement is being deleted: OCM does not schedule it"
    if outcome == "Failed":
        yield f"OCM ends its pass before scheduling and keeps the decisions: {verdict.sync_error}"
    yield from map(str, verdict.unsupported)
    if selector_error(verdict.source):
        yield (
            "the Placement's name is longer than 63 bytes, so it is not a valid label value: the API"
            " server refuses its PlacementDecisions, and OCM hides that error; shorten the name"
        )


def _on_decisions(verdict: "Verdict") -> Iterator[str]:
    if str(verdict.outcome) != "Scheduled":
        return
    if verdict.status.failed:
        yield _on_a_failure(verdict)
        if verdict.satisfied and verdict.satisfied.status:
            yield "PlacementSatisfied stays True although PlacementDecisions are deleted"
    elif verdict.source.spec.number_of_clusters == 0:
        yield "numberOfClusters is 0: nothing is selected, and PlacementSatisfied is False"


def _on_a_failure(verdict: "Verdict") -> str:
    kind = "an error"
    if verdict.status.code is Code.MISCONFIGURED:
        kind = "PlacementMisconfigured"
    if not verdict.evicts_everything:
        return (
            f"{kind} ({verdict.status.message}): OCM writes no decisions for the rest until it is"
            " repaired"
        )
    evicted = ", ".join(verdict.evicted[:MAX_NAMED_CLUSTERS])
    if len(verdict.evicted) > MAX_NAMED_CLUSTERS:
        evicted += " and others"
    return f"{kind} ({verdict.status.message}) empties the decisions: evicted are {evicted}"


def _on_scores(verdict: "Verdict") -> Iterator[str]:
    if verdict.status.code is Code.WARNING:
        yield (
            f"{verdict.status.message}: each counts as 0, which beats every negative score, and OCM"
            " repeats its pass with growing delay until the score is renewed"
        )
    if verdict.next_expiry is not None:
        yield (
            f"the next score expires at {verdict.next_expiry.isoformat()}; OCM notices up to"
            f" {RESYNC_SECONDS} s later"
        )
