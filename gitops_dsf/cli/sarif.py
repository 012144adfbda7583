"""Formats diagnostics as SARIF 2.1.0 (OASIS standard), for code scanning."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from dsf_wire.text import printable_json
from gitops_dsf import __version__
from gitops_dsf.cli.reference import PAGE, Entry, entries
from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.diagnostics.codes import CODES
from gitops_dsf.published import REPOSITORY


def sarif(diagnostics: Sequence[Diagnostic]) -> str:
    """Returns a log with one run: all findings, and the rules they belong to."""
    used = sorted({item.code for item in diagnostics})
    index = {code: number for number, code in enumerate(used)}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "gitops-dsf",
                        "semanticVersion": __version__,
                        "rules": [_rule(code) for code in used],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(item, index[item.code]) for item in diagnostics],
            }
        ],
    }
    return printable_json(json.dumps(log, indent=2, ensure_ascii=False)) + "\n"


def _level(severity: Severity) -> str:
    """The level by its name in the standard."""
    return "note" if severity is Severity.NOTICE else str(severity)


def _rule(code: str) -> dict[str, Any]:
    known, entry = CODES[code], entries()[code]
    where = f"{PAGE}#{code.lower()}-{entry.anchor}"
    return {
        "id": code,
        "shortDescription": {"text": known.title},
        "help": {"text": _help(entry)},
        **({"helpUri": f"{REPOSITORY}/blob/v{__version__}/{where}"} if REPOSITORY else {}),
        "defaultConfiguration": {"level": _level(known.severity)},
    }


def _help(entry: Entry) -> str:
    parts = (entry.text, *(f"{head}:\n\n{example}" for head, example in entry.examples))
    return "\n\n".join(part for part in parts if part) or entry.title


def _result(item: Diagnostic, index: int) -> dict[str, Any]:
    text = f"{item.message}. {item.hint}" if item.hint else item.message
    region = {"startLine": item.position.line, "startColumn": item.position.column}
    artifact = {"uri": quote(item.position.file, errors="replace")}
    return {
        "ruleId": item.code,
        "ruleIndex": index,
        "level": _level(item.severity),
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}],
    }
