"""Compares what came of a test with what it expected, and says why a score is what it is."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

from msgspec import Struct

from gitops_dsf.diagnostics import Diagnostic, Position
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.load import Document
from gitops_dsf.repository.model import score_test
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.scoretests.queries import Evaluate, QueryError, no_promtool
from gitops_dsf.scoretests.reasons import time_text, why_score
from gitops_dsf.scoretests.runs import only_item
from gitops_dsf.scoretests.story import ReplayedTest
from gitops_dsf.simulator import Explanation, Outcome, explain
from gitops_dsf.wording import plural

MOST_EXPLAINED: Final = 4


class UnmetExpectation(Struct, frozen=True, kw_only=True):
    """An expectation that is not met. It is JSON as it is."""

    file: str
    line: int
    column: int
    subject: str
    """What was expected of what, such as `decision of argocd/portal at 10m`."""
    expected: str
    got: str
    reasons: tuple[str, ...]
    explanations: tuple[Explanation, ...]
    """Of clusters that are in a decision and should not be, or the other way round."""


def _failure(
    position: Position,
    subject: str,
    *,
    expected: str,
    got: str,
    reasons: tuple[str, ...] = (),
    explanations: tuple[Explanation, ...] = (),
) -> UnmetExpectation:
    return UnmetExpectation(
        **asdict(position),
        subject=subject,
        expected=expected,
        got=got,
        reasons=reasons,
        explanations=explanations,
    )


def judge(
    test: Item[score_test.ScoreTest],
    *,
    fleet: CheckedFleet | None,
    findings: Sequence[Diagnostic],
    documents: Sequence[Document],
    evaluate: Evaluate = no_promtool,
) -> Iterator[UnmetExpectation]:
    """The failures, in order of expectations. `fleet` has the clusters of the test; None if it has errors."""
    expect = test.value.spec.expect
    for index, finding in enumerate(expect.findings):
        yield from _finding(
            findings, documents, finding, test.at("spec", "expect", "findings", index)
        )
    if not (expect.scores or expect.decisions or expect.moves):
        return
    if fleet is None:
        told = (item for item in findings if item.severity == "error")
        errors = tuple(
            f"{each.position}: {each.severity} {each.code}: {each.message}" for each in told
        )
        yield _failure(
            test.at("spec", "given", "clusters"),
            "the repository with the clusters of this test",
            expected="no errors",
            got=plural(len(errors), "error"),
            reasons=errors,
        )
        return
    try:
        story = ReplayedTest(test.value.spec, fleet=fleet, evaluate=evaluate)
    except QueryError as error:
        yield _failure(
            test.at("spec", "given", "metrics"),
            "metrics of this test",
            expected="queries can be evaluated over them",
            got="an error",
            reasons=(str(error),),
        )
        return
    for index, score in enumerate(expect.scores):
        yield from _score(story, test, score, index)
    for index, decision in enumerate(expect.decisions):
        yield from _decision(story, test, decision, index)
    for index, moves in enumerate(expect.moves):
        yield from _moves(story, test, moves, index)


def _score(
    story: ReplayedTest,
    test: Item[score_test.ScoreTest],
    expected: score_test.ExpectedScore,
    index: int,
) -> Iterator[UnmetExpectation]:
    at = score_test.seconds(expected.at)
    resource, item = expected.resource or "", expected.dimension or ""
    if expected.scorer is not None:
        scorer = story.fleet.scorer_by_name[expected.scorer]
        resource, item = scorer.resource_name, item or only_item(scorer)
    found = story.score(resource, item, expected.cluster, at=at)
    got = "Missing" if found.value is None else "Expired" if found.expired else str(found.value)
    wanted = str(expected.value) if expected.state is None else expected.state
    if got == wanted:
        return
    named = item if item == resource else f"{item} of {resource}"
    yield _failure(
        test.at("spec", "expect", "scores", index, "value" if expected.state is None else "state"),
        f"score {named} on {expected.cluster} at {expected.at}",
        expected=wanted,
        got=got,
        reasons=tuple(
            why_score(story, resource, item, expected.cluster, scorer=expected.scorer, at=at)
        ),
    )


def _decision(
    story: ReplayedTest,
    test: Item[score_test.ScoreTest],
    expected: score_test.ExpectedDecision,
    index: int,
) -> Iterator[UnmetExpectation]:
    key, at = story.key(expected), score_test.seconds(expected.at)
    verdict, wanted = story.verdict(key, at=at), sorted(set(expected.clusters))
    found = sorted(verdict.chosen)
    if found == wanted:
        return
    differing = [name for name in (*wanted, *found) if (name in wanted) != (name in found)]
    told = f"{verdict.outcome}: {'; '.join(verdict.notes)}"
    yield _failure(
        test.at("spec", "expect", "decisions", index, "clusters"),
        f"decision of {key} at {expected.at}",
        expected=_clusters(wanted),
        got=_clusters(found),
        reasons=() if verdict.outcome is Outcome.SCHEDULED else (told,),
        explanations=tuple(explain(verdict, each) for each in differing[:MOST_EXPLAINED]),
    )


def _moves(
    story: ReplayedTest,
    test: Item[score_test.ScoreTest],
    expected: score_test.ExpectedMoves,
    index: int,
) -> Iterator[UnmetExpectation]:
    key = story.key(expected)
    until = story.end if expected.until is None else score_test.seconds(expected.until)
    history = story.changes(key, until=until)
    before = story.given_decision(key)
    if before is not None and history and history[0][1] != before:
        history = [(0, before), *history]
    if len(history) - 1 == expected.count:
        return
    lines = [f"at {time_text(at)}: {_clusters(clusters)}" for at, clusters in history]
    yield _failure(
        test.at("spec", "expect", "moves", index, "count"),
        f"moves of {key} up to {time_text(until)}",
        expected=str(expected.count),
        got=str(len(history) - 1),
        reasons=tuple(lines[:20]),
    )


def _finding(
    findings: Sequence[Diagnostic],
    documents: Sequence[Document],
    expected: score_test.ExpectedFinding,
    position: Position,
) -> Iterator[UnmetExpectation]:
    same_code = [item for item in findings if item.code == expected.code]
    if any(_belongs(item, expected, documents) for item in same_code):
        return
    of = " ".join(each for each in (expected.kind, expected.name) if each)
    others = same_code or list(findings)
    yield _failure(
        position,
        f"finding {expected.code}{f' of {of}' if of else ''}",
        expected="it is reported",
        got="it is not reported",
        reasons=tuple(
            f"reported: {item.position}: {item.code}: {item.message}" for item in others[:10]
        ),
    )


def _belongs(
    item: Diagnostic, expected: score_test.ExpectedFinding, documents: Sequence[Document]
) -> bool:
    if expected.kind is None and expected.name is None:
        return True
    file, line = item.position.file, item.position.line
    before = [each for each in documents if each.file == file and each.start[0] <= line]
    document = max(before, key=lambda each: each.start, default=None)
    return (
        document is not None
        and expected.kind in {None, document.kind}
        and expected.name in {None, document.name}
    )


def _clusters(names: Sequence[str]) -> str:
    return ", ".join(names) or "no cluster"
