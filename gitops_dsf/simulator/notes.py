"""Notes for people on a verdict: the traps of OCM that concern the Placement.

A note says what OCM v1.2.1 does not show in the conditions of a Placement, and what to do.
docs/decisions/scheduler.md explains the traps.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from gitops_dsf.hub.objects import Placement
from gitops_dsf.simulator.cel.function import Unsupported
from gitops_dsf.simulator.conditions import Condition
from gitops_dsf.simulator.outcome import Outcome
from gitops_dsf.simulator.prioritizers import selector_error
from gitops_dsf.simulator.status import Code, Status

# pkg/placement/controllers/manager.go of OCM v1.2.1 starts its informers with 10 minutes. Nothing
# else starts a pass when a score expires, or when a score changes that only CEL reads.
RESYNC_SECONDS = 600
"""Resync period of OCM's informers.

What sends no event is noticed after this time at the latest.
"""

MAX_NAMED_CLUSTERS = 5
"""A note names that many clusters, and says that there are others."""


def outcome_notes(
    placement: Placement,
    outcome: Outcome,
    *,
    panic: str | None,
    sync_error: str | None,
    unsupported: Sequence[Unsupported],
) -> Iterator[str]:
    """The reasons why the controller schedules nothing, or why it cannot write its decision."""
    if panic is not None:
        yield (
            f"numberOfClusters is {placement.spec.number_of_clusters}: the placement controller"
            f" panics on each reconciliation of this Placement ({panic}) and recovers, so its old"
            " decision stays and no condition shows it; set it to 0 or more. With"
            " OPENSHIFT_ON_PANIC=crash the process ends, and no Placement of this hub is scheduled"
        )
    if outcome is Outcome.DISABLED:
        yield "scheduling is disabled by annotation: PlacementDecisions stay as they are"
    if outcome is Outcome.DELETING:
        yield "the Placement is being deleted: OCM does not schedule it"
    if outcome is Outcome.FAILED:
        yield f"OCM ends its pass before scheduling and keeps the decisions: {sync_error}"
    yield from map(str, unsupported)
    if selector_error(placement):
        yield (
            "the Placement's name is longer than 63 bytes, so it is not a valid label value: the"
            " API server refuses its PlacementDecisions, and OCM hides that error; shorten the name"
        )


def decision_notes(
    placement: Placement,
    *,
    status: Status,
    satisfied: Condition | None,
    evicted: Sequence[str],
    evicts_everything: bool,
) -> Iterator[str]:
    """The effects of mistakes on the decisions of a Placement that is scheduled."""
    if status.failed:
        yield _mistake_note(status, evicted, evicts_everything=evicts_everything)
        if satisfied and satisfied.status:
            yield "PlacementSatisfied stays True although PlacementDecisions are deleted"
    elif placement.spec.number_of_clusters == 0:
        yield "numberOfClusters is 0: nothing is selected, and PlacementSatisfied is False"


def _mistake_note(status: Status, evicted: Sequence[str], *, evicts_everything: bool) -> str:
    misconfigured = status.code is Code.MISCONFIGURED
    if evicts_everything and misconfigured:
        return (
            f"PlacementMisconfigured ({status.message}) empties the decisions: evicted are"
            f" {_listed(evicted)}"
        )
    if evicts_everything:
        return f"an error ({status.message}) empties the decisions: evicted are {_listed(evicted)}"
    if misconfigured:
        return (
            f"PlacementMisconfigured ({status.message}): OCM writes no decisions for the rest until"
            " it is repaired"
        )
    return f"an error ({status.message}): OCM writes no decisions for the rest until it is repaired"


def _listed(clusters: Sequence[str]) -> str:
    """The first clusters by name."""
    named = ", ".join(clusters[:MAX_NAMED_CLUSTERS])
    if len(clusters) > MAX_NAMED_CLUSTERS:
        return f"{named} and others"
    return named


def score_notes(status: Status, next_expiry: datetime | None) -> Iterator[str]:
    """Scores that have expired, and the one that expires next."""
    if status.code is Code.WARNING:
        yield (
            f"{status.message}: each counts as 0, which beats every negative score, and OCM repeats"
            " its pass with growing delay until the score is renewed"
        )
    if next_expiry is not None:
        yield (
            f"the next score expires at {next_expiry.isoformat()}; OCM notices up to"
            f" {RESYNC_SECONDS} s later"
        )
