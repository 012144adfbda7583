"""Runs the tests of a repository: each in the repository with the clusters that it gives."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import ClassVar

from msgspec import Struct, structs

from gitops_dsf.pipeline import CheckResult
from gitops_dsf.repository.load import Document
from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.repository.model.score_test import ScoreTest
from gitops_dsf.scoretests.fleets import FleetOfTest, fleet_of
from gitops_dsf.scoretests.judge import UnmetExpectation, judge
from gitops_dsf.scoretests.queries import Evaluate, no_promtool


class TestResult(Struct, frozen=True, kw_only=True):
    """A test that was run. It is JSON as it is."""

    __test__: ClassVar = False  # pytest takes classes of this name for tests

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


def selected(declared: Declared, patterns: Sequence[str]) -> Sequence[Item[ScoreTest]]:
    """The tests whose names match one of some shell patterns, by file and line.

    Without patterns these are all tests.
    """
    tests = [test for test in declared.score_tests if _is_selected(test.name, patterns)]
    # Declared objects are sorted by name. People read results beside their files.
    return sorted(tests, key=lambda test: test.position)


def _is_selected(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def run_tests(
    tests: Iterable[Item[ScoreTest]],
    *,
    declared: Declared,
    checked: CheckResult,
    documents: Sequence[Document],
    evaluate: Evaluate = no_promtool,
    prefix: Path = Path(),
) -> TestOutput:
    """Runs tests one by one.

    `checked` is the repository as it is, and `documents` are all of it. `prefix` comes before names
    of files.
    """
    # The repository was checked by the caller. Only a test with clusters of its own checks again.
    own = FleetOfTest(checked.fleet, checked.diagnostics)
    results: list[TestResult] = []
    failed = 0
    for test in tests:
        fleet, findings = fleet_of(test, declared, own=own)
        unmet = judge(test, fleet=fleet, findings=findings, documents=documents, evaluate=evaluate)
        failures = tuple(_below(prefix, expectation) for expectation in unmet)
        if failures:
            failed += 1
        results.append(
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
    return TestOutput(passed=len(results) - failed, failed=failed, tests=tuple(results))


def _below(prefix: Path, expectation: UnmetExpectation) -> UnmetExpectation:
    return structs.replace(expectation, file=(prefix / expectation.file).as_posix())
