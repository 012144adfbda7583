"""gitops-dsf test: runs the unit tests of scores and decisions in tests/."""

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as ET

from dsf_wire.text import printable, printable_lines
from gitops_dsf.cli.inputs import check_is_folder
from gitops_dsf.cli.report import from_git_root, prefix_of, show_findings
from gitops_dsf.diagnostics import has_errors
from gitops_dsf.errors import UsageError
from gitops_dsf.metricstore import promtool
from gitops_dsf.pipeline import check_declared
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.sources import load
from gitops_dsf.scoretests.judge import UnmetExpectation
from gitops_dsf.scoretests.queries import Evaluate, no_promtool
from gitops_dsf.scoretests.suite import TestOutput, TestResult, run_tests, selected
from gitops_dsf.show.explanations import explanation_text, what_would_flip
from gitops_dsf.show.jsontext import json_text
from gitops_dsf.wording import plural


def run(args: argparse.Namespace) -> int:
    """Returns 0 when all tests pass; 1 when one fails, or the repository has errors."""
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


def _evaluate(named: Path | None) -> Evaluate:
    program = shutil.which(named or "promtool")
    if program is None and named is not None:
        raise UsageError(f"{named} is not a program; write the path of promtool")
    return no_promtool if program is None else partial(promtool.evaluate, program=Path(program))


def text(output: TestOutput) -> str:
    """One line for each test, each failing expectation with its explanation, and a summary."""
    lines = []
    for result in output.tests:
        outcome = "ok" if result.passed else "FAILED"
        lines.append(printable_lines([f"{outcome:<6}  {result.name}  ({_place(result)})"]))
        lines += [textwrap.indent(_failure(failure), "    ") for failure in result.failures]
    summary = f"{plural(output.passed, 'test')} passed"
    if output.failed:
        summary += f", {plural(output.failed, 'test')} failed"
    return "".join(lines) + (
        f"{summary}\n" if output.tests else "no tests: tests/ has no ScoreTest\n"
    )


def junit(output: TestOutput) -> str:
    """The results in the JUnit XML that GitHub actions, GitLab and Jenkins read."""
    counts = {"tests": str(len(output.tests)), "failures": str(output.failed), "errors": "0"}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": "gitops-dsf", **counts})
    for result in output.tests:
        # GitLab links it to the file of this name from the root of the repository.
        file = printable(from_git_root(result.file))
        place = {
            "classname": file,
            "name": printable(result.name),
            "file": file,
            "line": str(result.line),
        }
        case = ET.SubElement(suite, "testcase", place)
        if not result.passed:
            first = result.failures[0]
            message = f"{first.subject}: expected {first.expected}, got {first.got}"
            failure = ET.SubElement(case, "failure", {"message": printable(message)})
            failure.text = "\n".join(_failure(each) for each in result.failures)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _failure(failure: UnmetExpectation) -> str:
    return "".join(f"{line}\n" for line in _lines(failure))


def _lines(failure: UnmetExpectation) -> Iterator[str]:
    yield printable(f"{_place(failure)}: {failure.subject}")
    yield printable(f"  expected: {failure.expected}")
    yield printable(f"  got:      {failure.got}")
    for reason in failure.reasons:
        yield printable(f"  {reason}")
    for each in failure.explanations:
        yield ""
        text = explanation_text(each, placement=each.placement)
        for line in f"{text}{what_would_flip(each)}".splitlines():
            yield printable(f"  {line}".rstrip())


def _place(item: UnmetExpectation | TestResult) -> str:
    return f"{item.file}:{item.line}:{item.column}"
