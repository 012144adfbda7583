"""The results of tests of scores: for a terminal, and as JUnit XML."""

import textwrap
from collections.abc import Callable, Iterator
from xml.etree import ElementTree as ET

from dsf_wire.text import printable, printable_lines
from gitops_dsf.scoretests.judge import UnmetExpectation
from gitops_dsf.scoretests.suite import TestOutput, TestResult
from gitops_dsf.show.explanations import explanation_text, what_would_flip
from gitops_dsf.wording import plural


def tests_text(output: TestOutput) -> str:
    """One line for each test, each failing expectation with its explanation, and a summary."""
    text = ""
    for result in output.tests:
        outcome = "ok" if result.passed else "FAILED"
        text += printable_lines([f"{outcome:<6}  {result.name}  ({_place(result)})"])
        for failure in result.failures:
            text += textwrap.indent(_failure(failure), "    ")
    return text + _summary(output)


def _summary(output: TestOutput) -> str:
    if not output.tests:
        return "no tests: tests/ has no ScoreTest\n"
    if output.failed:
        return f"{plural(output.passed, 'test')} passed, {plural(output.failed, 'test')} failed\n"
    return f"{plural(output.passed, 'test')} passed\n"


def junit(output: TestOutput, *, file_of: Callable[[str], str]) -> str:
    """The results in the JUnit XML that GitHub actions, GitLab and Jenkins read.

    `file_of` names a file from the root of the git repository, because GitLab links a test to the
    file of that name.
    """
    # A test that cannot be run ends the verb, so it is never an error in this list.
    counts = {"tests": str(len(output.tests)), "failures": str(output.failed), "errors": "0"}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": "gitops-dsf", **counts})
    for result in output.tests:
        file = printable(file_of(result.file))
        attributes = {
            "classname": file,
            "name": printable(result.name),
            "file": file,
            "line": str(result.line),
        }
        case = ET.SubElement(suite, "testcase", attributes)
        if result.passed:
            continue
        # Viewers show the message in lists, and the text of a test that is opened.
        first = result.failures[0]
        message = printable(f"{first.subject}: expected {first.expected}, got {first.got}")
        failure = ET.SubElement(case, "failure", {"message": message})
        failure.text = "\n".join(map(_failure, result.failures))
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
    for explanation in failure.explanations:
        yield ""
        text = explanation_text(explanation, placement=explanation.placement)
        for line in (text + what_would_flip(explanation)).splitlines():
            yield printable(f"  {line}".rstrip())


def _place(result: UnmetExpectation | TestResult) -> str:
    """The place, as editors and terminals link it."""
    return f"{result.file}:{result.line}:{result.column}"
