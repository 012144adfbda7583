"""Placements: their decisions, scores that would flip them, and better clusters that stay out."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import UNSET

from gitops_dsf.hub.points import points_text
from gitops_dsf.multikueue.byscores import OrderedCluster
from gitops_dsf.show.status.notes import order_note_text, placement_note_text
from gitops_dsf.simulator.explain import Lead
from gitops_dsf.views.status.joborders import JobOrderView
from gitops_dsf.views.status.placements import DecisionFlip, PlacementView
from gitops_dsf.wording import names_text, plural, prioritizer_text

MAX_ROWS: Final = 10
"""Placements shown without --all. Those with problems come first."""


def placement_lines(views: Sequence[PlacementView], *, everything: bool) -> Iterator[str]:
    """Yields each Placement with what is to know about it. Those that need a person come first."""
    if not views:
        yield "  none that ranks by scores"
        return
    ordered = sorted(views, key=lambda view: (_is_as_expected(view), view.placement))
    visible = ordered if everything else ordered[:MAX_ROWS]
    for view in visible:
        yield from _placement(view)
    if len(visible) < len(ordered):
        yield f"  and {len(ordered) - len(visible)} more; --placement or --all shows them"


def _is_as_expected(view: PlacementView) -> bool:
    """Whether there is nothing that people should look at."""
    return view.reconciled and view.note is None and not view.counted_as_zero


def _placement(view: PlacementView) -> Iterator[str]:
    yield f"  {view.placement}: {_decision(view)}"
    # OCM 1.2.1 notices only at its next pass that a score has expired, which its resync bounds.
    if view.next is not None and not view.reconciled:
        yield (
            "    OCM has not reconciled yet (it does within 10 minutes): it would decide"
            f" {_names(view.next)}"
        )
    if view.note is not None:
        yield f"    {placement_note_text(view.note.value)}"
    if view.counted_as_zero:
        yield f"    scores missing or expired, which count as 0: {names_text(view.counted_as_zero)}"
    if view.endless is not UNSET:
        yield (
            "    never expires, so it still ranks after its program stops publishing:"
            f" {names_text(view.endless)}"
        )
    if view.wish is not None:
        yield f"    paced: it holds its clusters; the written weights ask for {_names(view.wish)}"
    if view.lead is not None:
        yield f"    {lead_text(view.lead)}"
    if view.jobs is not UNSET:
        yield from _jobs(view.jobs)
    for flip in view.flips:
        yield f"    {flip_text(flip)}"


def _jobs(view: JobOrderView) -> Iterator[str]:
    """`jobs of gpu-jobs go to paris (81.5), then berlin (70), then rome`."""
    if view.clusters:
        yield f"    jobs of {view.config} go to {order_text(view.clusters)}"
    if view.note is not None:
        yield f"    MultiKueueConfig {view.config}: {order_note_text(view.note.value)}"
    if view.reason:
        yield f"    last change of that order: {view.reason}"
    if view.left_out:
        yield f"    no place for {names_text(view.left_out)}: Kueue takes 20 clusters"


def order_text(clusters: Iterable[OrderedCluster]) -> str:
    """`paris (81.5), then berlin (70), then rome`."""
    return ", then ".join(map(ordered_cluster_text, clusters))


def ordered_cluster_text(ordered: OrderedCluster) -> str:
    """`paris (81.5)`, or `paris` where its points are not known."""
    if ordered.points is None:
        return ordered.cluster
    return f"{ordered.cluster} ({points_text(ordered.points)})"


def lead_text(lead: Lead) -> str:
    """The reason why a cluster that is better by its scores stays out, and its lead."""
    return (
        f"{lead.cluster} leads {lead.over} by {lead.points:g} points of the mean score; the"
        f" stickiness is {lead.stickiness:g}, so it stays on {lead.over}"
    )


def _decision(view: PlacementView) -> str:
    """`paris, berlin of 7 eligible clusters, 3 wanted`."""
    if view.decided is None:
        return "decision not known"
    text = _names(view.decided)
    # Not known where the hub does not let us read bindings, sets or clusters.
    if view.eligible is not None:
        text = f"{text} of {plural(view.eligible, 'eligible cluster')}"
    wanted = view.number_of_clusters
    if wanted is not None and wanted != len(view.decided):
        return f"{text}, {wanted} wanted"
    return text


def _names(names: Sequence[str]) -> str:
    return names_text(names) or "nowhere"


def flip_text(flip: DecisionFlip) -> str:
    """`paris comes in for berlin if its cpu rises from 57 to 74`."""
    act = "comes in" if flip.change == "in" else "goes out"
    if flip.score is None:
        lead = plural(points_text(flip.mean), "point")
        return f"{flip.cluster} {act} for {flip.rival} by {lead}, which no single score can change"
    score = flip.score
    verb = "rises" if score.needed > score.value else "falls"
    name = prioritizer_text(score.name)
    return (
        f"{flip.cluster} {act} for {flip.rival} if its {name} {verb} from {score.value} to"
        f" {score.needed}"
    )
