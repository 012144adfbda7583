"""The page of a fleet, for `status -o html`.

The worst things come first, each with the command that mends it. They are the findings of `doctor`,
so that the page and the verb never judge differently.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from msgspec import UNSET

from gitops_dsf.hub.score_states import LIVE
from gitops_dsf.journal.record import Record
from gitops_dsf.journal.timeline import in_order
from gitops_dsf.show.journal import after_text, before_text, cause_text, time_text
from gitops_dsf.show.pages.fleetapplications import application_rows
from gitops_dsf.show.pages.fleetscorers import scorer_row
from gitops_dsf.show.pages.heatmap import heat_map
from gitops_dsf.show.pages.kit import Fact, render
from gitops_dsf.show.pages.sourceplace import SourcePlace
from gitops_dsf.show.pages.timeline import time_line
from gitops_dsf.show.status.drains import draining_text
from gitops_dsf.show.status.moves import failed_text
from gitops_dsf.show.status.notes import order_note_text
from gitops_dsf.show.status.placements import order_text
from gitops_dsf.show.status.verification import verifying_text
from gitops_dsf.views.doctor.finding import DoctorFinding, State, worst_first
from gitops_dsf.views.status.build import Overview
from gitops_dsf.views.status.placements import PlacementView
from gitops_dsf.views.status.queue import NO_MOVES, MoveView
from gitops_dsf.wording import plural

MAX_WORST: Final = 3
"""Findings at the top. The others are in a list that opens."""
MAX_RECORDS: Final = 1_000
"""Past moves in the table. The page says how many more there are."""


@dataclass(frozen=True, kw_only=True)
class Past:
    """The records of the journal."""

    records: Sequence[Record] = ()
    start: float = 0.0
    """Unix seconds; records before are only read for where things were at the start."""
    note: str = ""
    """The age of the journal, or the reason why there is none."""


@dataclass(frozen=True, kw_only=True)
class ShownFleet:
    """The content of the page."""

    overview: Overview
    findings: Sequence[DoctorFinding]
    sources: Mapping[tuple[str, str], SourcePlace]
    """The places of objects in git, by kind and name; empty where no fleet repository was read."""
    sources_note: str
    """The commit that the links name, or the reason why there are none."""
    past: Past


class _MoveRow(NamedTuple):
    placement: str
    source: str
    target: str
    phase: str
    note: str
    """The values that its checks measure, or the note that it returns."""
    since: str
    cause: str


class _JobOrderRow(NamedTuple):
    """A MultiKueueConfig that a Placement orders."""

    config: str
    note: str
    """The reason why it is not in the order of the scores; empty if it is."""
    placement: str
    clusters: str
    """The clusters in the order of the list, with points."""
    left_out: str
    reason: str


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
        # A part that could not be checked may be fine, and must not stand above one that is
        # certainly wrong.
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
        applications=application_rows(view, fleet.sources, fleet.past.records),
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
        scorers=[scorer_row(scorer, fleet.sources) for scorer in view.scorers],
        journal_note=fleet.past.note,
        line=time_line(fleet.past.records, start=fleet.past.start, end=view.inputs.now.timestamp()),
        records=tuple(map(_record_row, records[:MAX_RECORDS])),
        records_title=_records_title(records),
        footer=fleet.sources_note,
    )


def _checked(findings: Sequence[DoctorFinding]) -> str:
    """The text behind "all is well"."""
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
    """The number of moves in the table, of verifications, and of orders of clusters for Kueue."""
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


def _job_order_rows(placements: Iterable[PlacementView]) -> Iterator[_JobOrderRow]:
    """A row for each Placement that orders jobs."""
    for placement in placements:
        jobs = placement.jobs
        if jobs is not UNSET:
            yield _JobOrderRow(
                config=jobs.config,
                note="" if jobs.note is None else order_note_text(jobs.note.value),
                placement=placement.placement,
                clusters=order_text(jobs.clusters),
                left_out=", ".join(jobs.left_out),
                reason=jobs.reason,
            )


def _record_row(record: Record) -> _RecordRow:
    return _RecordRow(
        time=time_text(record),
        placement=record.placement,
        before=before_text(record),
        after=after_text(record),
        cause=cause_text(record),
        commit=record.commit[:10],
    )
