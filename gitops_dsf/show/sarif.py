"""Findings about a repository as SARIF 2.1.0, for code scanning."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from gitops_dsf import __version__
from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.diagnostics.codes import CODES
from gitops_dsf.published import REPOSITORY
from gitops_dsf.show.findings import printable_finding
from gitops_dsf.show.jsontext import json_text

_PAGE: Final = "docs/reference/diagnostics.md"
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(diagnostics: Sequence[Diagnostic]) -> str:
    """Formats a log with one run: all findings, and the rules they belong to."""
    codes = sorted({diagnostic.code for diagnostic in diagnostics})
    index = {code: number for number, code in enumerate(codes)}
    driver = {
        "name": "gitops-dsf",
        "semanticVersion": __version__,
        "rules": list(map(_rule, codes)),
    }
    # Columns of findings count characters. The other kind that SARIF knows is UTF-16 code units.
    results: list[dict[str, Any]] = []
    for diagnostic in diagnostics:
        results.append(_result(printable_finding(diagnostic), index[diagnostic.code]))
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(code_id: str) -> dict[str, Any]:
    code = CODES[code_id]
    examples = (f"{heading}:\n\n{example}" for heading, example in code.examples)
    rule: dict[str, Any] = {
        "id": code.id,
        "shortDescription": {"text": code.title},
        "help": {"text": "\n\n".join((code.plain_explanation, *examples))},
    }
    # Nothing links to a place that does not exist: before the first release there is none.
    if REPOSITORY:
        rule["helpUri"] = f"{REPOSITORY}/blob/v{__version__}/{_PAGE}#{code.anchor}"
    rule["defaultConfiguration"] = {"level": _level(code.severity)}
    return rule


def _result(diagnostic: Diagnostic, rule_index: int) -> dict[str, Any]:
    position = diagnostic.position
    text = diagnostic.message
    if diagnostic.hint:
        text = f"{diagnostic.message}. {diagnostic.hint}"
    region = {"startLine": position.line, "startColumn": position.column}
    # It is a URI, so blanks are escaped. A name that is not UTF-8 must not end the report.
    artifact = {"uri": quote(position.file, errors="replace")}
    return {
        "ruleId": diagnostic.code,
        "ruleIndex": rule_index,
        "level": _level(diagnostic.severity),
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}],
    }


def _level(severity: Severity) -> str:
    """SARIF has no level `notice`."""
    return "note" if severity is Severity.NOTICE else str(severity)
