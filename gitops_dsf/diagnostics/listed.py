"""Bounds the number of findings that are kept.

A file of 8 MiB can have a million of them. Nobody reads that many, and they took 3 GB of memory.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Position, Severity, codes

MAX_FINDINGS: Final = 10_000
"""Findings of a repository that are listed."""
MAX_OF_DOCUMENT: Final = 1_000
"""Findings of one document that are listed."""
_SEVEREST_FIRST: Final = tuple(Severity)


class Listed:
    """Findings up to a number, and how many more there are."""

    def __init__(self, max_findings: int = MAX_FINDINGS) -> None:
        self.items: list[Diagnostic] = []
        self._max_findings = max_findings
        self._more = 0
        self._first: Position | None = None
        """The position of the first finding that is not listed."""
        self._severity = Severity.NOTICE

    @property
    def is_full(self) -> bool:
        return len(self.items) >= self._max_findings

    def add(self, findings: Iterable[Diagnostic]) -> None:
        """Keeps findings while there is room, and counts the others."""
        for finding in findings:
            if self.is_full:
                self.count(1, at=finding.position, severity=finding.severity)
            else:
                self.items.append(finding)

    def count(self, number: int, *, at: Position, severity: Severity = Severity.ERROR) -> None:
        """Counts findings that were not made."""
        if number:
            self._more += number
            self._first = self._first or at
            self._severity = min(self._severity, severity, key=_SEVEREST_FIRST.index)

    def all(self) -> list[Diagnostic]:
        """The findings, and one that says how many more there are.

        That one is an error if any of those that are not listed is.
        """
        return [*self.items, *self._rest()]

    def _rest(self) -> Iterator[Diagnostic]:
        if self._first is not None:
            yield codes.MORE_FINDINGS.at(
                self._first,
                f"{self._more:,} more findings are not listed",
                "mend those that are listed, and run it again",
                severity=self._severity,
            )
