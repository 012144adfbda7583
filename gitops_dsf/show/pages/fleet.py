"""The page of a fleet: what `status -o html` shows.

The worst things come first, each with the command that mends it. They are the findings of `doctor`,
so that the page and the verb never judge differently.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from msgspec import UNSET

from gitops_dsf.hub.points import points_text
from gitops_dsf.hub.score_states import LIVE, ScoreState
from gitops_dsf.hub.times import age_text
from gitops_dsf.journal.record import Record
from gitops_dsf.journal.timeline import by_placement, in_order
from gitops_dsf.show.journal import after_text, before_text, cause_text, time_text
from gitops_dsf.show.pages.heatmap import MARKS, heat_map
from gitops_dsf.show.pages.kit import Fact, render
from gitops_dsf.show.pages.timeline import time_line
from gitops_dsf.show.status.applications import application_text, copy_text
from gitops_dsf.show.status.drains import draining_text
from gitops_dsf.show.status.moves import failed_text
from gitops_dsf.show.status.placements import flip_text, lead_text, order_text
from gitops_dsf.show.status.scorers import config_text, health_text
from gitops_dsf.show.status.verification import verifying_text
from gitops_dsf.views.doctor.finding import DoctorFinding, State, worst_first
from gitops_dsf.views.status.applications import ApplicationView
from gitops_dsf.views.status.build import Overview
from gitops_dsf.views.status.inputs import HubPart
from gitops_dsf.views.status.placements import PlacementView
from gitops_dsf.views.status.queue import NO_MOVES, MoveView
from gitops_dsf.views.status.rankings import RankingNumber, rankings
from gitops_dsf.views.status.scores import ScorerView
from gitops_dsf.wording import names_text, plural, prioritizer_text

_MAKERS: Final = {"AddOn": "another add-on", "OCM": "OCM"}
"""Who makes a number that ranks, beside scorers."""
MAX_WORST: Final = 3
"""Findings at the top. The others are in a list that opens."""
MAX_RECORDS: Final = 1_000
"""Past moves in the table. The page says how many more there are."""


class SourcePlace(NamedTuple):
    """Where git has an object."""

    place: str
    """File and line, such as `apps/portal.yaml:4`."""
    url: str
    """The page of the forge; empty where the forge is not known."""


@dataclass(frozen=True, kw_only=True)
class Past:
    """What the journal says."""

    records: Sequence[Record] = ()
    start: float = 0.0
    """Unix seconds; records before are only read for where things were at the start."""
    note: str = ""
    """How old the journal is, or why there is none."""


@dataclass(frozen=True, kw_only=True)
class ShownFleet:
    """What the page shows."""

    overview: Overview
    findings: Sequence[DoctorFinding]
    sources: Mapping[tuple[str, str], SourcePlace]
    """By kind and name; empty where no fleet repository was read."""
    sources_note: str
    """Which commit the links name, or why there are none."""
    past: Past


class _ApplicationRow(NamedTuple):
    """One application, or a Placement that no application of ours follows."""

    order: int
    """Those that need a person have the lowest."""
    name: str
    source: SourcePlace | None
    ranked: str
    state: str
    kind: str
    """How bad the state is: good, warn, bad, or nothing."""
    notes: Sequence[str]
    where: Sequence[str]
    since: str
    moved: float | None
    points: str
    lead: str
    flips: Sequence[str]


class _MoveRow(NamedTuple):
    placement: str
    source: str
    target: str
    phase: str
    note: str
    """What its checks measure, or that it goes back."""
    since: str
    cause: str


class _JobOrderRow(NamedTuple):
    """A MultiKueueConfig that a Placement orders."""

    config: str
    note: str
    """Why it is not in the order of the scores; empty if it is."""
    placement: str
    clusters: str
    """In the order of the list, with points."""
    left_out: str
    reason: str


class _ScorerRow(NamedTuple):
    name: str
    source: SourcePlace | None
    health: str
    kind: str
    notes: Sequence[str]
    host: str
    fresh: str
    others: str
    lowest: int | None
    median: int | None
    highest: int | None
    oldest: str
    oldest_seconds: int | None


class _RecordRow(NamedTuple):
    time: str
    placement: str
    before: str
    after: str
    cause: str
    commit: str


def fleet_page(fleet: ShownFleet) -> str:
    """The page of a fleet: applications, moves, scores and settings, as HTML in one file."""
    view = fleet.overview
    snapshot = view.inputs.snapshot
    problems: list[DoctorFinding] = []
    worst: list[DoctorFinding] = []
    for finding in sorted(fleet.findings, key=worst_first):
        if finding.state is State.OK:
            continue
        problems.append(finding)
        # What could not be checked may be fine, and must not stand above what is certainly wrong.
        if finding.state is not State.UNKNOWN:
            worst.append(finding)
    now = f"{view.inputs.now:%Y-%m-%d %H:%M:%S}"
    queue = view.queue or NO_MOVES
    records: list[Record] = []
    for record in reversed(in_order(fleet.past.records)):
        if record.time.timestamp() >= fleet.past.start:
            records.append(record)
    return render(
        "fleet.html",
        verb="status",
        title=f"Fleet of {snapshot.origin.removeprefix('context ')}",
        lead=f"As the hub was at {now} UTC.",
        worst=worst[:MAX_WORST],
        checked=_checked(fleet.findings),
        findings=problems if len(problems) > len(worst[:MAX_WORST]) else (),
        findings_title=f"All {plural(len(problems), 'finding')}",
        facts=tuple(_facts(view)),
        applications=_application_rows(fleet),
        # Beside the applications, which need most of what a hub may refuse to show.
        applications_note="".join(f"; {unread}" for unread in view.inputs.holes),
        heat=heat_map(view.clusters, view.scorers),
        moving=view.queue is not None or bool(view.refuges),
        drains=tuple(map(draining_text, queue.draining or ())),
        under_way=tuple(map(_move_row, queue.under_way)),
        held=queue.held or (),
        failed=tuple(map(failed_text, queue.failed or ())),
        waiting=queue.waiting,
        omitted=queue.omitted or 0,
        refuges=view.refuges,
        job_orders=tuple(_job_order_rows(view.placements)),
        scorers=[_scorer_row(scorer, fleet.sources) for scorer in view.scorers],
        journal_note=fleet.past.note,
        line=time_line(fleet.past.records, start=fleet.past.start, end=view.inputs.now.timestamp()),
        records=tuple(map(_record_row, records[:MAX_RECORDS])),
        records_title=_records_title(records),
        footer=fleet.sources_note,
    )


def _checked(findings: Sequence[DoctorFinding]) -> str:
    """What stands behind "all is well"."""
    unknown = 0
    names: set[str] = set()
    for finding in findings:
        unknown += finding.state is State.UNKNOWN
        names.add(finding.check)
    checks = plural(len(names), "check")
    if unknown:
        return f"{checks} of gitops-dsf doctor found nothing wrong; {unknown} could not be done."
    return f"{checks} of gitops-dsf doctor found nothing wrong."


def _records_title(records: Sequence[Record]) -> str:
    """How many moves the table has, verifications of moves, and orders of clusters for Kueue."""
    moves = 0
    verifications = 0
    orders = 0
    for record in records:
        moves += record.changes_decision
        verifications += record.verification is not None
        orders += record.order is not None
    parts = [plural(moves, "move")]
    if verifications:
        parts.append(plural(verifications, "verification"))
    if orders:
        parts.append(f"{plural(orders, 'order')} of clusters for Kueue")
    text = " and ".join(parts)
    if len(records) > MAX_RECORDS:
        return f"The newest {MAX_RECORDS} of {text}; gitops-dsf log lists all"
    return text


def _facts(view: Overview) -> Iterator[Fact]:
    snapshot = view.inputs.snapshot
    clusters = len(snapshot.clusters)
    unreached = sum(cluster.reachable is False for cluster in view.clusters)
    yield Fact(str(clusters), "clusters" if not unreached else f"clusters, {unreached} not reached")
    moving = sum(not application.as_decided for application in view.applications)
    yield Fact(
        str(len(view.applications)),
        "applications" if not moving else f"applications, {moving} not settled",
    )
    yield Fact(str(len(view.scorers)), "scorers")
    scores = 0
    live = 0
    for scorer in view.scorers:
        scores += scorer.shown
        for state in LIVE:
            live += scorer.counts[state]
    yield Fact(f"{live} of {scores}", "scores count")
    if view.queue is not None:
        waiting = len(view.queue.waiting) + (view.queue.omitted or 0)
        yield Fact(str(len(view.queue.under_way)), f"moves under way, {waiting} waiting")


# Applications


def _application_rows(fleet: ShownFleet) -> Sequence[_ApplicationRow]:
    """Applications and Placements that none of them follows; those that need a person first."""
    view = fleet.overview
    namespaces: dict[str, str] = {}
    for application_set in view.inputs.application_sets:
        namespaces[application_set.name] = application_set.namespace
    placements = {placement.placement: placement for placement in view.placements}
    moved = _last_moves(fleet.past.records)
    # Without the scorers nobody can tell whose a score is.
    external = view.external_scores if view.inputs.knows(HubPart.SCORERS) else {}
    ranked = rankings(view.inputs.placements, external)
    followed = set[str]()
    rows: list[_ApplicationRow] = []
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
        source = fleet.sources.get(("ScoredApplication", application.name))
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
            source = fleet.sources.get(("ScoredPlacement", key.partition("/")[2]))
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
    """When each Placement moved last, in seconds since 1970."""
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
) -> _ApplicationRow:
    """What the decisions of its Placements say."""
    clusters: list[str] = []
    points: list[str] = []
    leads: list[str] = []
    flips: list[str] = []
    notes: list[str] = []
    for placement in placements:
        clusters += placement.decided or ()
        for cluster in placement.points:
            points.append(points_text(cluster.points))
        # Only the cluster that would go out tells how safe the present decision is.
        for flip in placement.flips:
            flips.append(flip_text(flip))
            if flip.change == "out":
                leads.append(points_text(flip.mean))
        notes += _placement_notes(placement)
    is_reconciled = all(placement.reconciled for placement in placements)
    return _ApplicationRow(
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
    if placement.note:
        yield placement.note
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


def _with_copies(row: _ApplicationRow, view: ApplicationView) -> _ApplicationRow:
    """The row with what Argo CD has of the application."""
    state = "Argo CD reports an error" if view.message else application_text(view)
    notes = [*row.notes]
    if view.message:
        notes.insert(0, f"Argo CD: {view.message}")
    if view.as_decided:
        return row._replace(state="running", notes=notes)
    for copy in view.copies:
        notes.append(f"{copy.cluster}: {copy_text(copy, view)}")
    # Without the right to read Applications nobody can say whether something is wrong.
    if view.as_decided is None:
        return row._replace(state=state, kind="", order=1, notes=notes)
    # A move that takes its time is normal. An error, or no copy at all, does not end by itself.
    is_bad = bool(view.message) or not view.copies
    return row._replace(
        state=state, kind="bad" if is_bad else "warn", order=0 if is_bad else 1, notes=notes
    )


# Moves


def _move_row(move: MoveView) -> _MoveRow:
    note = "goes back" if move.returning else ""
    if move.verification:
        note = verifying_text(move.verification)
    cause = "not known" if move.cause is None else str(move.cause)
    return _MoveRow(
        placement=move.placement,
        # OCM places a new application by itself, from no cluster.
        source=move.source or "new",
        target=move.target,
        phase=move.phase,
        note=note,
        since=move.since,
        cause=cause if move.admitted else f"{cause}, by OCM itself",
    )


# Jobs


def _job_order_rows(placements: Iterable[PlacementView]) -> Iterator[_JobOrderRow]:
    """A row for each Placement that orders jobs."""
    for placement in placements:
        jobs = placement.jobs
        if jobs is not UNSET:
            yield _JobOrderRow(
                config=jobs.config,
                note=jobs.note or "",
                placement=placement.placement,
                clusters=order_text(jobs.clusters),
                left_out=", ".join(jobs.left_out),
                reason=jobs.reason,
            )


# Scorers


def _scorer_row(view: ScorerView, sources: Mapping[tuple[str, str], SourcePlace]) -> _ScorerRow:
    scorer = view.scorer
    others: list[str] = []
    for state, mark in MARKS.items():
        if state is not ScoreState.FRESH and view.counts[state]:
            others.append(f"{view.counts[state]} {mark.name}")
    if view.unexpected:
        others.append(f"{len(view.unexpected)} unexpected")
    notes: list[str] = []
    config = config_text(view)
    # Only what a person may want to change: most scorers have no /config, or one that is accepted.
    if config not in {"-", "Synced"}:
        notes.append(f"/config: {config}")
    if view.at_default:
        notes.append(f"{plural(view.at_default, 'score')} at defaultScore")
    return _ScorerRow(
        name=scorer.name,
        source=sources.get(("DynamicScorer", scorer.name)),
        health=health_text(view),
        kind=_health_kind(view),
        notes=notes,
        host=_asks(view),
        fresh=str(view.counts[ScoreState.FRESH]) if view.known else "?",
        others=", ".join(others) if view.known else "not known",
        lowest=view.values.lowest,
        median=view.values.median,
        highest=view.values.highest,
        oldest="" if view.oldest is None else age_text(view.oldest),
        oldest_seconds=None if view.oldest is None else round(view.oldest),
    )


def _health_kind(view: ScorerView) -> str:
    if view.scorer.health == "Inactive":
        return "bad"
    if view.scorer.health == "Unknown" or view.suspended:
        return "warn"
    return "good" if view.scorer.health else ""


def _asks(view: ScorerView) -> str:
    """The hosts of its source and of its scoring API, and from where it asks them."""
    hosts: list[str] = []
    for endpoint in (view.scorer.spec.source, view.scorer.spec.scoring):
        if endpoint.host:
            # A URL of an object on the hub may hold a password, which no page shows.
            hosts.append(urlsplit(endpoint.host).netloc.rpartition("@")[2] or endpoint.host)
        elif endpoint.ref:
            hosts.append(f"source {endpoint.ref}")
    runner = "the hub" if view.scorer.on_hub else "each cluster"
    # Source and scoring API are often one server.
    names = names_text(dict.fromkeys(hosts))
    return f"{names}, from {runner}" if names else f"on {runner}"


# The past


def _record_row(record: Record) -> _RecordRow:
    return _RecordRow(
        time=time_text(record),
        placement=record.placement,
        before=before_text(record),
        after=after_text(record),
        cause=cause_text(record),
        commit=record.commit[:10],
    )
