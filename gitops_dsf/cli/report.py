"""Formats diagnostics as text, JSON, GitHub annotations or SARIF."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct

from dsf_wire.text import printable, printable_lines
from gitops_dsf import __version__
from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.diagnostics.codes import CODES
from gitops_dsf.published import REPOSITORY
from gitops_dsf.show.jsontext import json_text
from gitops_dsf.wording import plural

_COLOURS = {Severity.ERROR: "\033[31m", Severity.WARNING: "\033[33m", Severity.NOTICE: "\033[36m"}
_BOLD, _DIM, _END = "\033[1m", "\033[2m", "\033[0m"


_PAGE: Final = "docs/reference/diagnostics.md"


def under(directory: Path, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics with paths relative to the working directory where possible, for editors."""
    prefix = prefix_of(directory)
    if prefix == Path():
        return list(diagnostics)
    return [
        replace(
            item, position=replace(item.position, file=(prefix / item.position.file).as_posix())
        )
        for item in diagnostics
    ]


def show_findings(directory: Path, diagnostics: Iterable[Diagnostic], *, ending: str = "") -> None:
    """Writes the findings to standard error, and with `ending` a summary and what it means for the verb."""
    findings = under(directory, diagnostics)
    sys.stderr.write(report(findings, "text"))
    if ending:
        sys.stderr.write(printable_lines([f"{summary(findings)}; {ending}"]))


def prefix_of(directory: Path) -> Path:
    """The folder of a repository, relative to the working directory where possible."""
    try:
        prefix = Path(os.path.relpath(directory))
    except ValueError:  # another drive
        prefix = directory
    return directory.absolute() if prefix.parts[:1] == ("..",) else prefix


def from_git_root(file: str) -> str:
    """The name of a file, below the working directory, as forges know it: from the root of its git
    repository. Outside of git, and for standard input, the name stays.
    """
    path = Path(os.path.normpath(Path.cwd() / file))
    top = _git_root(path.parent)
    return file if file == "-" or top is None else path.relative_to(top).as_posix()


def _git_root(folder: Path) -> Path | None:
    """Without resolving symbolic links: a forge knows a file by the name that git has."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def report(diagnostics: Sequence[Diagnostic], style: str, *, colour: bool = False) -> str:
    """Formats diagnostics, whose files are named from the working directory, as text or in one of FORMATS.
    Use colour only for terminals.
    """
    if style in _OF_FORGES:
        names = {file: from_git_root(file) for file in {item.position.file for item in diagnostics}}
        diagnostics = [
            replace(item, position=replace(item.position, file=names[item.position.file]))
            for item in diagnostics
        ]
    safe = [_printable(item) for item in diagnostics]
    if style == "text":
        return "".join(_text(item, colour=colour) for item in safe)
    return FORMATS[style](safe)


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    counts = Counter(item.severity for item in diagnostics)
    files = len({item.position.file for item in diagnostics})
    if not diagnostics:
        return "no mistakes found"
    notices = f", {plural(counts[Severity.NOTICE], 'notice')}" if counts[Severity.NOTICE] else ""
    exact = sum(1 for item in diagnostics if item.edits)
    mends = f"; gitops-dsf validate --fix mends {exact}" if exact else ""
    serious = (
        f"{plural(counts[Severity.ERROR], 'error')}, {plural(counts[Severity.WARNING], 'warning')}"
    )
    return f"{serious}{notices} in {plural(files, 'file')}{mends}"


def _text(item: Diagnostic, *, colour: bool) -> str:
    hint = f"    {item.hint}\n" if item.hint else ""
    if not colour:
        return f"{item.position}: {item.severity} {item.code}: {item.message}\n{hint}"
    severity = f"{_COLOURS[item.severity]}{item.severity} {item.code}{_END}"
    return f"{_BOLD}{item.position}{_END}: {severity}: {item.message}\n" + (
        f"{_DIM}{hint}{_END}" if hint else ""
    )


def _printable(item: Diagnostic) -> Diagnostic:
    """Messages hold values and file names of a repository, which may be another person's."""
    message, hint, file = texts = tuple(
        map(printable, (item.message, item.hint, item.position.file))
    )
    if texts == (item.message, item.hint, item.position.file):
        return item
    return replace(item, message=message, hint=hint, position=replace(item.position, file=file))


class Finding(Struct, frozen=True, kw_only=True):
    """A finding of `validate`. Line and column count from 1."""

    code: str
    severity: Severity
    message: str
    hint: str
    file: str
    line: int
    column: int


def _json(diagnostics: Sequence[Diagnostic]) -> str:
    found = (
        Finding(
            code=it.code,
            severity=it.severity,
            message=it.message,
            hint=it.hint,
            **asdict(it.position),
        )
        for it in diagnostics
    )
    return json_text(list(found))


def _github(diagnostics: Sequence[Diagnostic]) -> str:
    """Formats workflow commands, with what GitHub's toolkit escapes."""
    lines = []
    for item in diagnostics:
        place = item.position
        file = _data(place.file).replace(":", "%3A").replace(",", "%2C")
        properties = f"file={file},line={place.line},col={place.column},title={item.code}"
        text = f"{item.message} ({item.hint})" if item.hint else item.message
        lines.append(f"::{item.severity} {properties}::{_data(text)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def sarif(diagnostics: Sequence[Diagnostic]) -> str:
    """Returns a log with one run: all findings, and the rules they belong to."""
    used = sorted({item.code for item in diagnostics})
    index = {code: number for number, code in enumerate(used)}
    rules = [_rule(code) for code in used]
    driver = {"name": "gitops-dsf", "semanticVersion": __version__, "rules": rules}
    results = [_result(item, index[item.code]) for item in diagnostics]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json_text({"$schema": schema, "version": "2.1.0", "runs": [run]})


def _level(severity: Severity) -> str:
    return "note" if severity is Severity.NOTICE else str(severity)


def _rule(code_id: str) -> dict[str, Any]:
    code = CODES[code_id]
    examples = (f"{heading}:\n\n{example}" for heading, example in code.examples)
    rule: dict[str, Any] = {
        "id": code.id,
        "shortDescription": {"text": code.title},
        "help": {"text": "\n\n".join((code.plain_explanation, *examples))},
    }
    if REPOSITORY:
        rule["helpUri"] = f"{REPOSITORY}/blob/v{__version__}/{_PAGE}#{code.anchor}"
    rule["defaultConfiguration"] = {"level": _level(code.severity)}
    return rule


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


FORMATS: Final[dict[str, Callable[[Sequence[Diagnostic]], str]]] = {
    "github": _github,
    "json": _json,
    "sarif": sarif,
}
_OF_FORGES: Final = frozenset({"github", "sarif"})
"""Formats in which a forge looks for files from the root of the git repository."""
