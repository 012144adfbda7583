"""Checks the reconciler, clocks, and what is paced: moves, maintenance, and refuges of applications."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from gitops_dsf.hub.metadata import age_text, timestamp_of
from gitops_dsf.hub.names import MOVES_CONFIGMAP, POD_LABEL
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import PACE_ANNOTATION, paced_ranking
from gitops_dsf.hub.placements import decided
from gitops_dsf.hub.pods import obstacles, read_leadership
from gitops_dsf.pacing.maintenance import MaintenanceState
from gitops_dsf.pacing.refuges import published_refuges
from gitops_dsf.views.doctor.facts import (
    RIGHTS,
    Facts,
    Finding,
    Source,
    error,
    name_of,
    ok,
    unknown,
    warning,
)
from gitops_dsf.views.status.inputs import Part
from gitops_dsf.wording import names_text, plural

CLOCK_WARNING: Final = 30.0
CLOCK_ERROR: Final = 300.0
"""Seconds. A short TTL is 900 s, so this error costs a third of it, and certificates start to be rejected."""


def reconciler(facts: Facts) -> Iterator[Finding]:
    """Does a reconciler lead?"""
    lease = facts.one(Source.LEASES)
    pods = facts.of(Source.RECONCILER_PODS)
    found = read_leadership(lease or {})
    if not found.stands(facts.inputs.now) and (reasons := obstacles(pods)):
        fix = facts.on_hub("describe", "pods", "-l", POD_LABEL)
        edit = "  # the image is spec.reconciler.image in gitops-dsf.yaml"
        yield error(f"no reconciler leads: {'; '.join(reasons)}", fix + edit)
        return
    if lease is None and pods:
        logs = facts.on_hub("logs", "-l", POD_LABEL)
        yield warning(f"no reconciler ever led; pod {name_of(pods[0])} is there", logs)
        return
    if lease is None:
        apply = (
            "apply",
            "--server-side",
            "--field-manager=argocd-controller",
            "-f",
            "rendered/reconciler",
        )
        yield warning(
            "no reconciler ever led: no status, no immediate moves, and with MakeBeforeBreak the old copies"
            " of applications stay",
            f"{facts.command(*apply)}  # spec.reconciler.enabled in gitops-dsf.yaml",
        )
        return
    find = facts.on_hub("get", "pods", "-l", POD_LABEL)
    if found.renewed is None:
        yield warning("the Lease of the reconciler was never renewed", find)
    elif found.stands(facts.inputs.now):
        yield ok(f"{found.holder or 'a replica that just stopped'} leads")
    else:
        ago = int((facts.inputs.now - found.renewed).total_seconds())
        lease_of = f"the Lease of {found.holder or 'nobody'}"
        yield warning(f"no reconciler leads: {lease_of} was last renewed {ago} s ago", find)


def clock(facts: Facts) -> Iterator[Finding]:
    """Do the hub's clock and this machine's agree? Agents reckon validUntil from the hub's; your logs and
    commands use yours.
    """
    offset = facts.clock_offset
    if offset is None:
        yield unknown("the hub's answers carry no Date")
        return
    ahead = f"the hub's clock is {abs(offset):.0f} s {'ahead of' if offset > 0 else 'behind'} this machine's"
    where = "on this machine and on the hub's nodes: one of them does not follow a time server"
    if abs(offset) >= CLOCK_WARNING:
        told = error if abs(offset) >= CLOCK_ERROR else warning
        yield told(ahead, f"timedatectl status  # {where}")
    yield ok("the hub's clock and this machine's agree")


LONG_SECONDS: Final = 86_400.0
"""A move that has waited for so long is told."""


def paced(facts: Facts) -> Iterator[Finding]:
    """Do paced moves go on?"""
    count = sum(bool(item.metadata.annotation(PACE_ANNOTATION)) for item in facts.inputs.placements)
    if not count:
        yield ok("no Placement is paced")
        return
    missing = facts.missing(Part.MOVES)
    if missing is not None and missing.refused:
        yield unknown(str(missing), RIGHTS)
        return
    if missing is not None:
        fix = facts.on_hub("delete", "configmap", MOVES_CONFIGMAP)
        fix += "  # then the reconciler starts anew; look who wrote it"
        yield error(f"no move begins, because nobody knows what is under way: {missing}", fix)
        return
    waiting = facts.inputs.moves.queue.waiting if facts.inputs.moves is not None else ()
    oldest = min(waiting, key=lambda each: each.since, default=None)
    seconds = 0.0 if oldest is None else facts.inputs.now.timestamp() - oldest.since
    if oldest is not None and seconds > LONG_SECONDS:
        move = f"to move from {oldest.source} to {oldest.target}: {oldest.reason}: {oldest.message}"
        fix = "gitops-dsf status shows the queue; a faster pace is spec.pace in gitops-dsf.yaml"
        yield warning(f"{oldest.placement} has waited for {age_text(seconds)} {move}", fix)
    yield ok(f"{plural(count, 'paced Placement')}, {plural(len(waiting), 'move')} waiting")


def windows(facts: Facts) -> Iterator[Finding]:
    """Is maintenance done in time, and removed afterwards?"""
    moves = facts.inputs.moves
    state = MaintenanceState() if moves is None else moves.maintenance
    if past := sorted(each.name for each in state.windows if each.changes is None):
        fix = "remove the Maintenance of this name from the fleet repository, or write a later end"
        yield warning(
            f"{plural(len(past), 'maintenance window')} in the past: {names_text(past)}", fix
        )
    for each in state.drains:
        if each.late:
            when = f"by {timestamp_of(each.until)}, when {each.maintenance} ends"
            fix = (
                "raise concurrent or arrivalsPerCluster of spec.pace in gitops-dsf.yaml, or the end"
            )
            yield warning(f"{each.cluster} will not be empty {when}: {each.count} left", fix)
    count = plural(len(state.windows), "maintenance window")
    yield ok(
        f"{count}, none of them past" if state.windows else "no maintenance of paced applications"
    )


def planned(facts: Facts) -> Iterator[Finding]:
    """Does every paced application have a refuge?"""
    wanting = [item for item in facts.inputs.placements if _wants_refuge(item)]
    refuges = published_refuges(facts.inputs.snapshot.scores)
    decisions = decided(facts.inputs.snapshot.decisions)
    count, stuck, open_ones = 0, list[str](), list[str]()
    for item in wanting:
        clusters = decisions.get(item.key, ())
        if not clusters:
            continue
        count += 1
        if refuges.get(item.key) in {None, *clusters}:
            others = set(facts.overview.eligible.get(item.key, ())) - set(clusters)
            (open_ones if others else stuck).append(item.key)
    yield from _without(facts, stuck, open_ones)
    yield ok(f"{plural(count, 'application')} with a refuge" if count else "no refuges are planned")


def _wants_refuge(item: Placement) -> bool:
    try:
        ranking = paced_ranking(item)
    except msgspec.DecodeError:
        return False  # the Placement is not paced
    return ranking is not None and ranking.refuges


def _without(facts: Facts, stuck: Sequence[str], others: Sequence[str]) -> Iterator[Finding]:
    """One finding for each cause, however many Placements have no refuge."""
    if stuck:
        have = "has" if len(stuck) == 1 else "have"
        fix = f"gitops-dsf status --placement {stuck[0]}  # then widen its clusterSelector or clusterSets"
        yield warning(
            f"{names_text(stuck)} {have} no refuge: no cluster besides its own is eligible", fix
        )
    if others:
        have = "has" if len(others) == 1 else "have"
        fix = f"{facts.on_hub('logs', '-l', POD_LABEL)}  # it plans a refuge within a minute of a decision"
        yield warning(
            f"{names_text(others)} {have} no refuge: if its cluster fails, OCM chooses by the scores alone",
            fix,
        )
