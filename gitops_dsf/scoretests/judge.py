"""Compares the results of a test with its expectations.

Scores and decisions come from `replay`, and explanations from the simulator. Each expectation is
judged on its own, also after one that is not met.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

from msgspec import Struct

from gitops_dsf.diagnostics import Diagnostic, Position
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.load import Document
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.score_test import (
    ExpectedDecision,
    ExpectedFinding,
    ExpectedMoves,
    ExpectedScore,
    ScoreTest,
    seconds,
)
from gitops_dsf.scoretests.queries import Evaluate, QueryError, no_promtool
from gitops_dsf.scoretests.reasons import time_text, why_score
from gitops_dsf.scoretests.replay import DecisionAtTime, ReplayedTest, ScoreAtTime
from gitops_dsf.scoretests.runs import only_item
from gitops_dsf.simulator import Explanation, Outcome, explain
from gitops_dsf.wording import plural

MAX_EXPLAINED: Final = 4
"""Clusters of a wrong decision that are explained."""
MAX_DECISIONS: Final = 20
"""Decisions that are listed for a wrong number of moves."""
MAX_FINDINGS: Final = 10
"""Findings that are listed for a missing one."""


class UnmetExpectation(Struct, frozen=True, kw_only=True):
    """An expectation that is not met. It is JSON as it is."""

    file: str
    line: int
    column: int
    subject: str
    """The subject of the expectation, such as `decision of argocd/portal at 10m`."""
    expected: str
    got: str
    reasons: tuple[str, ...]
    explanations: tuple[Explanation, ...]
    """Explanations of clusters that are in a decision and should not be, or the other way round."""


def judge(
    test: Item[ScoreTest],
    *,
    fleet: CheckedFleet | None,
    findings: Sequence[Diagnostic],
    documents: Sequence[Document],
    evaluate: Evaluate = no_promtool,
) -> Iterator[UnmetExpectation]:
    """The expectations that are not met, in their order.

    `fleet` has the clusters of the test, None if it has errors; `findings` are those of it.
    `documents` are all of the repository's. `evaluate` evaluates queries over given metrics.
    """
    expect = test.value.spec.expect
    for index, finding in enumerate(expect.findings):
        position = test.at("spec", "expect", "findings", index)
        yield from _judge_finding(findings, documents, finding, position)
    # A test of findings alone may be of a repository with errors.
    if not (expect.scores or expect.decisions or expect.moves):
        return
    if fleet is None:
        yield _errors(test, findings)
        return
    try:
        replayed = ReplayedTest(test.value.spec, fleet=fleet, evaluate=evaluate)
    except QueryError as error:
        yield _unmet(
            test.at("spec", "given", "metrics"),
            "metrics of this test",
            expected="queries can be evaluated over them",
            got="an error",
            reasons=(str(error),),
        )
        return
    for index, score in enumerate(expect.scores):
        yield from _judge_score(replayed, test, score, index)
    for index, decision in enumerate(expect.decisions):
        yield from _judge_decision(replayed, test, decision, index)
    for index, moves in enumerate(expect.moves):
        yield from _judge_moves(replayed, test, moves, index)


def _unmet(
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


def _errors(test: Item[ScoreTest], findings: Sequence[Diagnostic]) -> UnmetExpectation:
    """The repository of the test has errors, so nothing can be replayed."""
    errors: list[str] = []
    for finding in findings:
        if finding.severity == "error":
            errors.append(
                f"{finding.position}: {finding.severity} {finding.code}: {finding.message}"
            )
    return _unmet(
        test.at("spec", "given", "clusters"),
        "the repository with the clusters of this test",
        expected="no errors",
        got=plural(len(errors), "error"),
        reasons=tuple(errors),
    )


def _judge_score(
    replayed: ReplayedTest, test: Item[ScoreTest], expected: ExpectedScore, index: int
) -> Iterator[UnmetExpectation]:
    resource = expected.resource or ""
    item_name = expected.dimension or ""
    if expected.scorer is not None:
        scorer = replayed.fleet.scorer_by_name[expected.scorer]
        resource = scorer.resource_name
        item_name = item_name or only_item(scorer)
    moment = seconds(expected.at)
    observed = _state(replayed.score(resource, item_name, expected.cluster, at=moment))
    # People write either a value or a state, and the failure points to what they wrote.
    field = "value" if expected.state is None else "state"
    wanted = str(expected.value) if expected.state is None else expected.state
    if observed == wanted:
        return
    # A scorer with one item usually names it like its object: then one name says all.
    subject = f"score {item_name} on {expected.cluster} at {expected.at}"
    if item_name != resource:
        subject = f"score {item_name} of {resource} on {expected.cluster} at {expected.at}"
    reasons = why_score(
        replayed, resource, item_name, expected.cluster, scorer=expected.scorer, at=moment
    )
    yield _unmet(
        test.at("spec", "expect", "scores", index, field),
        subject,
        expected=wanted,
        got=observed,
        reasons=tuple(reasons),
    )


def _state(score: ScoreAtTime) -> str:
    """The state of a score that a test may expect: its value, or that it is missing or expired."""
    if score.value is None:
        return "Missing"
    return "Expired" if score.expired else str(score.value)


def _judge_decision(
    replayed: ReplayedTest, test: Item[ScoreTest], expected: ExpectedDecision, index: int
) -> Iterator[UnmetExpectation]:
    key = replayed.key(expected)
    verdict = replayed.verdict(key, at=seconds(expected.at))
    # Decisions are compared as sets: OCM lists the clusters of a decision by name, not by rank.
    wanted = sorted(set(expected.clusters))
    chosen = sorted(verdict.chosen)
    if chosen == wanted:
        return
    # Missing clusters come first: why they lost usually says why another one was chosen, too.
    missing = sorted(set(wanted).difference(chosen))
    unwanted = sorted(set(chosen).difference(wanted))
    explanations: list[Explanation] = []
    for name in (*missing, *unwanted)[:MAX_EXPLAINED]:
        explanations.append(explain(verdict, name))
    reasons: tuple[str, ...] = ()
    if verdict.outcome is not Outcome.SCHEDULED:
        reasons = (f"{verdict.outcome}: {'; '.join(verdict.notes)}",)
    yield _unmet(
        test.at("spec", "expect", "decisions", index, "clusters"),
        f"decision of {key} at {expected.at}",
        expected=_clusters(wanted),
        got=_clusters(chosen),
        reasons=reasons,
        explanations=tuple(explanations),
    )


def _judge_moves(
    replayed: ReplayedTest, test: Item[ScoreTest], expected: ExpectedMoves, index: int
) -> Iterator[UnmetExpectation]:
    key = replayed.key(expected)
    until = replayed.end if expected.until is None else seconds(expected.until)
    decisions = replayed.decisions(key, until=until)
    before = replayed.given_decision(key)
    # A given decision that the first pass changes was left, which is a move.
    if before is not None and decisions and decisions[0].clusters != before:
        decisions.insert(0, DecisionAtTime(0, before))
    moves = len(decisions) - 1
    if moves == expected.count:
        return
    yield _unmet(
        test.at("spec", "expect", "moves", index, "count"),
        f"moves of {key} up to {time_text(until)}",
        expected=str(expected.count),
        got=str(moves),
        reasons=tuple(map(_decided, decisions[:MAX_DECISIONS])),
    )


def _decided(decision: DecisionAtTime) -> str:
    return f"at {time_text(decision.at)}: {_clusters(decision.clusters)}"


def _judge_finding(
    findings: Sequence[Diagnostic],
    documents: Sequence[Document],
    expected: ExpectedFinding,
    position: Position,
) -> Iterator[UnmetExpectation]:
    same_code = [finding for finding in findings if finding.code == expected.code]
    if any(_is_about(finding, expected, documents) for finding in same_code):
        return
    subject = f"finding {expected.code}"
    if expected.kind or expected.name:
        subject += f" of {' '.join(filter(None, (expected.kind, expected.name)))}"
    # Findings of the same code are the likely mistake: the test names another object. Without any,
    # all findings show what the repository has instead.
    reported = (same_code or findings)[:MAX_FINDINGS]
    yield _unmet(
        position,
        subject,
        expected="it is reported",
        got="it is not reported",
        reasons=tuple(map(_reported, reported)),
    )


def _reported(finding: Diagnostic) -> str:
    return f"reported: {finding.position}: {finding.code}: {finding.message}"


def _is_about(
    finding: Diagnostic, expected: ExpectedFinding, documents: Sequence[Document]
) -> bool:
    """Whether a finding is about the object that a test names. Without kind and name, all are."""
    if expected.kind is None and expected.name is None:
        return True
    position = finding.position
    # The document of a finding is the last one that begins before its line.
    before: list[Document] = []
    for document in documents:
        if document.file == position.file and document.start[0] <= position.line:
            before.append(document)
    if not before:
        return False
    document = max(before, key=lambda document: document.start)
    is_of_kind = expected.kind in {None, document.kind}
    return is_of_kind and expected.name in {None, document.name}


def _clusters(names: Sequence[str]) -> str:
    return ", ".join(names) or "no cluster"
