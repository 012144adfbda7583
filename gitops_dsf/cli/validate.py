"""The verb `gitops-dsf validate`: reports every mistake, and mends those with an exact hint."""

import argparse
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from dsf_wire.text import printable_lines
from gitops_dsf.cli.inputs import STANDARD_INPUT, read_named
from gitops_dsf.cli.report import report, under
from gitops_dsf.diagnostics import Diagnostic, Severity, codes, has_errors, has_mistakes
from gitops_dsf.errors import UsageError
from gitops_dsf.pipeline import CheckResult, check
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.files import read_text, write_file
from gitops_dsf.repository.load import SETTINGS_FILE, load_text
from gitops_dsf.repository.model.scored_placement import ScoredPlacementSpec
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.show.findings import summary
from gitops_dsf.show.terminal import wants_colour
from gitops_dsf.wording import plural

_MAX_PASSES: Final = 10
"""The number of times that --fix mends and reads again.

One mistake can hide another, such as a field inside of one with an older name.
"""

_MIN_INTERVAL: Final = 1.5
"""Seconds between two score writes. If they are closer, the writes of a second are counted."""
_MAX_SECONDS: Final = 90
"""A longer time between two score writes is shown in minutes."""


def run(args: argparse.Namespace) -> int:
    """Returns 1 when there are errors, or with --strict warnings. Notices never fail."""
    if args.fix and STANDARD_INPUT in args.paths:
        raise UsageError("--fix writes files; name them, and not standard input")
    diagnostics, facts = _checked(args.paths, args.error)
    # Each pass reads the files again: positions of the findings before it are wrong after an edit.
    for _ in range(_MAX_PASSES if args.fix else 0):
        if not mend(diagnostics):
            break
        diagnostics, facts = _checked(args.paths, args.error)
    return _reported(diagnostics, facts, style=args.output, strict=args.strict)


def report_folder(
    directory: Path, checked: CheckResult, *, style: str, strict: bool, errors: Collection[str]
) -> int:
    """Reports the findings of a folder that was checked already. Returns its exit code.

    Findings with the codes of `errors` become errors.
    """
    diagnostics, facts = _of_folder(directory, checked)
    return _reported(_severe(diagnostics, errors), facts, style=style, strict=strict)


def _reported(diagnostics: Sequence[Diagnostic], facts: str, *, style: str, strict: bool) -> int:
    colour = style == "text" and wants_colour(sys.stdout)
    sys.stdout.write(report(diagnostics, style, colour=colour))
    sys.stderr.write(printable_lines(line for line in (summary(diagnostics), facts) if line))
    return int(has_errors(diagnostics) or (strict and has_mistakes(diagnostics)))


def _checked(paths: list[str], errors: Collection[str]) -> tuple[list[Diagnostic], str]:
    """The findings, and a line about the size of the fleet.

    Findings with these codes become errors. The line is empty if there are other errors, or single
    files were checked.
    """
    diagnostics, facts = _findings_and_facts(paths)
    # The line of sizes stays: the fleet is valid, and one pipeline refuses it.
    return _severe(diagnostics, errors), facts


def _severe(diagnostics: Iterable[Diagnostic], errors: Collection[str]) -> list[Diagnostic]:
    """The findings, of which those with these codes are errors."""
    severe = []
    for finding in diagnostics:
        is_error = finding.code in errors
        severe.append(replace(finding, severity=Severity.ERROR) if is_error else finding)
    return severe


def _findings_and_facts(paths: list[str]) -> tuple[list[Diagnostic], str]:
    """The findings about a folder or files, and a line about the size of the fleet."""
    directory = Path(paths[0]) if paths else Path()
    if len(paths) <= 1 and directory.is_dir():
        return _of_folder(directory, check(directory))
    if len(paths) == 1 and paths[0] != STANDARD_INPUT and not directory.exists():
        raise UsageError(
            f"{directory} is not a folder; write the folder that holds gitops-dsf.yaml, or files of"
            " it"
        )
    return check_files(paths), ""


def _of_folder(directory: Path, checked: CheckResult) -> tuple[list[Diagnostic], str]:
    facts = "" if checked.fleet is None else _facts(checked.fleet)
    return under(directory, checked.diagnostics), facts


def _facts(fleet: CheckedFleet) -> str:
    """The size of the fleet, and what its scores cost the hub."""
    shared = 0
    for placement in fleet.placements:
        # Other Placements are those of applications, which are counted as such.
        shared += isinstance(placement.ranking, ScoredPlacementSpec)
    sizes = [
        plural(len(fleet.clusters), "cluster"),
        plural(len(fleet.scorers) + len(fleet.open_scorers), "scorer"),
        plural(len(fleet.applications), "application"),
    ]
    if shared:
        sizes.append(plural(shared, "ScoredPlacement"))
    # The hub stores each write in etcd, which is what limits a fleet with short intervals.
    writes = writes_text(fleet.hub_writes_per_second)
    return f"{', '.join(sizes)}; {writes} on the hub"


def writes_text(per_second: float) -> str:
    """Formats `about one score write every 2 minutes`, or `about 3.2 score writes a second`."""
    if per_second == 0:
        return "no score writes"
    seconds = 1 / per_second
    if seconds < _MIN_INTERVAL:
        return f"about {per_second:.3g} score writes a second"
    if seconds < _MAX_SECONDS:
        return f"about one score write every {round(seconds)} seconds"
    return f"about one score write every {round(seconds / 60)} minutes"


def check_files(names: Sequence[str]) -> list[Diagnostic]:
    """Findings about files, with the names as they were written.

    The whole repository of a file is checked, because its rules need the other files, and only
    findings about the named files are returned. Documents on standard input, and files that belong
    to no repository, are checked on their own: YAML, kinds and fields. Raises UsageError and
    RepositoryError.
    """
    diagnostics: list[Diagnostic] = []
    names_by_root: dict[Path, dict[str, str]] = defaultdict(dict)
    roots = {name: None if name == STANDARD_INPUT else _root_of(Path(name)) for name in names}
    for name, root in roots.items():
        if root is None:
            # PowerShell puts a mark in front of UTF-8.
            text = read_named(name).decode("utf-8-sig")
            for finding in declare(load_text(text, file=name)).diagnostics:
                # The file is in no repository, so no folder is wrong.
                if finding.code != codes.WRONG_FOLDER.id:
                    diagnostics.append(finding)
        else:
            path = Path(name).resolve().relative_to(root).as_posix()
            names_by_root[root][path] = name
    for root, name_by_path in names_by_root.items():
        # Once for all of its files: pre-commit names many, and a check reads the whole repository.
        for finding in check(root).diagnostics:
            position = finding.position
            if position.file in name_by_path:
                position = replace(position, file=name_by_path[position.file])
                diagnostics.append(replace(finding, position=position))
    return diagnostics


def _root_of(file: Path) -> Path | None:
    """The fleet repository of a file; None if it belongs to none.

    Raises UsageError if it is not a file.
    """
    if not file.is_file():
        raise UsageError(f"{file} is not a file; write files of one repository, or one folder")
    for folder in file.resolve().parents:
        if (folder / SETTINGS_FILE).is_file():
            return folder
    return None


def mend(diagnostics: Iterable[Diagnostic]) -> bool:
    """Writes the edits of findings into their files, and says so.

    Returns False if nothing changed.
    """
    by_file: dict[str, list[Diagnostic]] = defaultdict(list)
    for finding in diagnostics:
        if finding.edits:
            by_file[finding.position.file].append(finding)
    changed = False
    for name, findings in by_file.items():
        text = read_text(Path(), name)
        edited = mended(text, findings)
        if edited.text == text:
            continue
        write_file(Path(name), edited.text)
        changed = True
        for finding in sorted(edited.done, key=lambda finding: finding.position):
            line = f"{finding.position}: fixed: {finding.message}; {finding.hint}"
            sys.stderr.write(printable_lines([line]))
    return changed


class MendedText(NamedTuple):
    """The text of a file with the edits of its findings."""

    text: str
    done: list[Diagnostic]
    """The findings whose edits are in it; others could not be edited."""


def mended(text: str, findings: Iterable[Diagnostic]) -> MendedText:
    """Makes the edits of a file's findings in its text."""
    # Few runs edit a file, and what edits one takes as long to import as a small fleet to check.
    from gitops_dsf.repository.yamledit import YamlFile

    file = YamlFile(text)

    def order(finding: Diagnostic) -> tuple[bool, int, int, str]:
        # A field inside of a renamed one is edited by its present path, so it comes before the
        # rename. A field that is added is named by the path that it has after all renames, so it
        # comes last.
        first = finding.edits[0]
        is_added = not file.has(finding.position.line, first.path)
        return is_added, -len(first.path), len(first.to), finding.message

    ordered = sorted((finding for finding in findings if finding.edits), key=order)
    done = [finding for finding in ordered if file.edit(finding.position.line, finding.edits)]
    return MendedText(file.text, done)
