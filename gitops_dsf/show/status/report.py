"""The whole status of a hub: its headline, and every section in the order in which people read."""

from collections.abc import Iterator

from dsf_wire.text import printable_lines
from gitops_dsf.show.status.applications import application_lines
from gitops_dsf.show.status.clusters import cluster_lines
from gitops_dsf.show.status.failures import failure_lines
from gitops_dsf.show.status.matrix import score_lines
from gitops_dsf.show.status.moves import queue_lines, stop_text
from gitops_dsf.show.status.placements import placement_lines
from gitops_dsf.show.status.refuges import refuge_lines
from gitops_dsf.show.status.scorers import scorer_lines
from gitops_dsf.views.status.build import Overview
from gitops_dsf.wording import plural


def status_text(view: Overview, *, everything: bool) -> str:
    """Formats a view. With `everything` no list is shortened."""
    return printable_lines(_lines(view, everything=everything))


def _lines(view: Overview, *, everything: bool) -> Iterator[str]:
    yield _headline(view)
    # First, because it holds every application, whatever else is wrong.
    if view.queue is not None and view.queue.stopped:
        yield stop_text(view.queue.stopped)
    for unread in view.inputs.holes:
        yield f"not known: {unread}"
    yield ""
    if view.clusters:
        yield "Clusters"
        yield from cluster_lines(view.clusters, everything=everything)
        yield ""
    yield "Scorers"
    yield from scorer_lines(view.scorers, everything=everything)
    yield ""
    if any(scorer.shown for scorer in view.scorers):
        yield from score_lines(view.scorers, everything=everything)
        yield ""
    if any(scorer.failing for scorer in view.scorers):
        yield "Why there are no scores"
        now = view.inputs.now.timestamp()
        yield from failure_lines(view.scorers, everything=everything, now=now)
        yield ""
    yield "Placements"
    yield from placement_lines(view.placements, everything=everything)
    yield ""
    yield "Applications"
    yield from application_lines(view.applications, everything=everything)
    # A queue without a move has no lines, and then no heading either.
    moves = [] if view.queue is None else list(queue_lines(view.queue, everything=everything))
    if moves:
        yield ""
        yield "Paced moves"
        yield from moves
    if view.refuges:
        yield ""
        yield "Refuges"
        yield from refuge_lines(view.refuges, everything=everything)


def _headline(view: Overview) -> str:
    snapshot = view.inputs.snapshot
    clusters = plural(len(snapshot.clusters), "cluster")
    scorers = plural(len(view.scorers), "scorer")
    scores = plural(snapshot.score_count, "AddOnPlacementScore")
    # The hub's clock, because OCM compares validUntil with it. This machine's may differ.
    now = view.inputs.now
    return f"{snapshot.origin} at {now:%Y-%m-%d %H:%M:%S} UTC: {clusters}, {scorers}, {scores}"
