"""What a check says."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    """It works, and something is not as it should be."""
    ERROR = "error"
    """Scores, decisions or applications do not work, or will be lost."""
    UNKNOWN = "unknown"
    """Could not be seen: a right is missing, or the hub does not show it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """One thing that a check found; it becomes a Finding with the check's id."""

    state: State
    message: str
    fix: str = ""
    """A command that fixes it, or what to edit in git; empty where there is nothing to do."""


def ok(message: str) -> Result:
    """All is well."""
    return Result(state=State.OK, message=message)


def warning(message: str, fix: str) -> Result:
    """Something is not as it should be."""
    return Result(state=State.WARNING, message=message, fix=fix)


def error(message: str, fix: str) -> Result:
    """Something does not work."""
    return Result(state=State.ERROR, message=message, fix=fix)


def unknown(message: str, fix: str = "") -> Result:
    """Nobody can tell from here."""
    return Result(state=State.UNKNOWN, message=message, fix=fix)


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One line of the report."""

    check: str
    """Stable id of the check."""
    state: State
    message: str
    fix: str

    def to_dict(self) -> dict[str, Any]:
        """JSON data."""
        return {"check": self.check, "state": str(self.state), "message": self.message, "fix": self.fix or None}
