"""A bound for findings: a file of 8 MiB can have a million, which nobody reads, and which took 3 GB."""

from collections.abc import Iterable, Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Position, Severity, codes

MOST: Final = 10_000
"""Findings of a repository that are listed."""
MOST_OF_DOCUMENT: Final = 1_000
"""Findings of one document that are listed."""
_SEVEREST_FIRST: Final = tuple(Severity)


class Listed:
    """Findings up to a number, and how many more there are."""

    def __init__(self, most: int = MOST) -> None:
        self.items: list[Diagnostic] = []
        self._most = most
        self._more = 0
        self._first: Position | None = None
        """Where the first finding is that is not listed."""
        self._severity = Severity.NOTICE

    @property
    def is_full(self) -> bool:
        return len(self.items) >= self._most

    def add(self, findings: Iterable[Diagnostic]) -> None:
        """Keeps findings while there is room, and counts the others."""
        for item in findings:
            if self.is_full:
                self.count(1, at=item.position, severity=item.severity)
            else:
                self.items.append(item)

    def count(self, number: int, *, at: Position, severity: Severity = Severity.ERROR) -> None:
        """Counts findings that nobody put into words."""
        if number:
            self._more += number
            self._first = self._first or at
            self._severity = min(self._severity, severity, key=_SEVEREST_FIRST.index)

    def all(self) -> list[Diagnostic]:
        """The findings, and one that says how many more there are. It is an error if one of them is."""
        return [*self.items, *self._rest()]

    def _rest(self) -> Iterator[Diagnostic]:
        if self._first is not None:
            message = f"{self._more:,} more findings are not listed"
            hint = "mend those that are listed, and run it again"
            yield codes.MORE_FINDINGS.at(self._first, message, hint, severity=self._severity)
