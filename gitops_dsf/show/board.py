"""The board of a fleet: README.md of the state branch, which the forge shows.

It has the worst things first, then applications, moves and scorers. It names no age, because a text
that changes every minute would be pushed every minute. Text of others is escaped.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gitops_dsf.hub.moves.measured import checks_text
from gitops_dsf.hub.score_states import ScoreState
from gitops_dsf.show.markdown import code, escaped
from gitops_dsf.show.status.applications import application_text, copy_text
from gitops_dsf.show.status.scorers import health_text
from gitops_dsf.views.doctor.finding import DoctorFinding, State, worst_first
from gitops_dsf.views.status.applications import ApplicationView, CopyState
from gitops_dsf.views.status.build import Overview
from gitops_dsf.views.status.queue import NO_MOVES, QueueView
from gitops_dsf.views.status.scores import ScorerView
from gitops_dsf.views.status.verification import VerificationView
from gitops_dsf.wording import plural

MAX_BYTES: Final = 100_000
"""Forges show larger files as plain text, or not at all."""
ROOM: Final = 2_000
"""Bytes that are kept for the sentences about what has no room, and for the end."""
MAX_FINDINGS: Final = 30
MAX_MOVES: Final = 50
"""Moves that are listed, and pairs that are held."""
END: Final = (
    "\n---\n\nWritten by `gitops-dsf reconcile`: what the hub held when this changed last. The"
    " other files are the snapshot that previews of pull requests read. Do not edit: the next"
    " snapshot replaces the whole branch. `gitops-dsf status -o html` shows more.\n"
)


@dataclass(frozen=True, kw_only=True)
class Board:
    """The content of the board."""

    overview: Overview
    findings: Sequence[DoctorFinding]


def board_text(board: Board) -> str:
    """The whole text, of at most `MAX_BYTES`. The same fleet has the same text."""
    queue = board.overview.queue or NO_MOVES
    lines = ["# Fleet", "", *_worst(board.findings), ""]
    sections = (
        ("Applications", _applications(board.overview.applications)),
        ("Moves under way", _moves(queue)),
        ("Held", _held(queue)),
        ("Scorers", _scorers(board.overview.scorers)),
    )
    used = _size(lines) + len(END.encode())
    # In this order a large fleet loses scorers first, which `status` shows as well.
    for title, rows in sections:
        fitting, used = _fitting(rows, used=used)
        if fitting:
            lines += [f"## {title}", "", *fitting, ""]
    return "\n".join(lines).rstrip("\n") + "\n" + END


def _fitting(rows: Iterable[str], *, used: int) -> tuple[list[str], int]:
    """The rows that have room, and a sentence about the others."""
    fitting: list[str] = []
    hidden = 0
    for row in rows:
        size = len(row.encode()) + 1
        # The most important rows come first, so none follows one for which there is no room.
        if hidden or used + size > MAX_BYTES - ROOM:
            hidden += 1
            continue
        fitting.append(row)
        used += size
    if hidden:
        fitting += ["", f"and {plural(hidden, 'more row')}, for which there is no room"]
    return fitting, used


def _size(lines: Iterable[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _worst(findings: Iterable[DoctorFinding]) -> Iterator[str]:
    bad = [finding for finding in findings if finding.state in {State.ERROR, State.WARNING}]
    if not bad:
        yield "**All is well**, as far as the reconciler sees."
        return
    bad.sort(key=worst_first)
    for finding in bad[:MAX_FINDINGS]:
        # Markdown would join two lines of an entry to one.
        fix = f"<br>{code(finding.fix)}" if finding.fix else ""
        yield f"- **{finding.state}**: {escaped(finding.message)}{fix}"
    if len(bad) > MAX_FINDINGS:
        yield f"- and {len(bad) - MAX_FINDINGS} more; `gitops-dsf doctor` lists all"


def _applications(views: Sequence[ApplicationView]) -> Iterator[str]:
    """The applications; those that do not run as decided come first."""
    if not views:
        return
    yield "| application | decided for | state |"
    yield "|---|---|---|"
    for view in sorted(views, key=lambda view: (view.as_decided is not False, view.name)):
        decided: list[str] = []
        notes = [application_text(view)] if not view.as_decided else ["running"]
        if view.message:
            notes.append(f"Argo CD: {view.message}")
        for copy in view.copies:
            # An old copy runs where nothing is decided any more.
            if copy.standing not in {CopyState.WAITING, CopyState.LEAVING}:
                decided.append(copy.cluster)
            if copy.standing is not CopyState.RUNNING:
                notes.append(f"{copy.cluster}: {copy_text(copy, view)}")
        cells = (view.name, ", ".join(decided) or "nowhere", "; ".join(notes))
        yield _row(cells)


def _moves(queue: QueueView) -> Iterator[str]:
    moves = queue.under_way
    if not moves:
        return
    yield "| Placement | from | to | phase | since |"
    yield "|---|---|---|---|---|"
    for move in moves[:MAX_MOVES]:
        phase = f"{move.phase}, goes back" if move.returning else move.phase
        if move.verification:
            phase = f"{move.phase}: {_checks(move.verification)}"
        yield _row((move.placement, move.source or "new", move.target, phase, move.since))
    if len(moves) > MAX_MOVES:
        yield f"\nand {len(moves) - MAX_MOVES} more"


def _checks(verification: VerificationView) -> str:
    """The values that the checks measure, without durations, which would change every minute."""
    if verification.passed:
        return "passed"
    return checks_text(verification.checks)


def _held(queue: QueueView) -> Iterator[str]:
    held = queue.held or ()
    if not held:
        return
    yield "| Placement | does not go to | until | because |"
    yield "|---|---|---|---|"
    for hold in held[:MAX_MOVES]:
        if hold.why:
            cause = f"it came back at {hold.since}: {hold.why}"
        else:
            cause = f"it came back at {hold.since}"
        yield _row((hold.placement, hold.cluster, hold.until, cause))
    if len(held) > MAX_MOVES:
        yield f"\nand {len(held) - MAX_MOVES} more"


def _scorers(views: Sequence[ScorerView]) -> Iterator[str]:
    if not views:
        return
    yield "| scorer | health | clusters by state of their score |"
    yield "|---|---|---|"
    for view in views:
        counts: list[str] = []
        for state in ScoreState:
            # Scores that are about to be renewed come and go within minutes.
            if state is not ScoreState.EXPIRING and view.counts[state]:
                count = view.counts[state]
                if state is ScoreState.FRESH:
                    count += view.counts[ScoreState.EXPIRING]
                counts.append(f"{count} {state}")
        yield _row((view.scorer.name, health_text(view), ", ".join(counts) or "none"))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"
