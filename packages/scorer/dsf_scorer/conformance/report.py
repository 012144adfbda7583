"""Findings of a check, and how they are written: as text or JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from dsf_wire.text import printable_lines


class Severity(StrEnum):
    """ok: as the contract requires. notice: probably intended. warning: works, with a consequence. error: an
    agent or the reconciler would fail.
    """

    OK = "ok"
    NOTICE = "notice"
    WARNING = "warning"
    ERROR = "error"


OK, NOTICE, WARNING, ERROR = Severity


@dataclass(frozen=True)
class Finding:
    """The result of one check, which has a stable name such as ``scoring.empty-data``. The hint says what to
    do.
    """

    check: str
    severity: Severity
    message: str
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class Report:
    """All findings on one scoring API, in the order of the checks."""

    url: str
    findings: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        return sum(finding.severity is severity for finding in self.findings)

    def text(self, *, verbose: bool) -> str:
        """Problems with their hints, and a summary line. With ``verbose``, also what is right."""
        return printable_lines(self._lines(verbose=verbose))

    def _lines(self, *, verbose: bool) -> Iterator[str]:
        width = max((len(finding.check) for finding in self.findings), default=0)
        for finding in self.findings:
            if finding.severity is OK and not verbose:
                continue
            yield f"{finding.severity:<8} {finding.check:<{width}}  {finding.message}"
            if finding.hint:
                yield f"{'':<8} {'':<{width}}  -> {finding.hint}"
        passed, warnings, errors = map(self.count, (OK, WARNING, ERROR))
        yield f"{self.url}: {passed} checks passed, {warnings} warnings, {errors} errors"

    def json(self) -> str:
        """One object: url, errors, warnings and all findings."""
        plain = {
            "url": self.url,
            "errors": self.count(ERROR),
            "warnings": self.count(WARNING),
            "findings": self.findings,
        }
        return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode() + "\n"
