"""Runs tests, and what is known of them afterwards."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gitops_dsf.diagnostics import Position
from gitops_dsf.pipeline import Checked
from gitops_dsf.repository.load import Document
from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.repository.model.score_test import ScoreTest
from gitops_dsf.views.scoretests.fleets import TestFleets
from gitops_dsf.views.scoretests.judge import Failure, Outcomes, judge
from gitops_dsf.views.scoretests.queries import Evaluate, no_promtool


@dataclass(frozen=True, kw_only=True)
class TestResult:
    """A test that was run."""

    __test__ = False

    name: str
    description: str
    position: Position
    failures: tuple[Failure, ...]

    @property
    def passed(self) -> bool:
        return not self.failures


def selected(declared: Declared, patterns: Iterable[str]) -> Sequence[Item[ScoreTest]]:
    """The tests whose names match one of some shell patterns, in order of file and line. All without
    patterns.
    """
    wanted = tuple(patterns)
    found = [
        item
        for item in declared.score_tests
        if not wanted or any(fnmatchcase(item.name, pattern) for pattern in wanted)
    ]
    return sorted(found, key=lambda item: item.position)


def run_tests(
    tests: Iterable[Item[ScoreTest]],
    *,
    declared: Declared,
    checked: Checked,
    documents: Sequence[Document],
    evaluate: Evaluate = no_promtool,
) -> Iterator[TestResult]:
    """Runs tests one by one. `checked` is the repository as it is, `documents` are all of its documents.
    `evaluate` evaluates queries over given metrics.
    """
    fleets = TestFleets(declared, own=checked)
    for test in tests:
        fleet, findings = fleets.fleet_of(test)
        outcomes = Outcomes(test=test, fleet=fleet, findings=findings, documents=documents, evaluate=evaluate)
        yield TestResult(
            name=test.name,
            description=test.value.spec.description,
            position=test.position,
            failures=tuple(judge(outcomes)),
        )
