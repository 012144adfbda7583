"""Checks paced applications: moves that wait, maintenance windows, and refuges."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import msgspec

from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.moves.reasons import MoveReason
from gitops_dsf.hub.names import MOVES_CONFIGMAP, POD_LABEL
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import PACE_ANNOTATION, paced_ranking
from gitops_dsf.hub.times import age_text, timestamp_of
from gitops_dsf.pacing.maintenance import MaintenanceState
from gitops_dsf.pacing.refuges import published_refuges
from gitops_dsf.views.doctor.facts import RIGHTS, DoctorFacts
from gitops_dsf.views.doctor.finding import DoctorFinding, error, ok, unknown, warning
from gitops_dsf.views.status.inputs import HubPart
from gitops_dsf.views.status.queue import NO_MOVES
from gitops_dsf.wording import names_text, plural

LONG_WAIT_SECONDS: Final = 86_400.0
"""Moves that waited this long are reported."""


def moves(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Do paced moves go on?"""
    paced = 0
    for placement in facts.inputs.placements:
        paced += bool(placement.metadata.annotation(PACE_ANNOTATION))
    if not paced:
        yield ok("no Placement is paced")
        return
    unread = facts.missing(HubPart.MOVES)
    # A ledger that this user may not read says nothing of the reconciler, which reads it itself.
    if unread is not None and unread.refused:
        yield unknown(str(unread), RIGHTS)
        return
    if unread is not None:
        delete = facts.on_hub("delete", "configmap", MOVES_CONFIGMAP)
        yield error(
            f"no move begins, because it is not known what is under way: {unread}",
            f"{delete}  # the reconciler then starts with an empty ledger; first find out who wrote"
            " it",
        )
        return
    waiting = facts.inputs.moves.queue.waiting if facts.inputs.moves is not None else ()
    # The oldest one is enough: what holds it back mostly holds back the others, too.
    oldest = min(waiting, key=lambda move: move.since, default=None)
    if oldest is not None:
        seconds = facts.inputs.now.timestamp() - oldest.since
        # For a fleet that stopped itself, `moves-stopped` has the fix.
        if seconds > LONG_WAIT_SECONDS and oldest.reason != MoveReason.STOPPED:
            yield warning(
                f"{oldest.placement} has waited for {age_text(seconds)} to move from"
                f" {oldest.source} to {oldest.target}: {oldest.reason}: {oldest.message}",
                "gitops-dsf status shows the queue; a faster pace is spec.pace in gitops-dsf.yaml",
            )
    yield ok(f"{plural(paced, 'paced Placement')}, {plural(len(waiting), 'move')} waiting")


def windows(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Is maintenance done in time, and removed afterwards?"""
    stored = facts.inputs.moves
    state = MaintenanceState() if stored is None else stored.maintenance
    # `changes` is absent for a window that neither opens nor closes any more.
    past = sorted(window.name for window in state.windows if window.changes is None)
    if past:
        count = plural(len(past), "maintenance window")
        yield warning(
            f"{count} in the past: {names_text(past)}",
            "remove the Maintenance of this name from the fleet repository, or write a later end",
        )
    for drain in state.drains:
        if drain.late:
            end = timestamp_of(drain.until)
            yield warning(
                f"{drain.cluster} will not be empty by {end}, when {drain.maintenance} ends:"
                f" {drain.count} left",
                "raise concurrent or arrivalsPerCluster of spec.pace in gitops-dsf.yaml, or the"
                " end",
            )
    if state.windows:
        yield ok(f"{plural(len(state.windows), 'maintenance window')}, none of them past")
    else:
        yield ok("no maintenance of paced applications")


def refuges(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does every paced application have a refuge?"""
    published = published_refuges(facts.inputs.snapshot.scores)
    decisions = decided(facts.inputs.snapshot.decisions)
    held = defaultdict[str, set[str]](set)
    for hold in (facts.overview.queue or NO_MOVES).held or ():
        held[hold.placement].add(hold.cluster)
    count = 0
    without_cluster = []
    without_plan = []
    held_away = []
    for placement in facts.inputs.placements:
        clusters = decisions.get(placement.key, ())
        if not clusters or not _wants_refuge(placement):
            continue
        count += 1
        # A refuge on a cluster of the application itself does not help: it is lost together with
        # that cluster.
        if published.get(placement.key) in {None, *clusters}:
            others = set(facts.overview.eligible.get(placement.key, ())) - set(clusters)
            if others - held[placement.key]:
                without_plan.append(placement.key)
            elif others:
                held_away.append(placement.key)
            else:
                without_cluster.append(placement.key)
    # One finding for each cause, however many Placements have no refuge.
    if without_cluster:
        yield _no_cluster(without_cluster)
    if held_away:
        yield _held_away(held_away)
    if without_plan:
        yield _no_plan(facts, without_plan)
    if count:
        yield ok(f"{plural(count, 'application')} with a refuge")
    else:
        yield ok("no refuges are planned")


def _wants_refuge(placement: Placement) -> bool:
    try:
        ranking = paced_ranking(placement)
    except msgspec.DecodeError:
        return False  # the Placement is not paced
    return ranking is not None and ranking.refuges


def _no_cluster(placements: list[str]) -> DoctorFinding:
    have = "has" if len(placements) == 1 else "have"
    return warning(
        f"{names_text(placements)} {have} no refuge: no cluster besides its own is eligible",
        f"gitops-dsf status --placement {placements[0]}  # then widen its clusterSelector or"
        " clusterSets",
    )


def _held_away(placements: list[str]) -> DoctorFinding:
    have = "has" if len(placements) == 1 else "have"
    return warning(
        f"{names_text(placements)} {have} no refuge: every other eligible cluster is held after a"
        " return",
        f"gitops-dsf status --placement {placements[0]}  # shows until when, and what was measured",
    )


def _no_plan(facts: DoctorFacts, placements: list[str]) -> DoctorFinding:
    have = "has" if len(placements) == 1 else "have"
    logs = facts.on_hub("logs", "-l", POD_LABEL)
    return warning(
        f"{names_text(placements)} {have} no refuge: if its cluster fails, OCM chooses by the"
        " scores alone",
        f"{logs}  # it plans a refuge within a minute of a decision",
    )
