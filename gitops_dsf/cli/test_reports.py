"""Formats the results of tests: text for people, and JUnit XML for pipelines."""

import textwrap
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from dsf_wire.text import printable
from gitops_dsf.cli.verdict_text import explanation_text, what_would_flip
from gitops_dsf.views.scoretests.judge import Failure
from gitops_dsf.views.scoretests.suite import TestOutput, TestResult
from gitops_dsf.wording import plural


def text(output: TestOutput) -> str:
    """One line for each test, each failing expectation with its explanation, and a summary."""
    lines = []
    for result in output.tests:
        outcome = "ok" if result.passed else "FAILED"
        lines.append(f"{outcome:<6}  {result.name}  ({_place(result)})\n")
        lines += [textwrap.indent(_failure(failure), "    ") for failure in result.failures]
    summary = f"{plural(output.passed, 'test')} passed"
    if output.failed:
        summary += f", {plural(output.failed, 'test')} failed"
    return "".join(lines) + (f"{summary}\n" if output.tests else "no tests: tests/ has no ScoreTest\n")


def junit(output: TestOutput) -> str:
    """The results in the JUnit XML that GitHub actions, GitLab and Jenkins read."""
    counts = {"tests": str(len(output.tests)), "failures": str(output.failed), "errors": "0"}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": "gitops-dsf", **counts})
    for result in output.tests:
        case = ET.SubElement(
            suite,
            "testcase",
            {
                "classname": printable(result.file),
                "name": result.name,
                "file": printable(result.file),
                "line": str(result.line),
            },
        )
        if not result.passed:
            first = result.failures[0]
            message = f"{first.subject}: expected {first.expected}, got {first.got}"
            failure = ET.SubElement(case, "failure", {"message": printable(message)})
            failure.text = "\n".join(_failure(each) for each in result.failures)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _failure(failure: Failure) -> str:
    return "".join(f"{line}\n" for line in _lines(failure))


def _lines(failure: Failure) -> Iterator[str]:
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


def _place(item: Failure | TestResult) -> str:
    return f"{item.file}:{item.line}:{item.column}"
