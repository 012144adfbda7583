"""The view of a hub for a terminal.

It shows summaries, and single scores if they are few or were requested. What needs a person comes
first, so that it is seen also where a list is cut.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from dsf_wire.text import printable_lines
from gitops_dsf.hub.points import points_text
from gitops_dsf.hub.score_states import ScoreState
from gitops_dsf.hub.times import age_text
from gitops_dsf.show.moves import queue_lines, refuge_lines
from gitops_dsf.show.tables import table
from gitops_dsf.simulator.explain import Lead
from gitops_dsf.views.status.applications import ApplicationView, Copy, CopyState
from gitops_dsf.views.status.build import Overview
from gitops_dsf.views.status.clusters import ClusterView
from gitops_dsf.views.status.placements import DecisionFlip, PlacementView
from gitops_dsf.views.status.scores import Cell, ScorerView
from gitops_dsf.wording import names_text, plural, prioritizer_text

MATRIX_CLUSTERS: Final = 20
"""A matrix of scores has at most this many clusters, so that it fits on a screen."""
MATRIX_SCORERS: Final = 6
"""A matrix of scores has at most this many scorers."""
MAX_ROWS: Final = 10
"""Clusters, Placements and applications shown without --all. Those with problems come first."""
MAX_SCORERS: Final = 40
"""Scorers shown without --all. Those with scores that are not fresh come first."""
MAX_LINES: Final = 10
"""Lines about scores that are not fresh, where there is no matrix."""
_REACHABILITY: Final = {
    True: "available",
    False: "OCM does not reach it",
    None: "OCM has not reported whether it is available",
}
_ALWAYS_COUNTED: Final = frozenset({ScoreState.FRESH, ScoreState.EXPIRED, ScoreState.MISSING})
"""States that have a column in the table of scorers even if no score has them."""
_WRONG: Final = frozenset(
    {ScoreState.EXPIRED, ScoreState.EMPTY, ScoreState.MISSING, ScoreState.ENDLESS}
)
_WITHOUT_VALUE: Final = frozenset(
    {ScoreState.MISSING, ScoreState.WAITING, ScoreState.MASKED, ScoreState.EMPTY}
)


def status_text(view: Overview, *, everything: bool) -> str:
    """Formats a view. With `everything` no list is shortened."""
    return printable_lines(_lines(view, everything=everything))


def _lines(view: Overview, *, everything: bool) -> Iterator[str]:
    yield _head(view)
    for unread in view.inputs.holes:
        yield f"not known: {unread}"
    yield ""
    if view.clusters:
        yield "Clusters"
        yield from _clusters(view.clusters, everything=everything)
        yield ""
    yield "Scorers"
    yield from _scorers(view.scorers, everything=everything)
    yield ""
    if any(scorer.shown for scorer in view.scorers):
        yield from _scores(view, everything=everything)
        yield ""
    yield "Placements"
    yield from _placements(view.placements, everything=everything)
    yield ""
    yield "Applications"
    yield from _applications(view.applications, everything=everything)
    if view.queue is not None:
        yield ""
        yield "Paced moves"
        yield from queue_lines(view.queue, everything=everything)
    if view.refuges:
        yield ""
        yield "Refuges"
        yield from refuge_lines(view.refuges, everything=everything)


def _head(view: Overview) -> str:
    snapshot = view.inputs.snapshot
    clusters = plural(len(snapshot.clusters), "cluster")
    scorers = plural(len(view.scorers), "scorer")
    scores = plural(snapshot.score_count, "AddOnPlacementScore")
    now = f"{view.inputs.now:%Y-%m-%d %H:%M:%S}"
    return f"{snapshot.origin} at {now} UTC: {clusters}, {scorers}, {scores}"


# Clusters


def _clusters(views: Sequence[ClusterView], *, everything: bool) -> Iterator[str]:
    """Those with a problem, and how many others there are."""
    listed = list(views)
    # A single cluster was asked for, or is the whole hub: it is shown even if nothing is wrong.
    if not everything and len(views) > 1:
        listed = [view for view in views if not view.calm]
    visible = listed if everything else listed[:MAX_ROWS]
    for view in visible:
        yield f"  {view.cluster}: {_cluster(view)}"
    if len(visible) < len(listed):
        count = len(listed) - len(visible)
        yield f"  and {count} more such clusters; --cluster or --all shows them"
    calm = len(views) - len(listed)
    if calm and listed:
        yield f"  {plural(calm, 'other cluster')} in order"
    elif calm:
        yield f"  {plural(calm, 'cluster')} in order"


def _cluster(view: ClusterView) -> str:
    parts = [_REACHABILITY[view.reachable]]
    if view.since and view.reachable is False:
        parts = [f"{parts[0]} since {view.since}"]
    if view.deleting:
        parts.append("it is being deleted")
    if view.taints:
        parts.append(f"taints {', '.join(view.taints)}")
    return "; ".join(parts)


# Scorers and their scores


def _scorers(views: Sequence[ScorerView], *, everything: bool) -> Iterator[str]:
    if not views:
        yield "  none"
        return
    visible = list(views)
    hidden: list[ScorerView] = []
    if not everything and len(views) > MAX_SCORERS:
        ordered = sorted(views, key=lambda view: (_is_calm(view), view.scorer.name))
        visible = ordered[:MAX_SCORERS]
        hidden = ordered[MAX_SCORERS:]
    yield from _scorer_table(visible).splitlines()
    for view in visible:
        if view.at_default:
            yield (
                f"  {view.scorer.name}: {plural(view.at_default, 'score')} at defaultScore"
                f" {view.scorer.spec.default_score}: the source there has no series, or the score"
                " is the same"
            )
    if hidden and all(map(_is_calm, hidden)):
        yield f"  and {len(hidden)} more, all fresh; --scorer or --all shows them"
    elif hidden:
        yield f"  and {len(hidden)} more; --scorer or --all shows them"


def _is_calm(view: ScorerView) -> bool:
    """Whether all its scores are known and as they should be."""
    has_wrong = any(view.counts[state] for state in _WRONG)
    is_inactive = view.scorer.health == "Inactive"
    return view.known and not view.unexpected and not has_wrong and not is_inactive


def _scorer_table(views: Sequence[ScorerView]) -> str:
    states = [state for state in ScoreState if _has_column(state, views)]
    has_unexpected = any(view.unexpected for view in views)
    headers = ["scorer", "health", "config", *map(str, states)]
    if has_unexpected:
        headers.append("unexpected")
    headers += ["min", "median", "max", "oldest"]
    rows = []
    for view in views:
        row = [view.scorer.name, _health(view), _config(view)]
        row += [str(view.counts[state]) if view.known else "?" for state in states]
        if has_unexpected:
            row.append(str(len(view.unexpected)) if view.known else "?")
        row += ["-" if value is None else str(value) for value in view.values]
        row.append("-" if view.oldest is None else age_text(view.oldest))
        rows.append(row)
    return table(headers, rows, right=range(3, len(headers)))


def _has_column(state: ScoreState, views: Sequence[ScorerView]) -> bool:
    return state in _ALWAYS_COUNTED or any(view.counts[state] for view in views)


def _health(view: ScorerView) -> str:
    scorer = view.scorer
    if view.suspended:
        return f"suspended by {view.suspended}"
    if scorer.scored_by_query and not scorer.health:
        return "no API"
    if not scorer.health:
        return "not probed"
    reason = scorer.condition("Scored" if scorer.scored_by_query else "Healthy").reason
    if reason and scorer.health in {"Inactive", "Unknown"}:
        return f"{scorer.health} ({reason})"
    return scorer.health


def _config(view: ScorerView) -> str:
    """Whether /config says what was accepted.

    A scorer in mode None, or without an API, has no /config.
    """
    if view.scorer.spec.mode != "Full" or view.scorer.scored_by_query:
        return "-"
    return view.scorer.condition("ConfigSynced").reason or "not probed"


def _scores(view: Overview, *, everything: bool) -> Iterator[str]:
    """A matrix if it fits on a screen or everything is asked for, else only what is not fresh."""
    views = [scorer for scorer in view.scorers if scorer.shown]
    largest = max(scorer.shown for scorer in views)
    if len(views) <= MATRIX_SCORERS and (everything or largest <= MATRIX_CLUSTERS):
        # Scorers may have different clusters, so together there can be more than of the largest.
        names: set[str] = set()
        for scorer in views:
            names.update(cell.cluster for cell in scorer.cells())
        clusters = sorted(names)
        if everything or len(clusters) <= MATRIX_CLUSTERS:
            yield "Scores (and their age)"
            yield from _matrix(views, clusters).splitlines()
            return
    if everything:
        yield "Scores (and their age)"
        yield from _list(views).splitlines()
        return
    scorers = plural(len(views), "scorer")
    clusters_text = plural(largest, "cluster")
    yield (
        f"Scores: {scorers} x {clusters_text}, too many for a screen; --scorer, --cluster or --all"
        " shows them"
    )
    yield from _not_fresh(views)


def _matrix(views: Sequence[ScorerView], clusters: Sequence[str]) -> str:
    columns = [{cell.cluster: cell for cell in view.cells()} for view in views]
    rows = [[name, *(_cell(column.get(name)) for column in columns)] for name in clusters]
    return table(["cluster", *(view.scorer.name for view in views)], rows)


def _list(views: Sequence[ScorerView]) -> str:
    rows = []
    for view in views:
        rows += [[view.scorer.name, cell.cluster, _cell(cell)] for cell in view.cells()]
    return table(["scorer", "cluster", "score"], rows)


def _not_fresh(views: Sequence[ScorerView]) -> Iterator[str]:
    lines = []
    for view in views:
        for state in (ScoreState.EXPIRED, ScoreState.EMPTY, ScoreState.MISSING):
            clusters = view.unusual.get(state)
            if clusters:
                lines.append(f"  {view.scorer.name} {state}: {names_text(clusters)}")
    yield from lines[:MAX_LINES]
    if len(lines) > MAX_LINES:
        yield f"  and {len(lines) - MAX_LINES} more such lines"


def _cell(cell: Cell | None) -> str:
    """`57 (3 min)`, `12..90 of 4 (8 min) expiring`, `masked`."""
    if cell is None:
        return "-"
    if cell.state in _WITHOUT_VALUE:
        return str(cell.state)
    values = sorted(cell.values.values())
    text = str(values[0]) if len(values) == 1 else f"{values[0]}..{values[-1]} of {len(values)}"
    if cell.age_seconds is not None:
        text += f" ({age_text(cell.age_seconds)})"
    if cell.state is not ScoreState.FRESH:
        text += f" {cell.state}"
    return text if cell.expected else f"{text} unexpected"


# Placements


def _placements(views: Sequence[PlacementView], *, everything: bool) -> Iterator[str]:
    if not views:
        yield "  none that ranks by scores"
        return
    ordered = sorted(views, key=lambda view: (_is_settled(view), view.placement))
    visible = ordered if everything else ordered[:MAX_ROWS]
    for view in visible:
        yield from _placement(view)
    if len(visible) < len(ordered):
        yield f"  and {len(ordered) - len(visible)} more; --placement or --all shows them"


def _is_settled(view: PlacementView) -> bool:
    """Whether there is nothing that people should look at."""
    return view.settled and not view.note and not view.counted_as_zero


def _placement(view: PlacementView) -> Iterator[str]:
    yield f"  {view.placement}: {_decision(view)}"
    if view.next is not None and not view.settled:
        yield (
            "    OCM has not reconciled yet (it does within 10 minutes): it would decide"
            f" {_names(view.next)}"
        )
    if view.note:
        yield f"    {view.note}"
    if view.counted_as_zero:
        yield f"    scores missing or expired, which count as 0: {names_text(view.counted_as_zero)}"
    if view.wish is not None:
        yield f"    paced: it holds its clusters; the written weights ask for {_names(view.wish)}"
    if view.lead is not None:
        yield f"    {lead_text(view.lead)}"
    for flip in view.flips:
        yield f"    {_flip(flip)}"


def lead_text(lead: Lead) -> str:
    """Why a cluster that is better by its scores stays out, and by how much it is better."""
    return (
        f"{lead.cluster} leads {lead.over} by {lead.points:g} points of the mean score; the"
        f" stickiness is {lead.stickiness:g}, so it stays on {lead.over}"
    )


def _decision(view: PlacementView) -> str:
    """`paris, berlin of 7 eligible clusters, 3 wanted`."""
    if view.decided is None:
        return "decision not known"
    text = _names(view.decided)
    if view.eligible is not None:
        text += f" of {plural(view.eligible, 'eligible cluster')}"
    wanted = view.number_of_clusters
    if wanted is not None and wanted != len(view.decided):
        text += f", {wanted} wanted"
    return text


def _names(names: Sequence[str]) -> str:
    return names_text(names) or "nowhere"


def _flip(flip: DecisionFlip) -> str:
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


# Applications


def _applications(views: Sequence[ApplicationView], *, everything: bool) -> Iterator[str]:
    if not views:
        yield "  none"
        return
    ordered = sorted(views, key=lambda view: (bool(view.settled), view.name))
    visible = ordered if everything else ordered[:MAX_ROWS]
    for view in visible:
        yield from _application(view)
    if len(visible) < len(ordered):
        yield f"  and {len(ordered) - len(visible)} more; --placement or --all shows them"


def _application(view: ApplicationView) -> Iterator[str]:
    # A rendered Placement has the name of its application, so it need not be named.
    if view.placements in {(), (view.name,)}:
        yield f"  {view.name} ({view.strategy}): {_standing(view)}"
    else:
        follows = names_text(view.placements)
        yield f"  {view.name} ({view.strategy}, follows {follows}): {_standing(view)}"
    if view.message:
        yield f"    Argo CD: {view.message}"
    if not view.settled:
        for copy in view.copies:
            yield f"    {copy.cluster}: {_copy(copy, view)}"


def _standing(view: ApplicationView) -> str:
    if view.settled is None:
        return "not known"
    if not view.copies:
        return "nowhere, and decided for nowhere"
    if all(copy.standing is CopyState.RUNNING for copy in view.copies):
        return f"running on {names_text(copy.cluster for copy in view.copies)}"
    return "moving" if view.cause is None else f"moving, {view.cause}"


def _copy(copy: Copy, view: ApplicationView) -> str:
    if copy.standing is CopyState.WAITING:
        return _waiting(copy, view)
    if copy.standing is CopyState.PENDING:
        return "decided; Argo CD has not made the Application yet"
    # Argo CD leaves the two out until it has looked at the Application.
    usual = {"Healthy", "Synced", None, ""}
    unusual = [state for state in (copy.health, copy.sync) if state not in usual]
    return f"{copy.standing} ({', '.join(map(str, unusual))})" if unusual else str(copy.standing)


def _waiting(copy: Copy, view: ApplicationView) -> str:
    """Why an old copy is still there: as the reconciler reports, or else by the strategy."""
    wait = copy.wait
    if wait is not None:
        return f"waiting, no longer decided; {wait.message} ({wait.reason} since {wait.since})"
    match view.strategy:
        case "MakeBeforeBreak" if _are_new_copies_ready(view):
            return (
                "waiting, no longer decided; the new copies are Healthy and Synced, and the"
                " reconciler has not reported why it stays"
            )
        case "MakeBeforeBreak":
            return "waiting, no longer decided; stays until the new copies are Healthy and Synced"
        case "Keep":
            return "waiting, no longer decided; stays, because the strategy is Keep"
        case "Replace":
            return "waiting, no longer decided; deleted at Argo CD's next reconciliation"
        case _:
            return "waiting, no longer decided; stays as its ApplicationSet says"


def _are_new_copies_ready(view: ApplicationView) -> bool:
    running = {CopyState.RUNNING, CopyState.STARTING}
    new = [copy for copy in view.copies if copy.standing in running]
    return bool(new) and all((copy.health, copy.sync) == ("Healthy", "Synced") for copy in new)
