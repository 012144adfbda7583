"""Checks what is paced: moves, maintenance, and where applications go when their cluster fails."""

from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from gitops_dsf.hub.metadata import age_text, timestamp_of
from gitops_dsf.hub.names import MOVES_CONFIGMAP, POD_LABEL
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import PACE_ANNOTATION, paced_ranking
from gitops_dsf.hub.placements import decided
from gitops_dsf.pacing.maintenance import MaintenanceState
from gitops_dsf.pacing.refuges import published_refuges
from gitops_dsf.views.doctor.facts import Facts
from gitops_dsf.views.doctor.finding import RIGHTS, Finding, error, ok, unknown, warning
from gitops_dsf.views.status import Part
from gitops_dsf.wording import names_text, plural

LONG_SECONDS: Final = 86_400.0
"""A move that has waited for so long is told."""


def paced(facts: Facts) -> Iterator[Finding]:
    """Do paced moves go on?"""
    count = sum(item.metadata.annotation(PACE_ANNOTATION) is not None for item in facts.inputs.placements)
    if not count:
        yield ok("no Placement is paced")
        return
    missing = facts.missing(Part.MOVES)
    if missing is not None and missing.refused:
        yield unknown(str(missing), RIGHTS)
        return
    if missing is not None:
        delete = facts.command("-n", facts.hub_namespace, "delete", "configmap", MOVES_CONFIGMAP)
        yield error(
            f"no move begins, because nobody knows what is under way: {missing}",
            f"{delete}  # then the reconciler starts anew; look who wrote it",
        )
        return
    waiting = facts.inputs.moves.queue.waiting if facts.inputs.moves is not None else ()
    oldest = min(waiting, key=lambda each: each.since, default=None)
    seconds = 0.0 if oldest is None else facts.inputs.now.timestamp() - oldest.since
    if oldest is not None and seconds > LONG_SECONDS:
        yield warning(
            f"{oldest.placement} has waited for {age_text(seconds)} to move from {oldest.source} to"
            f" {oldest.target}: {oldest.reason}: {oldest.message}",
            "gitops-dsf status shows the queue; a faster pace is spec.pace in gitops-dsf.yaml",
        )
    yield ok(f"{plural(count, 'paced Placement')}, {plural(len(waiting), 'move')} waiting")


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


def planned(facts: Facts) -> Iterator[Finding]:
    """Does every paced application have a refuge?"""
    wanting = [item for item in facts.inputs.placements if _wants_refuge(item)]
    refuges = published_refuges(facts.inputs.snapshot.scores)
    decisions = decided(facts.inputs.snapshot.decisions)
    count = 0
    for item in wanting:
        clusters = decisions.get(item.key, ())
        if not clusters:
            continue
        count += 1
        if refuges.get(item.key) in {None, *clusters}:
            yield _without(facts, item, clusters)
    yield ok(f"{plural(count, 'application')} with a refuge" if count else "no refuges are planned")


def _wants_refuge(item: Placement) -> bool:
    try:
        ranking = paced_ranking(item)
    except msgspec.DecodeError:
        return False  # the Placement is not paced
    return ranking is not None and ranking.refuges


def _without(facts: Facts, item: Placement, clusters: Collection[str]) -> Finding:
    what = f"{item.key} has no refuge"
    others = set(facts.overview.eligible.get(item.key, ())) - set(clusters)
    if not others:
        return warning(
            f"{what}: no cluster besides its own is eligible",
            f"gitops-dsf status --placement {item.key}  # then widen its clusterSelector or clusterSets",
        )
    logs = facts.command("-n", facts.hub_namespace, "logs", "-l", POD_LABEL)
    return warning(
        f"{what}: if its cluster fails, OCM chooses by the scores alone",
        f"{logs}  # it plans a refuge within a minute of a decision",
    )
