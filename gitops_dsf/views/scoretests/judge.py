"""Compares what came of a test with what it expected, and says why a score is what it is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import takewhile
from typing import Final

from msgspec import Struct

from dsf_wire.publishrule import Rule, changed
from gitops_dsf.diagnostics import Diagnostic, Position
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.load import Document
from gitops_dsf.repository.model import score_test
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.simulator import Explanation, Outcome, explain
from gitops_dsf.views.scoretests.queries import Evaluate, QueryError, no_promtool, not_evaluated
from gitops_dsf.views.scoretests.story import (
    ADD_ON_PLACEMENT_SCORE,
    START,
    PublishedScore,
    Run,
    ScorerOnCluster,
    Story,
    only_item,
)
from gitops_dsf.wording import names_text, plural

MOST_EXPLAINED: Final = 4


class Failure(Struct, frozen=True, kw_only=True):
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
) -> Failure:
    return Failure(
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
) -> Iterator[Failure]:
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
        story = Story(test.value.spec, fleet=fleet, evaluate=evaluate)
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
    story: Story, test: Item[score_test.ScoreTest], expected: score_test.ExpectedScore, index: int
) -> Iterator[Failure]:
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
    story: Story,
    test: Item[score_test.ScoreTest],
    expected: score_test.ExpectedDecision,
    index: int,
) -> Iterator[Failure]:
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
    story: Story, test: Item[score_test.ScoreTest], expected: score_test.ExpectedMoves, index: int
) -> Iterator[Failure]:
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
) -> Iterator[Failure]:
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


def why_score(
    story: Story, resource: str, item: str, cluster: str, *, scorer: str | None, at: float
) -> Iterator[str]:
    """The last write, the last run, and why they differ."""
    found = story.runs_of(resource, cluster)
    if found is None:
        yield _not_running(story, cluster, scorer)
        return
    score = story.score(resource, item, cluster, at=at)
    yield _published(score, found)
    runs = [each for each in found.runs if each.at - START <= at]
    if not runs or found.rule is None:
        return
    run = runs[-1]
    first = list(takewhile(lambda each: each.items == run.items, reversed(runs)))[-1]
    since = f"from {time_text(first.at - START)} on"
    if scorer is not None and (why := story.without.get((scorer, cluster))):
        yield why
    if run.items is None:
        yield f"{since} the runs give no result{_raw(run, item)}, so nothing new is published"
        return
    value = run.items.get(item)
    given = (
        f"no item {item}, but {', '.join(sorted(run.items)[:5])}" if value is None else str(value)
    )
    yield f"{since} the runs give {given}{_raw(run, item)}"
    if value != score.value:
        yield _held_back(found.rule, run.items, story.items(resource, cluster, at=at))


def _not_running(story: Story, cluster: str, name: str | None) -> str:
    if name is None:
        return f"the test gives no score of it on {cluster}"
    scorer = story.fleet.scorer_by_name[name]
    if scorer.spec.score_destination != ADD_ON_PLACEMENT_SCORE:
        return f"{name} does not publish: its scoreDestination is {scorer.spec.score_destination}"
    if scorer.spec.suspend:
        return f"{name} is suspended, so it runs nowhere"
    if cluster not in story.fleet.runs_on[name]:
        return f"{name} does not run on {cluster}: its clusterSelector, or a mask, leaves the cluster out"
    if story.gives_metrics and (why := not_evaluated(scorer, story.fleet)):
        return f"the metrics of the test do not count for {name}, because {why}; give series of it"
    return f"the test gives no series and no score of {name} on {cluster}"


def _published(score: PublishedScore, found: ScorerOnCluster) -> str:
    if score.written is None:
        return "nothing has been published yet"
    when = "before the beginning" if score.written < 0 else f"at {time_text(score.written)}"
    value = "without this item" if score.value is None else str(score.value)
    text = f"last written {when}: {value}"
    if score.expired:
        return f"{text}; it expired at {time_text(score.written + found.track.ttl)}"
    return text


def _raw(run: Run, item: str) -> str:
    """The raw scores of an item in a run, in brackets. Those that are no number do not count."""
    values = [
        f"{value:g}".replace("nan", "NaN").replace("inf", "Inf") for value in run.raw.get(item, ())
    ]
    return f" (raw score{'s' if len(values) > 1 else ''} {names_text(values)})" if values else ""


def _held_back(rule: Rule, items: Mapping[str, int], published: Mapping[str, int]) -> str:
    if not changed(items, published, deadband=rule.deadband):
        until = f"the next renewal, at most {time_text(rule.refresh)} after the last write"
        return f"the change is below publish.deadband {rule.deadband}, so it waits for {until}"
    return f"publish.minIntervalSeconds {rule.min_interval:g} after the last write are not over"


def time_text(seconds: float) -> str:
    """A time as tests write it, such as 1h30m."""
    rest, text = round(seconds), ""
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"
