"""Formats findings as text or JSON."""

from collections.abc import Iterator

import msgspec

from dsf_scorer.conformance.finding import Report, Severity
from dsf_wire.text import printable


def text(report: Report, *, verbose: bool) -> str:
    """Formats problems with their hints, and a summary line. With ``verbose``, also what is right."""
    return "".join(f"{line}\n" for line in _lines(report, verbose=verbose))


def _lines(report: Report, *, verbose: bool) -> Iterator[str]:
    width = max((len(finding.check) for finding in report.findings), default=0)
    for finding in report.findings:
        if finding.severity is Severity.OK and not verbose:
            continue
        yield f"{finding.severity:<8} {finding.check:<{width}}  {printable(finding.message)}"
        if finding.hint:
            yield f"{'':<8} {'':<{width}}  -> {printable(finding.hint)}"
    passed, warnings, errors = (
        report.count(severity) for severity in (Severity.OK, Severity.WARNING, Severity.ERROR)
    )
    yield f"{report.url}: {passed} checks passed, {warnings} warnings, {errors} errors"


def as_json(report: Report) -> str:
    """Formats one object: url, errors, warnings and all findings."""
    plain = {
        "url": report.url,
        "errors": report.count(Severity.ERROR),
        "warnings": report.count(Severity.WARNING),
        "findings": [msgspec.to_builtins(finding) for finding in report.findings],
    }
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode() + "\n"
