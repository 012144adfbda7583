"""Findings of checks, and the output of `doctor`."""

from enum import StrEnum
from typing import Final

from msgspec import Struct


class State(StrEnum):
    """The severity of a finding."""

    OK = "ok"
    WARNING = "warning"
    """Everything works, but something should be changed."""
    ERROR = "error"
    """Scores, decisions or applications do not work, or will be lost."""
    UNKNOWN = "unknown"
    """It could not be checked: a permission is missing, or the hub does not show it."""


# A part that could not be checked may be wrong, so it stands before one that is certainly fine.
WORST_FIRST: Final = (State.ERROR, State.WARNING, State.UNKNOWN, State.OK)
MOVES_STOPPED: Final = "moves-stopped"
"""The check whether the fleet stopped its moves. What it finds holds every application."""


class DoctorFinding(Struct, frozen=True, kw_only=True):
    """One line of the report."""

    check: str
    state: State
    message: str
    fix: str | None
    """A command that fixes it, or what to edit in git; None if there is nothing to do."""
    count: int = 1
    subjects: tuple[str, ...] = ()
    """The clusters that it is about, if they were checked one by one."""


def worst_first(finding: DoctorFinding) -> tuple[int, bool]:
    """The order of findings for people: by severity, and a fleet that stopped itself first."""
    is_stop = finding.check == MOVES_STOPPED
    return WORST_FIRST.index(finding.state), not is_stop


class DoctorHub(Struct, rename="camel"):
    origin: str
    now: str
    clock_offset_seconds: float | None


class DoctorOutput(Struct):
    """The output of `doctor`."""

    hub: DoctorHub
    findings: tuple[DoctorFinding, ...]
    summary: dict[str, int]


def ok(message: str) -> DoctorFinding:
    """The finding of a check if nothing is wrong.

    It is dropped if the check has other findings.
    """
    return _finding(State.OK, message)


def warning(message: str, fix: str, *, subject: str = "") -> DoctorFinding:
    """A warning: everything works, but something should be changed.

    `subject` is the cluster that it is about, if clusters are checked one by one.
    """
    return _finding(State.WARNING, message, fix, subject)


def error(message: str, fix: str, *, subject: str = "") -> DoctorFinding:
    """An error: something does not work, or will be lost.

    `subject` is the cluster that it is about, if clusters are checked one by one.
    """
    return _finding(State.ERROR, message, fix, subject)


def unknown(message: str, fix: str = "") -> DoctorFinding:
    """A finding about something that could not be checked."""
    return _finding(State.UNKNOWN, message, fix)


def _finding(state: State, message: str, fix: str = "", subject: str = "") -> DoctorFinding:
    """A check does not know its ID; `examine` writes it into the finding."""
    subjects = (subject,) if subject else ()
    return DoctorFinding(check="", state=state, message=message, fix=fix or None, subjects=subjects)
