"""The text of `simulate` and `explain` beside verdicts: assumptions, waves, paced Placements."""

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.multikueue.byscores import JobsByScores
from gitops_dsf.show.preview.maintenance import window_text
from gitops_dsf.show.preview.pace import move_text, wave_lines
from gitops_dsf.show.status.moves import queue_lines, stop_text
from gitops_dsf.show.status.placements import order_text
from gitops_dsf.views.preview.paced import DesiredPacedMove, PacedWaves
from gitops_dsf.views.preview.windows import WindowView
from gitops_dsf.views.status.queue import QueueView
from gitops_dsf.wording import names_text, plural


def assumption_lines(bindings: Sequence[str]) -> Iterator[str]:
    """Yields which ManagedClusterSetBindings are assumed; nothing if none is."""
    if len(bindings) == 1:
        yield (
            f"ManagedClusterSetBinding {bindings[0]} is assumed: this repository does not render"
            " it, and the bindings of the hub are not known (--context reads them)"
        )
    elif bindings:
        yield (
            f"ManagedClusterSetBindings {names_text(bindings)} are assumed: this repository does"
            " not render them, and the bindings of the hub are not known (--context reads them)"
        )


def waves_lines(paced: PacedWaves, windows: Sequence[WindowView]) -> Iterator[str]:
    """Yields what is open and under way, and the moves that follow, wave by wave."""
    if paced.stopped_since is not None:
        yield stopped_text(paced.stopped_since)
    for window in windows:
        yield f"maintenance {window.name} is open: {window_text(window)}"
    if paced.under_way:
        yield f"under way, taken as done: {', '.join(map(move_text, paced.under_way))}"
    if paced.undecided:
        names = names_text(paced.undecided)
        yield f"without a decision in this data, so OCM places them at once: {names}"
    moves = list(paced.moves)
    verified = 0
    for move in moves:
        verified += move.verified is not UNSET
    if verified:
        yield (
            f"{plural(len(moves), 'move')} in {plural(len(paced.waves), 'wave')},"
            f" {verified} of them verified:"
        )
    elif moves:
        yield f"{plural(len(moves), 'move')} in {plural(len(paced.waves), 'wave')}:"
    else:
        yield "no paced move follows"
    yield from wave_lines(paced.waves)
    if not paced.complete:
        yield "... and more"


def stopped_text(since: float) -> str:
    """Formats that moves stopped because too many applications came back."""
    return f"moves stopped at {timestamp_of(since)}, and nobody has acknowledged it: no move begins"


def pace_lines(
    move: DesiredPacedMove | None, queue: QueueView | None, *, has_scores: bool
) -> Iterator[str]:
    """Yields where a paced Placement would move, and what it waits for on the hub."""
    if move is not None:
        yield (
            f"  paced: it holds its clusters; by the written weights it would move {move.source} ->"
            f" {move.target} ({move.points:+g} points)"
        )
    elif has_scores:
        yield "  paced: it holds its clusters; by the written weights it would stay"
    else:
        yield "  paced: it holds its clusters; by the written weights the reconciler moves it"
    # Its reason to wait is known from the hub's ConfigMap, not from the scores.
    if queue is not None:
        if queue.stopped:
            yield f"  {stop_text(queue.stopped)}"
        yield from queue_lines(queue, everything=True)


def desired_clusters_line(clusters: Sequence[str]) -> str:
    """Formats the clusters that the written weights ask for, while a Placement holds others."""
    wish = names_text(clusters) or "no cluster"
    return f"  paced: it holds its clusters; the written weights ask for {wish}"


def jobs_lines(jobs: JobsByScores | None, *, unknown: str = "") -> Iterator[str]:
    """The order in which jobs would be sent to clusters by the scores alone.

    `unknown` is the MultiKueueConfig that the Placement orders, where there are no scores.
    """
    if unknown:
        yield (
            f"  jobs of {unknown} go to the eligible clusters in the order of the scores, which are"
            " not known here"
        )
    if jobs is not None:
        yield (
            f"  by these scores alone, jobs of {jobs.config} go to {order_text(jobs.clusters)};"
            " gitops-dsf status shows the list on the hub, which stickiness and running jobs hold"
        )
