"""Mistakes of users as values: a stable code, where it is, what is wrong and what to write instead."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Errors stop rendering. Warnings do not, unless asked to. Notices never do: they name what only somebody
    else can know.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Position:
    """A place in a file: path relative to the repository with forward slashes, line and column from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnostic:
    """One finding. The message says what is wrong, the hint what to write instead."""

    code: str
    severity: Severity
    message: str
    position: Position
    hint: str = ""


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by place, then code, message and hint; exact repetitions are left out."""
    return sorted(set(diagnostics), key=lambda item: (item.position, item.code, item.message, item.hint))


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether rendering must stop."""
    return any(item.severity is Severity.ERROR for item in diagnostics)


def has_mistakes(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether a strict check fails: errors and warnings count, notices do not."""
    return any(item.severity is not Severity.NOTICE for item in diagnostics)
