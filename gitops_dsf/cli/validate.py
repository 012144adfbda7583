"""gitops-dsf validate: reports every mistake of a repository, and mends what hints state exactly."""

import argparse
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from dsf_wire.text import printable, printable_lines
from gitops_dsf.cli.inputs import STANDARD_INPUT, read_named
from gitops_dsf.cli.report import report, under
from gitops_dsf.diagnostics import Diagnostic, Severity, codes, has_errors, has_mistakes
from gitops_dsf.errors import UsageError
from gitops_dsf.pipeline import check
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.files import read_text, write_file
from gitops_dsf.repository.load import SETTINGS_FILE, load_text
from gitops_dsf.repository.model.apps import ScoredPlacementSpec
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.yamledit import YamlFile
from gitops_dsf.show.findings import summary
from gitops_dsf.show.terminal import wants_colour
from gitops_dsf.wording import plural

_MOST_PASSES: Final = 10
"""One mistake can hide another, such as a field inside of one with an older name."""


def run(args: argparse.Namespace) -> int:
    """Returns 1 when there are errors, or with --strict warnings. Notices never fail."""
    if args.fix and STANDARD_INPUT in args.paths:
        raise UsageError("--fix writes files; name them, and not standard input")
    diagnostics, facts = _checked(args.paths, args.error)
    passes = _MOST_PASSES if args.fix else 0
    while passes and mend(diagnostics):
        passes -= 1
        diagnostics, facts = _checked(args.paths, args.error)
    sys.stdout.write(
        report(diagnostics, args.output, colour=args.output == "text" and wants_colour(sys.stdout))
    )
    sys.stderr.write(printable_lines(line for line in (summary(diagnostics), facts) if line))
    return int(has_errors(diagnostics) or (args.strict and has_mistakes(diagnostics)))


def _checked(paths: list[str], errors: Collection[str]) -> tuple[list[Diagnostic], str]:
    """The findings, of which those with some codes are errors, and a line about the size of the fleet if it
    has no other errors.
    """
    diagnostics, facts = _found(paths)
    return [
        replace(item, severity=Severity.ERROR) if item.code in errors else item
        for item in diagnostics
    ], facts


def _found(paths: list[str]) -> tuple[list[Diagnostic], str]:
    directory = Path(paths[0]) if paths else Path()
    if len(paths) <= 1 and directory.is_dir():
        checked = check(directory)
        facts = "" if checked.fleet is None else _facts(checked.fleet)
        return under(directory, checked.diagnostics), facts
    if len(paths) == 1 and paths[0] != STANDARD_INPUT and not directory.exists():
        raise UsageError(
            f"{directory} is not a folder; write the folder that holds gitops-dsf.yaml, or files of"
            " it"
        )
    return check_files(paths), ""


def _facts(fleet: CheckedFleet) -> str:
    scorers = (*fleet.scorers, *fleet.open_scorers)
    shared = [item for item in fleet.placements if isinstance(item.ranking, ScoredPlacementSpec)]
    sizes = (
        ("cluster", fleet.clusters),
        ("scorer", scorers),
        ("application", fleet.applications),
    )
    holds = ", ".join(plural(len(items), noun) for noun, items in sizes)
    holds += f", {plural(len(shared), 'ScoredPlacement')}" if shared else ""
    return f"{holds}; about {fleet.hub_writes_per_second:.3g} score writes per second on the hub"


def check_files(names: Sequence[str]) -> list[Diagnostic]:
    """Findings about files, with the names as they were written.

    The whole repository of a file is checked, because its rules need the other files, and only
    findings about the named files are returned. Documents on standard input, and files that belong
    to no repository, are checked on their own: YAML, kinds and fields. Raises UsageError and
    RepositoryError.
    """
    found: list[Diagnostic] = []
    repositories: dict[Path, dict[str, str]] = {}
    roots = {name: None if name == STANDARD_INPUT else _root_of(Path(name)) for name in names}
    for name, root in roots.items():
        if root is None:
            text = read_named(name).decode("utf-8-sig")
            findings = declare(load_text(text, file=name)).diagnostics
            found += (item for item in findings if item.code != codes.WRONG_FOLDER.id)
        else:
            path = Path(name).resolve().relative_to(root).as_posix()
            repositories.setdefault(root, {})[path] = name
    for root, wanted in repositories.items():
        found += [
            replace(item, position=replace(item.position, file=wanted[item.position.file]))
            for item in check(root).diagnostics
            if item.position.file in wanted
        ]
    return found


def _root_of(file: Path) -> Path | None:
    """The fleet repository of a file; None if it belongs to none.

    Raises UsageError if it is not a file.
    """
    if not file.is_file():
        raise UsageError(f"{file} is not a file; write files of one repository, or one folder")
    return next(
        (folder for folder in file.resolve().parents if (folder / SETTINGS_FILE).is_file()), None
    )


def mend(diagnostics: Iterable[Diagnostic]) -> bool:
    """Writes the edits of findings into their files, and says so.

    Returns False if nothing changed.
    """
    by_file: dict[str, list[Diagnostic]] = defaultdict(list)
    for item in diagnostics:
        if item.edits:
            by_file[item.position.file].append(item)
    changed = False
    for name, items in by_file.items():
        text = read_text(Path(), name)
        new, done = mended(text, items)
        if new == text:
            continue
        write_file(Path(name), new)
        changed = True
        for item in sorted(done, key=lambda item: item.position):
            sys.stderr.write(
                printable(f"{item.position}: fixed: {item.message}; {item.hint}") + "\n"
            )
    return changed


def mended(text: str, findings: Iterable[Diagnostic]) -> tuple[str, list[Diagnostic]]:
    """The text of a file with the edits of its findings, and the findings whose edits could be made."""
    file = YamlFile(text)

    def order(finding: Diagnostic) -> tuple[bool, int, int, str]:
        """What is inside of a renamed field is edited by its present path, so it comes before the rename.

        A field that is added is named by the path that it has after all renames, so it comes last.
        """
        first = finding.edits[0]
        is_added = not file.has(finding.position.line, first.path)
        return is_added, -len(first.path), len(first.to), finding.message

    ordered = sorted((finding for finding in findings if finding.edits), key=order)
    done = [item for item in ordered if file.edit(item.position.line, item.edits)]
    return file.text, done
