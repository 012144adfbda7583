"""The result of a check."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """ok: as the contract requires. notice: probably intended. warning: works, with a consequence. error: an
    agent or the reconciler would fail.
    """

    OK = "ok"
    NOTICE = "notice"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one check. The hint says what to do."""

    check: str
    """Stable name such as ``scoring.empty-data``."""
    severity: Severity
    message: str
    hint: str = ""


def ok(check: str, message: str) -> Finding:
    return Finding(check=check, severity=Severity.OK, message=message)


def notice(check: str, message: str, hint: str = "") -> Finding:
    return Finding(check=check, severity=Severity.NOTICE, message=message, hint=hint)


def warning(check: str, message: str, hint: str = "") -> Finding:
    return Finding(check=check, severity=Severity.WARNING, message=message, hint=hint)


def error(check: str, message: str, hint: str = "") -> Finding:
    return Finding(check=check, severity=Severity.ERROR, message=message, hint=hint)


@dataclass(frozen=True, kw_only=True)
class Report:
    """All findings on one scoring API, in the order of the checks."""

    url: str
    findings: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        return sum(finding.severity is severity for finding in self.findings)
