"""Runs tests: each in the repository with the clusters that it gives."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import ClassVar

from msgspec import Struct, structs

from gitops_dsf.pipeline import CheckResult
from gitops_dsf.repository.load import Document
from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.repository.model.score_test import ScoreTest
from gitops_dsf.scoretests.fleets import fleet_of
from gitops_dsf.scoretests.judge import UnmetExpectation, judge
from gitops_dsf.scoretests.queries import Evaluate, no_promtool


class TestResult(Struct, frozen=True, kw_only=True):
    """A test that was run. It is JSON as it is."""

    __test__: ClassVar = False

    name: str
    description: str
    passed: bool
    file: str
    line: int
    column: int
    failures: tuple[UnmetExpectation, ...]


class TestOutput(Struct, frozen=True, kw_only=True):
    """The output of `test`."""

    __test__: ClassVar = False

    passed: int
    failed: int
    tests: tuple[TestResult, ...]


def selected(declared: Declared, patterns: Iterable[str]) -> Sequence[Item[ScoreTest]]:
    """The tests whose names match one of some shell patterns, by file and line. All without patterns."""
    wanted = tuple(patterns) or ("*",)
    found = [
        item
        for item in declared.score_tests
        if any(fnmatchcase(item.name, each) for each in wanted)
    ]
    return sorted(found, key=lambda item: item.position)


def run_tests(
    tests: Iterable[Item[ScoreTest]],
    *,
    declared: Declared,
    checked: CheckResult,
    documents: Sequence[Document],
    evaluate: Evaluate = no_promtool,
    prefix: Path = Path(),
) -> TestOutput:
    """Runs tests. `documents` are all of the repository's. `prefix` comes before names of files."""
    found, own = [], (checked.fleet, checked.diagnostics)
    for test in tests:
        fleet, findings = fleet_of(test, declared, own=own)
        judged = judge(test, fleet=fleet, findings=findings, documents=documents, evaluate=evaluate)
        failures = tuple(
            structs.replace(each, file=(prefix / each.file).as_posix()) for each in judged
        )
        found.append(
            TestResult(
                name=test.name,
                description=test.value.spec.description,
                passed=not failures,
                file=(prefix / test.position.file).as_posix(),
                line=test.position.line,
                column=test.position.column,
                failures=failures,
            )
        )
    failed = sum(not each.passed for each in found)
    return TestOutput(passed=len(found) - failed, failed=failed, tests=tuple(found))
