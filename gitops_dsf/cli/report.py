"""Prints findings, with the names of files as editors and forges know them."""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from dsf_wire.text import printable_lines
from gitops_dsf.cli.inputs import STANDARD_INPUT
from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.show.findings import findings_json, findings_text, github_annotations, summary
from gitops_dsf.show.sarif import sarif


def show_findings(directory: Path, diagnostics: Iterable[Diagnostic], *, ending: str = "") -> None:
    """Writes findings to standard error.

    With `ending`, which says what they mean for the verb, a summary follows.
    """
    findings = under(directory, diagnostics)
    sys.stderr.write(report(findings, "text"))
    if ending:
        sys.stderr.write(printable_lines([f"{summary(findings)}; {ending}"]))


def report(diagnostics: Sequence[Diagnostic], style: str, *, colour: bool = False) -> str:
    """Formats findings in a style of `validate -o`.

    Their files are named from the working directory. A forge looks for files from the root of the
    git repository, so the formats of forges name them from there.
    """
    match style:
        case "github":
            return github_annotations(_from_git_root(diagnostics))
        case "sarif":
            return sarif(_from_git_root(diagnostics))
        case "json":
            return findings_json(diagnostics)
        case _:
            return findings_text(diagnostics, colour=colour)


def under(directory: Path, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Returns findings with paths relative to the working directory where possible, for editors."""
    prefix = prefix_of(directory)
    # In the folder of the fleet the paths are right as they are, and a fleet can have thousands.
    if prefix == Path():
        return list(diagnostics)
    findings = []
    for diagnostic in diagnostics:
        file = (prefix / diagnostic.position.file).as_posix()
        findings.append(_with_file(diagnostic, file))
    return findings


def prefix_of(directory: Path) -> Path:
    """Returns the folder of a repository, relative to the working directory where possible."""
    try:
        prefix = Path(os.path.relpath(directory))
    except ValueError:  # another drive
        prefix = directory
    # Beyond the working directory, `../../..` is harder to read than the whole path.
    return directory.absolute() if prefix.parts[:1] == ("..",) else prefix


def from_git_root(file: str) -> str:
    """Returns the name of a file as forges know it: from the root of its git repository.

    Outside of git, and for standard input, the name stays.
    """
    # normpath and not resolve(), which would follow symbolic links.
    path = Path(os.path.normpath(Path.cwd() / file))
    top = _git_root(path.parent)
    if file == STANDARD_INPUT or top is None:
        return file
    return path.relative_to(top).as_posix()


def _from_git_root(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Each file is looked up once, because a file can have many findings."""
    files = {diagnostic.position.file for diagnostic in diagnostics}
    names = {file: from_git_root(file) for file in files}
    return [_with_file(diagnostic, names[diagnostic.position.file]) for diagnostic in diagnostics]


def _git_root(folder: Path) -> Path | None:
    """Symbolic links are not resolved: a forge knows a file by the name that git has."""
    for parent in (folder, *folder.parents):
        # A folder in a clone, and a file in a worktree or a submodule.
        if (parent / ".git").exists():
            return parent
    return None


def _with_file(diagnostic: Diagnostic, file: str) -> Diagnostic:
    return replace(diagnostic, position=replace(diagnostic.position, file=file))
