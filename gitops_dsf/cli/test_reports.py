"""Formats the results of tests: text for people, JSON, and JUnit XML for pipelines."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from dsf_wire.text import printable
from gitops_dsf.cli.explanation_text import explanation_text, what_would_flip
from gitops_dsf.cli.report import count
from gitops_dsf.diagnostics import Position
from gitops_dsf.views.scoretests.judge import Failure
from gitops_dsf.views.scoretests.suite import TestResult


def text(results: Sequence[TestResult], *, prefix: Path) -> str:
    """One line for each test, each failing expectation with its explanation, and a summary."""
    lines = []
    for result in results:
        outcome = "ok" if result.passed else "FAILED"
        lines.append(f"{outcome:<6}  {result.name}  ({_file(result.position, prefix)})\n")
        lines += [_indented(_failure(failure, prefix), "    ") for failure in result.failures]
    failed = sum(not result.passed for result in results)
    summary = f"{count(len(results) - failed, 'test')} passed"
    if failed:
        summary += f", {count(failed, 'test')} failed"
    return "".join(lines) + (f"{summary}\n" if results else "no tests: tests/ has no ScoreTest\n")


def plain(results: Sequence[TestResult], *, prefix: Path) -> dict[str, Any]:
    """The results as JSON data."""
    return {
        "passed": sum(result.passed for result in results),
        "failed": sum(not result.passed for result in results),
        "tests": [
            {
                "name": result.name,
                "description": result.description,
                "passed": result.passed,
                **_place(result.position, prefix),
                "failures": [
                    {
                        **_place(failure.position, prefix),
                        "subject": failure.subject,
                        "expected": failure.expected,
                        "got": failure.got,
                        "reasons": list(failure.reasons),
                        "explanations": [each.to_dict() for each in failure.explanations],
                    }
                    for failure in result.failures
                ],
            }
            for result in results
        ],
    }


def junit(results: Sequence[TestResult], *, prefix: Path) -> str:
    """The results in the JUnit XML that GitHub actions, GitLab and Jenkins read."""
    failed = sum(not result.passed for result in results)
    counts = {"tests": str(len(results)), "failures": str(failed), "errors": "0"}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": "gitops-dsf", **counts})
    for result in results:
        file = (prefix / result.position.file).as_posix()
        case = ET.SubElement(
            suite,
            "testcase",
            {
                "classname": printable(file),
                "name": result.name,
                "file": printable(file),
                "line": str(result.position.line),
            },
        )
        if not result.passed:
            first = result.failures[0]
            message = f"{first.subject}: expected {first.expected}, got {first.got}"
            failure = ET.SubElement(case, "failure", {"message": printable(message)})
            failure.text = "\n".join(_failure(each, prefix) for each in result.failures)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _failure(failure: Failure, prefix: Path) -> str:
    return "".join(f"{line}\n" for line in _lines(failure, prefix))


def _lines(failure: Failure, prefix: Path) -> Iterator[str]:
    yield printable(f"{_file(failure.position, prefix)}: {failure.subject}")
    yield printable(f"  expected: {failure.expected}")
    yield printable(f"  got:      {failure.got}")
    for reason in failure.reasons:
        yield printable(f"  {reason}")
    for each in failure.explanations:
        yield ""
        for line in f"{explanation_text(each)}{what_would_flip(each)}".splitlines():
            yield printable(f"  {line}".rstrip())


def _file(position: Position, prefix: Path) -> str:
    return f"{(prefix / position.file).as_posix()}:{position.line}:{position.column}"


def _place(position: Position, prefix: Path) -> dict[str, Any]:
    file = (prefix / position.file).as_posix()
    return {"file": file, "line": position.line, "column": position.column}


def _indented(block: str, by: str) -> str:
    return "".join(f"{by}{line}\n" if line else "\n" for line in block.splitlines())
