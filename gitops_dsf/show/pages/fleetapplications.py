"""The table of applications on the page of a fleet."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import UNSET

from gitops_dsf.hub.points import points_text
from gitops_dsf.hub.times import age_text
from gitops_dsf.journal.record import Record
from gitops_dsf.journal.timeline import by_placement
from gitops_dsf.show.pages.sourceplace import SourcePlace
from gitops_dsf.show.status.applications import application_text, copy_text
from gitops_dsf.show.status.notes import placement_note_text
from gitops_dsf.show.status.placements import flip_text, lead_text
from gitops_dsf.views.status.applications import ApplicationView
from gitops_dsf.views.status.build import Overview
from gitops_dsf.views.status.inputs import HubPart
from gitops_dsf.views.status.placements import PlacementView
from gitops_dsf.views.status.rankings import RankingNumber, rankings
from gitops_dsf.wording import names_text, prioritizer_text

_MAKERS: Final = {"AddOn": "another add-on", "OCM": "OCM"}
"""Publishers of a score that ranks, other than a scorer."""


class ApplicationRow(NamedTuple):
    """One application, or a Placement that no application of ours follows."""

    order: int
    """The position in the table. Rows that need a person have the lowest."""
    name: str
    source: SourcePlace | None
    ranked: str
    state: str
    kind: str
    """The severity of the state: good, warn, bad, or empty."""
    notes: Sequence[str]
    where: Sequence[str]
    since: str
    moved: float | None
    points: str
    lead: str
    flips: Sequence[str]


def application_rows(
    view: Overview, sources: Mapping[tuple[str, str], SourcePlace], records: Sequence[Record]
) -> Sequence[ApplicationRow]:
    """Applications and Placements that none of them follows; those that need a person first."""
    namespaces: dict[str, str] = {}
    for application_set in view.inputs.application_sets:
        namespaces[application_set.name] = application_set.namespace
    placements = {placement.placement: placement for placement in view.placements}
    moved = _last_moves(records)
    # Without the scorers it is unknown who publishes a score.
    external = view.external_scores if view.inputs.knows(HubPart.SCORERS) else {}
    ranked = rankings(view.inputs.placements, external)
    followed = set[str]()
    rows: list[ApplicationRow] = []
    for application in view.applications:
        # Argo CD 3.6.1 looks for decisions in its own namespace alone, in which the set is.
        namespace = namespaces.get(application.name, "")
        own_placements: list[PlacementView] = []
        own_scores = set[RankingNumber]()
        last_move: float | None = None
        for name in application.placements:
            key = f"{namespace}/{name}"
            followed.add(key)
            own_scores.update(ranked.get(key, ()))
            if key in placements:
                own_placements.append(placements[key])
            if key in moved:
                last_move = max(last_move or 0.0, moved[key])
        source = sources.get(("ScoredApplication", application.name))
        row = _row(
            application.name,
            source,
            own_placements,
            ranked=sorted(own_scores),
            moved=last_move,
            now=view.inputs.now.timestamp(),
        )
        rows.append(_with_copies(row, application))
    # A Placement that no application follows is shown, too: others may read its decision.
    for key, placement in placements.items():
        if key not in followed:
            source = sources.get(("ScoredPlacement", key.partition("/")[2]))
            rows.append(
                _row(
                    key,
                    source,
                    [placement],
                    ranked=ranked.get(key, ()),
                    moved=moved.get(key),
                    now=view.inputs.now.timestamp(),
                )
            )
    return sorted(rows, key=lambda row: (row.order, row.name))


def _last_moves(records: Sequence[Record]) -> Mapping[str, float]:
    """The time of each Placement's last move, in seconds since 1970."""
    moved: dict[str, float] = {}
    changes = (record for record in records if record.changes_decision)
    for key, of_placement in by_placement(changes).items():
        moved[key] = of_placement[-1].time.timestamp()
    return moved


def _row(
    name: str,
    source: SourcePlace | None,
    placements: Sequence[PlacementView],
    *,
    ranked: Sequence[RankingNumber],
    moved: float | None,
    now: float,
) -> ApplicationRow:
    """The row with the decisions of an application's Placements."""
    clusters: list[str] = []
    points: list[str] = []
    leads: list[str] = []
    flips: list[str] = []
    notes: list[str] = []
    for placement in placements:
        clusters += placement.decided or ()
        for cluster in placement.points:
            points.append(points_text(cluster.points))
        # Only the cluster that would leave shows how safe the present decision is.
        for flip in placement.flips:
            flips.append(flip_text(flip))
            if flip.change == "out":
                leads.append(points_text(flip.mean))
        notes += _placement_notes(placement)
    is_reconciled = all(placement.reconciled for placement in placements)
    return ApplicationRow(
        order=3 if is_reconciled and not notes else 2,
        name=name,
        source=source,
        ranked=f"by {names_text(map(_ranked_text, ranked))}" if ranked else "",
        state="decided" if is_reconciled else "to be decided",
        kind="good" if is_reconciled and not notes else "warn",
        notes=notes,
        where=clusters,
        since="" if moved is None else f"{age_text(now - moved)} ago",
        moved=moved,
        points=", ".join(points),
        lead=", ".join(leads),
        flips=flips,
    )


def _ranked_text(ranked: RankingNumber) -> str:
    """The name of a score, and who makes it, unless a scorer does."""
    name = prioritizer_text(ranked.name)
    return name if ranked.origin == "Scorer" else f"{name} ({_MAKERS[ranked.origin]})"


def _placement_notes(placement: PlacementView) -> Iterator[str]:
    if placement.note is not None:
        yield placement_note_text(placement.note.value)
    if placement.decided is None:
        yield "its decision is not known"
    if placement.next is not None and not placement.reconciled:
        next_clusters = names_text(placement.next) or "nowhere"
        yield f"OCM has not reconciled yet: it would decide {next_clusters}"
    if placement.counted_as_zero:
        yield f"scores count as 0: {names_text(placement.counted_as_zero)}"
    if placement.endless is not UNSET:
        yield f"never expires: {names_text(placement.endless)}"
    if placement.wish is not None:
        wish = names_text(placement.wish) or "nowhere"
        yield f"held by its pace; the scores ask for {wish}"
    if placement.lead is not None:
        yield lead_text(placement.lead)


def _with_copies(row: ApplicationRow, view: ApplicationView) -> ApplicationRow:
    """The row with what Argo CD has of the application."""
    state = "Argo CD reports an error" if view.message else application_text(view)
    notes = [*row.notes]
    if view.message:
        notes.insert(0, f"Argo CD: {view.message}")
    if view.as_decided:
        return row._replace(state="running", notes=notes)
    for copy in view.copies:
        notes.append(f"{copy.cluster}: {copy_text(copy, view)}")
    # Without the right to read Applications it is unknown whether something is wrong.
    if view.as_decided is None:
        return row._replace(state=state, kind="", order=1, notes=notes)
    # A move that takes its time is normal. An error, or no copy at all, does not end by itself.
    is_bad = bool(view.message) or not view.copies
    return row._replace(
        state=state, kind="bad" if is_bad else "warn", order=0 if is_bad else 1, notes=notes
    )
