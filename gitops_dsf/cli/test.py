"""The verb `gitops-dsf test`: runs the unit tests of scores and decisions in tests/."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from gitops_dsf.cli.inputs import check_is_folder
from gitops_dsf.cli.report import from_git_root, prefix_of, show_findings
from gitops_dsf.diagnostics import has_errors
from gitops_dsf.errors import UsageError
from gitops_dsf.metricstore import promtool
from gitops_dsf.pipeline import CheckResult, check_declared
from gitops_dsf.repository.load import Loaded
from gitops_dsf.repository.model.declared import Declared
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.sources import load
from gitops_dsf.scoretests.queries import Evaluate, no_promtool
from gitops_dsf.scoretests.suite import TestOutput, run_tests, selected
from gitops_dsf.show.jsontext import json_text
from gitops_dsf.show.scoretests import junit, tests_text


def run(args: argparse.Namespace) -> int:
    """Returns 0 when all tests pass; 1 when one fails, or the repository has errors."""
    check_is_folder(args.directory)
    loaded = load(args.directory)
    declared = declare(loaded)
    return report_tests(
        args.directory,
        loaded,
        declared,
        check_declared(declared),
        names=args.name,
        promtool_path=args.promtool,
        style=args.output,
    )


def report_tests(
    directory: Path,
    loaded: Loaded,
    declared: Declared,
    checked: CheckResult,
    *,
    names: Sequence[str] = (),
    promtool_path: Path | None = None,
    style: str = "text",
) -> int:
    """Reports the tests of a folder that was checked already. Returns its exit code."""
    if has_errors(checked.diagnostics):
        show_findings(directory, checked.diagnostics, ending="no test was run")
        return 1
    tests = selected(declared, names)
    # A misspelt name would run nothing and pass. A repository without tests is fine.
    if names and not tests:
        known = sorted(test.name for test in declared.score_tests)
        raise UsageError(
            f"no test is called {' or '.join(names)}; tests here: {', '.join(known[:10]) or 'none'}"
        )
    output = run_tests(
        tests,
        declared=declared,
        checked=checked,
        documents=loaded.documents,
        evaluate=_evaluate(promtool_path),
        prefix=prefix_of(directory),
    )
    sys.stdout.write(_formatted(output, style))
    return int(output.failed > 0)


def _evaluate(promtool_path: Path | None) -> Evaluate:
    """Evaluation by --promtool, or by the promtool on the PATH. Raises UsageError."""
    program = shutil.which(promtool_path or "promtool")
    if program is not None:
        return partial(promtool.evaluate, program=Path(program))
    if promtool_path is not None:
        raise UsageError(f"{promtool_path} is not a program; write the path of promtool")
    # Most tests give results of scorers, and need no promtool.
    return no_promtool


def _formatted(output: TestOutput, style: str) -> str:
    if style == "json":
        return json_text(output)
    if style == "junit":
        return junit(output, file_of=from_git_root)
    return tests_text(output)
