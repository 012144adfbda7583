"""Formats the view of a hub as text: summaries, and single scores if they are few or were requested."""

from collections.abc import Iterator, Sequence

from dsf_wire.text import printable_lines
from gitops_dsf.hub.metadata import age_text
from gitops_dsf.hub.points import points_text
from gitops_dsf.hub.scores import ScoreState
from gitops_dsf.show.tables import table
from gitops_dsf.simulator.explain import Lead
from gitops_dsf.views.status.build import Overview
from gitops_dsf.views.status.clusters import ClusterView
from gitops_dsf.views.status.placements import (
    ApplicationView,
    Copy,
    DecisionFlip,
    PlacementView,
    Standing,
)
from gitops_dsf.views.status.queue import FailoverView, QueueView, draining_text, waiting_text
from gitops_dsf.views.status.scores import Cell, ScorerView
from gitops_dsf.wording import names_text, plural, prioritizer_text

MATRIX_CLUSTERS, MATRIX_SCORERS = 20, 6
"""Above these sizes the matrix of scores is left out, because it does not fit on a screen."""
ROWS = 10
"""Placements and applications shown without --all. Those with problems come first."""
SCORERS = 40
"""Scorers shown without --all. Those with scores that are not fresh come first."""
LISTED = 10


def status_text(view: Overview, *, everything: bool) -> str:
    return printable_lines(_lines(view, everything=everything))


def _lines(view: Overview, *, everything: bool) -> Iterator[str]:
    snapshot, scorers = view.inputs.snapshot, plural(len(view.scorers), "scorer")
    yield (
        f"{snapshot.origin} at {view.inputs.now:%Y-%m-%d %H:%M:%S} UTC:"
        f" {plural(len(snapshot.clusters), 'cluster')}, {scorers},"
        f" {plural(snapshot.score_count, 'AddOnPlacementScore')}"
    )
    yield from (f"not known: {item}" for item in view.inputs.holes)
    yield ""
    if view.clusters:
        yield "Clusters"
        yield from _clusters(view.clusters, everything=everything)
        yield ""
    yield "Scorers"
    yield from _scorers(view.scorers, everything=everything)
    if any(item.shown for item in view.scorers):
        yield from _scores(view, everything=everything)
    yield "Placements"
    yield from _placements(view.placements, everything=everything)
    yield ""
    yield "Applications"
    yield from _applications(view.applications, everything=everything)
    if view.queue is not None:
        yield from ("", "Paced moves")
        yield from queue_lines(view.queue, everything=everything)
    if view.refuges:
        yield from ("", "Refuges")
        yield from _refuges(view.refuges, everything=everything)


def _clusters(views: Sequence[ClusterView], *, everything: bool) -> Iterator[str]:
    """Those with a problem, and how many others there are."""
    shown = [item for item in views if everything or len(views) == 1 or not item.calm]
    listed = shown if everything else shown[:ROWS]
    yield from (f"  {item.cluster}: {_cluster(item)}" for item in listed)
    if len(listed) < len(shown):
        yield f"  and {len(shown) - len(listed)} more such clusters; --cluster or --all shows them"
    calm = len(views) - len(shown)
    if calm:
        others = "other cluster" if shown else "cluster"
        yield f"  {plural(calm, others)} in order"


def _cluster(item: ClusterView) -> str:
    states = {
        True: "available",
        False: "OCM does not reach it",
        None: "OCM has not said whether it is there",
    }
    since = f" since {item.since}" if item.since and item.reachable is False else ""
    parts = [f"{states[item.reachable]}{since}"]
    if item.deleting:
        parts.append("it is being deleted")
    if item.taints:
        parts.append(f"taints {', '.join(item.taints)}")
    return "; ".join(parts)


def _scorers(views: Sequence[ScorerView], *, everything: bool) -> Iterator[str]:
    if not views:
        yield from ("  none", "")
        return
    chosen = views
    if not everything and len(views) > SCORERS:
        chosen = sorted(views, key=lambda item: (_calm(item), item.scorer.name))[:SCORERS]
    yield from _scorer_table(chosen).splitlines()
    for item in chosen:
        if item.at_default:
            yield (
                f"  {item.scorer.name}: {plural(item.at_default, 'score')} at defaultScore"
                f" {item.scorer.spec.default_score}: the source there has no series, or the score is the same"
            )
    if len(chosen) < len(views):
        calm = ", all fresh" if all(_calm(item) for item in views if item not in chosen) else ""
        yield f"  and {len(views) - len(chosen)} more{calm}; --scorer or --all shows them"
    yield ""


def _calm(item: ScorerView) -> bool:
    wrong = {ScoreState.EXPIRED, ScoreState.EMPTY, ScoreState.MISSING, ScoreState.ENDLESS}
    return (
        item.known
        and not item.unexpected
        and not any(item.counts[state] for state in wrong)
        and item.scorer.health != "Inactive"
    )


def _scorer_table(views: Sequence[ScorerView]) -> str:
    shown = [
        state
        for state in ScoreState
        if state in {ScoreState.FRESH, ScoreState.EXPIRED, ScoreState.MISSING}
        or any(item.counts[state] for item in views)
    ]
    unexpected = ["unexpected"] if any(item.unexpected for item in views) else []
    headers = [
        "scorer",
        "health",
        "config",
        *map(str, shown),
        *unexpected,
        "min",
        "median",
        "max",
        "oldest",
    ]
    rows = []
    for item in views:
        counts = [str(item.counts[state]) if item.known else "?" for state in shown]
        if unexpected:
            counts.append(str(len(item.unexpected)) if item.known else "?")
        numbers = ["-" if value is None else str(value) for value in item.values]
        oldest = "-" if item.oldest is None else age_text(item.oldest)
        reads_config = item.scorer.spec.mode == "Full" and not item.scorer.scored_by_query
        config = (
            item.scorer.condition("ConfigSynced").reason or "not probed" if reads_config else "-"
        )
        rows.append([item.scorer.name, _health(item), config, *counts, *numbers, oldest])
    return table(headers, rows, right=range(3, len(headers)))


def _health(item: ScorerView) -> str:
    if item.suspended:
        return f"suspended by {item.suspended}"
    if item.scorer.scored_by_query and not item.scorer.health:
        return "no API"
    reason = item.scorer.condition("Scored" if item.scorer.scored_by_query else "Healthy").reason
    health = item.scorer.health or "not probed"
    return (
        f"{health} ({reason})"
        if item.scorer.health in {"Inactive", "Unknown"} and reason
        else health
    )


def _scores(view: Overview, *, everything: bool) -> Iterator[str]:
    views = [item for item in view.scorers if item.shown]
    most = max(item.shown for item in views)
    matrix = len(views) <= MATRIX_SCORERS and (everything or most <= MATRIX_CLUSTERS)
    clusters = sorted({cell.cluster for item in views for cell in item.cells()}) if matrix else []
    if matrix and (everything or len(clusters) <= MATRIX_CLUSTERS):
        yield "Scores (and their age)"
        cells = [{cell.cluster: cell for cell in item.cells()} for item in views]
        rows = [[name, *(_cell(column.get(name)) for column in cells)] for name in clusters]
        yield from table(["cluster", *(item.scorer.name for item in views)], rows).splitlines()
        yield ""
        return
    if everything:
        yield "Scores (and their age)"
        rows = [
            [item.scorer.name, cell.cluster, _cell(cell)] for item in views for cell in item.cells()
        ]
        yield from table(["scorer", "cluster", "score"], rows).splitlines()
        yield ""
        return
    size = f"{plural(len(views), 'scorer')} x {plural(most, 'cluster')}"
    yield f"Scores: {size}, too many for a screen; --scorer, --cluster or --all shows them"
    lines = [
        f"  {item.scorer.name} {state}: {names_text(item.unusual[state])}"
        for item in views
        for state in (ScoreState.EXPIRED, ScoreState.EMPTY, ScoreState.MISSING)
        if item.unusual.get(state)
    ]
    yield from lines[:LISTED]
    if len(lines) > LISTED:
        yield f"  and {len(lines) - LISTED} more such lines"
    yield ""


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    if cell.state in {ScoreState.MISSING, ScoreState.WAITING, ScoreState.MASKED, ScoreState.EMPTY}:
        return str(cell.state)
    values = sorted(cell.values.values())
    value = str(values[0]) if len(values) == 1 else f"{values[0]}..{values[-1]} of {len(values)}"
    age = "" if cell.age_seconds is None else f" ({age_text(cell.age_seconds)})"
    state = "" if cell.state is ScoreState.FRESH else f" {cell.state}"
    return f"{value}{age}{state}{'' if cell.expected else ' unexpected'}"


def _placements(views: Sequence[PlacementView], *, everything: bool) -> Iterator[str]:
    if not views:
        yield "  none that ranks by scores"
        return
    ordered = sorted(
        views,
        key=lambda item: (
            item.settled and not item.note and not item.counted_as_zero,
            item.placement,
        ),
    )
    shown = ordered if everything else ordered[:ROWS]
    for item in shown:
        yield f"  {item.placement}: {_decision(item)}"
        if item.next is not None and not item.settled:
            yield (
                "    OCM has not reconciled yet (it does within 10 minutes): it would decide"
                f" {_names(item.next)}"
            )
        if item.note:
            yield f"    {item.note}"
        if item.counted_as_zero:
            yield f"    scores missing or expired, which count as 0: {names_text(item.counted_as_zero)}"
        if item.wish is not None:
            yield f"    paced: it holds its clusters; the written weights ask for {_names(item.wish)}"
        if item.lead is not None:
            yield f"    {lead_text(item.lead)}"
        yield from (f"    {_flip(each)}" for each in item.flips)
    if len(shown) < len(ordered):
        yield f"  and {len(ordered) - len(shown)} more; --placement or --all shows them"


def lead_text(lead: Lead) -> str:
    """`paris leads berlin by 19 points of the mean score; the stickiness is 20, so it stays on berlin`."""
    return (
        f"{lead.cluster} leads {lead.over} by {lead.points:g} points of the mean score; the stickiness is"
        f" {lead.stickiness:g}, so it stays on {lead.over}"
    )


def _decision(item: PlacementView) -> str:
    if item.decided is None:
        return "decision not known"
    eligible = "" if item.eligible is None else f" of {plural(item.eligible, 'eligible cluster')}"
    number = item.number_of_clusters
    desired = f", {number} wanted" if number is not None and number != len(item.decided) else ""
    return f"{_names(item.decided)}{eligible}{desired}"


def _names(names: Sequence[str]) -> str:
    return names_text(names) or "nowhere"


def _flip(flip: DecisionFlip) -> str:
    act = f"{flip.cluster} {'comes in' if flip.change == 'in' else 'goes out'} for {flip.rival}"
    if flip.score is None:
        lead = plural(points_text(flip.mean), "point")
        return f"{act} by {lead}, which no single score can change"
    name = prioritizer_text(flip.score.name)
    verb = "rises" if flip.score.needed > flip.score.value else "falls"
    return f"{act} if its {name} {verb} from {flip.score.value} to {flip.score.needed}"


def _applications(views: Sequence[ApplicationView], *, everything: bool) -> Iterator[str]:
    if not views:
        yield "  none"
        return
    ordered = sorted(views, key=lambda item: (bool(item.settled), item.name))
    shown = ordered if everything else ordered[:ROWS]
    for item in shown:
        own = item.placements in {(), (item.name,)}
        follows = "" if own else f", follows {names_text(item.placements)}"
        yield f"  {item.name} ({item.strategy}{follows}): {_standing(item)}"
        if item.message:
            yield f"    Argo CD: {item.message}"
        if not item.settled:
            yield from (f"    {copy.cluster}: {_copy(copy, item)}" for copy in item.copies)
    if len(shown) < len(ordered):
        yield f"  and {len(ordered) - len(shown)} more; --placement or --all shows them"


def queue_lines(view: QueueView, *, everything: bool) -> Iterator[str]:
    yield from (f"  {draining_text(each)}" for each in view.draining or ())
    for move in view.under_way:
        by = "" if move.admitted else ", by OCM itself"
        why = "" if move.cause is None else f", {move.cause}"
        way = f"{move.placement}: {move.source or 'new'} -> {move.target}"
        yield f"  {way}: {move.phase} since {move.since}{by}{why}"
    shown = view.waiting if everything else view.waiting[:ROWS]
    yield from (f"  {waiting_text(each)}" for each in shown)
    if len(shown) < len(view.waiting):
        yield f"  and {len(view.waiting) - len(shown)} more that wait; --placement or --all shows them"
    if view.omitted:
        yield f"  and {view.omitted} more that wait, with a smaller gain; there is no room to name them"


def _refuges(views: Sequence[FailoverView], *, everything: bool) -> Iterator[str]:
    shown = views if everything else views[:ROWS]
    for item in shown:
        moves = [f"{each.placement.partition('/')[2]} -> {each.target}" for each in item.moves]
        yield f"  if {item.cluster} fails: {names_text(moves, most=len(moves) if everything else ROWS)}"
    if len(shown) < len(views):
        yield f"  and {plural(len(views) - len(shown), 'cluster')} more; --cluster or --all shows them"


def _standing(item: ApplicationView) -> str:
    if item.settled is None:
        return "not known"
    if not item.copies:
        return "nowhere, and decided for nowhere"
    clusters = names_text([copy.cluster for copy in item.copies])
    is_running = all(copy.standing is Standing.RUNNING for copy in item.copies)
    if is_running:
        return f"running on {clusters}"
    return "moving" if item.cause is None else f"moving, {item.cause}"


def _copy(copy: Copy, item: ApplicationView) -> str:
    if copy.standing is Standing.WAITING:
        if copy.wait is not None:
            wait = copy.wait
            return f"waiting, no longer decided; {wait.message} ({wait.reason} since {wait.since})"
        new = [
            other
            for other in item.copies
            if other.standing in {Standing.RUNNING, Standing.STARTING}
        ]
        are_ready = new and all(
            (other.health, other.sync) == ("Healthy", "Synced") for other in new
        )
        if item.strategy == "MakeBeforeBreak" and are_ready:
            return (
                "waiting, no longer decided; the new copies are Healthy and Synced, and the reconciler has"
                " not told why it stays"
            )
        why = {
            "MakeBeforeBreak": "stays until the new copies are Healthy and Synced",
            "Keep": "stays, because the strategy is Keep",
            "Replace": "deleted at Argo CD's next reconciliation",
        }
        return f"waiting, no longer decided; {why.get(item.strategy, 'stays as its ApplicationSet says')}"
    if copy.standing is Standing.PENDING:
        return "decided; Argo CD has not made the Application yet"
    usual = {"Healthy", "Synced", None}
    states = ", ".join(state for state in (copy.health, copy.sync) if state and state not in usual)
    return f"{copy.standing}{f' ({states})' if states else ''}"
