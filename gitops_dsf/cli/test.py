"""gitops-dsf test: runs the unit tests of scores and decisions in tests/."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_dsf.cli.arguments import add_fleet_directory, add_output, check_is_folder, json_text
from gitops_dsf.errors import UsageError

if TYPE_CHECKING:
    from gitops_dsf.views.scoretests.queries import Evaluate

DESCRIPTION = """\
Runs the ScoreTests in tests/: given results of scorers, published scores, clusters and decisions, it computes
what agents publish and what OCM decides, and compares that with what each test expects. A failing
expectation is shown with its place and an explanation. No cluster and no metric source is asked."""

EXAMPLES = """\
examples:
  gitops-dsf test                                 all tests of the repository in this folder
  gitops-dsf test fleet --name 'portal-*'         tests by name; a shell pattern, can be repeated
  gitops-dsf test -o junit > tests.xml      for the test report of a pipeline

exit codes: 0 all tests pass; 1 a test fails, or the repository has errors; 2 no test has the name
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_fleet_directory(parser)
    parser.add_argument(
        "--name", metavar="PATTERN", action="append", default=[], help="only tests with such a name"
    )
    parser.add_argument(
        "--promtool",
        metavar="FILE",
        type=Path,
        help="evaluates queries over given metrics; the promtool on the PATH by default",
    )
    add_output(parser, "text", "json", "junit")


def run(args: argparse.Namespace) -> int:
    """Returns 0 when all tests pass; 1 when one fails, or the repository has errors."""
    from gitops_dsf.cli.report import prefix_of, show_findings
    from gitops_dsf.cli.test_reports import junit, text
    from gitops_dsf.diagnostics import has_errors
    from gitops_dsf.pipeline import check_declared
    from gitops_dsf.repository.load import load
    from gitops_dsf.repository.model.validate import declare
    from gitops_dsf.views.scoretests.suite import run_tests, selected

    check_is_folder(args.directory)
    loaded = load(args.directory)
    declared = declare(loaded)
    checked = check_declared(declared)
    if has_errors(checked.diagnostics):
        show_findings(args.directory, checked.diagnostics, ending="no test was run")
        return 1
    tests = selected(declared, args.name)
    if args.name and not tests:
        known = ", ".join(sorted(item.name for item in declared.score_tests)[:10]) or "none"
        raise UsageError(f"no test is called {' or '.join(args.name)}; tests here: {known}")
    output = run_tests(
        tests,
        declared=declared,
        checked=checked,
        documents=loaded.documents,
        evaluate=_evaluate(args.promtool),
        prefix=prefix_of(args.directory),
    )
    if args.output == "json":
        sys.stdout.write(json_text(output))
    else:
        sys.stdout.write(junit(output) if args.output == "junit" else text(output))
    return int(output.failed > 0)


def _evaluate(named: Path | None) -> "Evaluate":
    import shutil

    from gitops_dsf.metricstore.promtool import Promtool
    from gitops_dsf.views.scoretests.queries import no_promtool

    program = shutil.which(named or "promtool")
    if program is None and named is not None:
        raise UsageError(f"{named} is not a program; write the path of promtool")
    return no_promtool if program is None else Promtool(Path(program)).evaluate
