"""Findings: mistakes of users as values.

A finding has a stable code, a position, a message that says what is wrong, and a hint that says
what to write instead. Mistakes of users are never exceptions, so that one run reports all of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """The severity of a finding.

    Errors stop rendering. Warnings do so with --strict only. Notices never do: only the user can
    judge what they are about.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Position:
    """A position in a file of the repository. Lines and columns count from 1."""

    file: str
    """The path from the root of the repository, with forward slashes."""
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Edit:
    """An exact edit of a finding's document: the field at `path` gets a value, moves, or goes."""

    path: tuple[str | int, ...]
    to: tuple[str | int, ...] = ()
    """The path to which the field moves."""
    value: str | float | None = None
    """The new value. None, without `to`, removes the field."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnostic:
    """One finding. The message says what is wrong, the hint what to write instead."""

    code: str
    severity: Severity
    message: str
    position: Position
    hint: str = ""
    edits: tuple[Edit, ...] = field(default=(), compare=False, repr=False)
    """The edits of `validate --fix`. They are empty if the hint leaves anything to decide."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake in one text that people write, such as a query, an expression, a template or a URL.

    Whoever reads such a text does not know where it stands. Its caller does, and makes a Diagnostic
    of the mistake.
    """

    message: str
    hint: str = ""
    """The text to write instead. It is empty if that is unknown."""
    offset: int | None = 0
    """Characters before the mistake in the text. None if the position is not known."""


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorts by position, code, message and hint, and removes duplicates."""
    return sorted(set(diagnostics), key=_order)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether rendering must stop."""
    return any(finding.severity is Severity.ERROR for finding in diagnostics)


def has_mistakes(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether a strict check fails: errors and warnings count, notices do not."""
    return any(finding.severity is not Severity.NOTICE for finding in diagnostics)


def _order(finding: Diagnostic) -> tuple[Position, str, str, str]:
    return finding.position, finding.code, finding.message, finding.hint
