"""gitops-dsf validate: reports every mistake of a repository in one run."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gitops_dsf.cli.arguments import add_output

if TYPE_CHECKING:
    from gitops_dsf.diagnostics import Diagnostic
    from gitops_dsf.resolve import Resolved

_MOST_PASSES: Final = 10
"""One mistake can hide another, such as a field inside of one with an older name."""

DESCRIPTION = """\
Reads gitops-dsf.yaml, scorers/, config/, clusters/, apps/, locks/ and tests/ of a fleet repository and
reports every mistake with its place, a stable code and what to write instead. Nothing is written without
--fix."""

EXAMPLES = """\
examples:
  gitops-dsf validate                          the repository in this folder
  gitops-dsf validate fleet --strict           warnings fail, too
  gitops-dsf validate scorers/cpu.yaml         only findings about this file of the repository
  gitops-dsf validate - < scorer.yaml          documents on their own: YAML, kinds and fields
  gitops-dsf validate --fix scorers/*.yaml     first does what hints state exactly: older spellings, quotes
  gitops-dsf validate -o github                annotations in a GitHub workflow
  gitops-dsf validate -o sarif > dsf.sarif     for code scanning
  gitops-dsf validate -o json | jq '.[] | select(.code == "DSF109")'

Findings go to standard output, the summary to standard error. `gitops-dsf explain` explains a code."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        metavar="DIR|FILE",
        nargs="*",
        help="fleet repository (this folder by default), or files of one; - is standard input",
    )
    add_output(parser, "text", "json", "github", "sarif")
    parser.add_argument(
        "--fix",
        action="store_true",
        help="write what hints state exactly into the files, and report what is left",
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings, too")


def run(args: argparse.Namespace) -> int:
    """Returns 1 when there are errors, or with --strict warnings. Notices never fail."""
    from gitops_dsf.cli.chosenfiles import STANDARD_INPUT, mend
    from gitops_dsf.cli.report import report, summary
    from gitops_dsf.cli.terminal import wants_colour
    from gitops_dsf.diagnostics import has_errors, has_mistakes
    from gitops_dsf.errors import UsageError

    if args.fix and STANDARD_INPUT in args.paths:
        raise UsageError("--fix writes files; name them, and not standard input")
    diagnostics, facts = _checked(args.paths)
    passes = _MOST_PASSES if args.fix else 0
    while passes and mend(diagnostics):
        passes -= 1
        diagnostics, facts = _checked(args.paths)
    sys.stdout.write(
        report(diagnostics, args.output, colour=args.output == "text" and wants_colour(sys.stdout))
    )
    sys.stderr.write("".join(f"{line}\n" for line in (summary(diagnostics), facts) if line))
    return int(has_errors(diagnostics) or (args.strict and has_mistakes(diagnostics)))


def _checked(paths: list[str]) -> "tuple[list[Diagnostic], str]":
    """The findings, and a line about the size of the fleet if it has no errors."""
    from gitops_dsf.cli.chosenfiles import STANDARD_INPUT, check_files
    from gitops_dsf.cli.report import under
    from gitops_dsf.errors import UsageError
    from gitops_dsf.pipeline import check

    directory = Path(paths[0]) if paths else Path()
    if len(paths) <= 1 and directory.is_dir():
        checked = check(directory)
        facts = "" if checked.resolved is None else _facts(checked.resolved)
        return under(directory, checked.diagnostics), facts
    if len(paths) == 1 and paths[0] != STANDARD_INPUT and not directory.exists():
        raise UsageError(
            f"{directory} is not a folder; write the folder that holds gitops-dsf.yaml, or files of it"
        )
    return check_files(paths), ""


def _facts(resolved: "Resolved") -> str:
    from gitops_dsf.repository.model.apps import ScoredPlacementSpec
    from gitops_dsf.wording import plural

    scorers = (*resolved.scorers, *resolved.open_scorers)
    shared = [item for item in resolved.placements if isinstance(item.ranking, ScoredPlacementSpec)]
    sizes = (("cluster", resolved.clusters), ("scorer", scorers), ("application", resolved.applications))
    holds = ", ".join(plural(len(items), noun) for noun, items in sizes)
    holds += f", {plural(len(shared), 'ScoredPlacement')}" if shared else ""
    return f"{holds}; about {resolved.hub_writes_per_second:.3g} score writes per second on the hub"
