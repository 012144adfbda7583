"""Checks maintenance: windows that are past, and drains that will not be done."""

from collections.abc import Iterator

from gitops_dsf.hub.timestamp import timestamp_of
from gitops_dsf.pacing.maintenance import MaintenanceState
from gitops_dsf.views.doctor.facts import Facts
from gitops_dsf.views.doctor.finding import Finding, ok, warning
from gitops_dsf.wording import names_text, plural


def windows(facts: Facts) -> Iterator[Finding]:
    """Is maintenance done in time, and removed afterwards?"""
    moves = facts.inputs.moves
    state = MaintenanceState() if moves is None else moves.maintenance
    past = sorted(each.name for each in state.windows if each.changes is None)
    if past:
        yield warning(
            f"{plural(len(past), 'maintenance window')} in the past: {names_text(past)}",
            "remove the Maintenance of this name from the fleet repository, or write a later end",
        )
    for each in state.drains:
        if each.late:
            yield warning(
                f"{each.cluster} will not be empty by {timestamp_of(each.until)}, when {each.maintenance}"
                f" ends: {each.count} left",
                "raise concurrent or arrivalsPerCluster of spec.pace in gitops-dsf.yaml, or the end",
            )
    count = plural(len(state.windows), "maintenance window")
    yield ok(f"{count}, none of them past" if state.windows else "no maintenance of paced applications")
