"""Findings about a repository: as text, as JSON, and as annotations of a GitHub workflow.

Messages and names of files may be another person's, so every function makes them printable first.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from dsf_wire.text import printable
from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.diagnostics.output import FindingOutput
from gitops_dsf.show.jsontext import json_text
from gitops_dsf.wording import plural

_COLOURS: Final = {
    Severity.ERROR: "\033[31m",
    Severity.WARNING: "\033[33m",
    Severity.NOTICE: "\033[36m",
}
_BOLD: Final = "\033[1m"
_DIM: Final = "\033[2m"
_END: Final = "\033[0m"


def findings_text(diagnostics: Iterable[Diagnostic], *, colour: bool = False) -> str:
    """Formats `scorers/cpu.yaml:4:9: error DSF109: ...` with the hint below.

    Colour is for terminals.
    """
    text = ""
    for diagnostic in map(printable_finding, diagnostics):
        severity = diagnostic.severity
        position = _styled(str(diagnostic.position), _BOLD, colour=colour)
        code = _styled(f"{severity} {diagnostic.code}", _COLOURS[severity], colour=colour)
        # On one line, as compilers print it, so that editors can jump to the position.
        text += f"{position}: {code}: {diagnostic.message}\n"
        if diagnostic.hint:
            text += _styled(f"    {diagnostic.hint}", _DIM, colour=colour) + "\n"
    return text


def _styled(text: str, style: str, *, colour: bool) -> str:
    return f"{style}{text}{_END}" if colour else text


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """Formats `2 errors, 1 warning in 2 files; gitops-dsf validate --fix mends 1`."""
    if not diagnostics:
        return "no mistakes found"
    counts: Counter[Severity] = Counter()
    files: set[str] = set()
    mendable = 0
    for diagnostic in diagnostics:
        counts[diagnostic.severity] += 1
        files.add(diagnostic.position.file)
        mendable += bool(diagnostic.edits)
    errors = plural(counts[Severity.ERROR], "error")
    warnings = plural(counts[Severity.WARNING], "warning")
    # Errors and warnings decide about the exit code, so they are named also where there is none.
    findings = [errors, warnings]
    if counts[Severity.NOTICE]:
        findings.append(plural(counts[Severity.NOTICE], "notice"))
    clauses = [f"{', '.join(findings)} in {plural(len(files), 'file')}"]
    if mendable:
        clauses.append(f"gitops-dsf validate --fix mends {mendable}")
    return "; ".join(clauses)


def findings_json(diagnostics: Iterable[Diagnostic]) -> str:
    """Formats a JSON array with one FindingOutput for each finding."""
    printable_findings = map(printable_finding, diagnostics)
    return json_text(list(map(FindingOutput.of, printable_findings)))


def github_annotations(diagnostics: Iterable[Diagnostic]) -> str:
    """Formats workflow commands, and escapes what GitHub's toolkit escapes."""
    text = ""
    for diagnostic in map(printable_finding, diagnostics):
        position = diagnostic.position
        # A colon or a comma would end the property (actions/toolkit, packages/core/src/command.ts).
        file = _command_data(position.file).replace(":", "%3A").replace(",", "%2C")
        text += (
            f"::{diagnostic.severity} file={file},line={position.line},col={position.column},"
            f"title={diagnostic.code}::{_command_data(_with_hint(diagnostic))}\n"
        )
    return text


def _with_hint(diagnostic: Diagnostic) -> str:
    # An annotation has no second line for the hint.
    return f"{diagnostic.message} ({diagnostic.hint})" if diagnostic.hint else diagnostic.message


def printable_finding(diagnostic: Diagnostic) -> Diagnostic:
    """Returns the finding with its texts on one line each, and without control characters."""
    message = printable(diagnostic.message)
    hint = printable(diagnostic.hint)
    # The name of a file in a pull request may be chosen to look like a line of the log.
    file = printable(diagnostic.position.file)
    unchanged = (diagnostic.message, diagnostic.hint, diagnostic.position.file)
    if (message, hint, file) == unchanged:
        return diagnostic
    position = replace(diagnostic.position, file=file)
    return replace(diagnostic, message=message, hint=hint, position=position)


def _command_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
