"""CEL against the answers of OCM's own environment, and the limits.

That environment is cel-go with Kubernetes' and OCM's libraries.

cel.json.gz holds clusters, scores, the view CEL has of each cluster, and for hundreds of
expressions what Go said of each cluster: true, false, error or "not a bool", or that the compiler
refused. An answer of the simulator is the same or Unsupported; nothing else.
"""

import gzip
import json
from typing import Any

import pytest

from gitops_dsf.simulator import HubState, Outcome, Unsupported
from gitops_dsf.simulator.cel.predicates import CelPredicates
from tests.unit.simulator.hub import (
    GROUP,
    ORACLE,
    cel,
    cluster,
    decision,
    placement,
    plain,
    run,
    score,
    viewed,
)

DATA: dict[str, Any] = json.loads(gzip.decompress((ORACLE / "cel.json.gz").read_bytes()))
REFUSED = "refused"


@pytest.fixture(scope="module")
def predicates() -> CelPredicates:
    documents = [{"kind": "ManagedCluster", **document} for document in DATA["clusters"]]
    documents += [{"kind": "AddOnPlacementScore", **document} for document in DATA["scores"]]
    return HubState.build(documents).cel


def test_answers_as_go_does(predicates: CelPredicates) -> None:
    """Never another answer than OCM's; a refusal for a refusal."""
    wrong = []
    for expression, answers in DATA["expressions"]:
        checked = predicates.check(expression)
        if isinstance(checked, Unsupported):
            continue
        if (checked is not None) != (answers == REFUSED):
            wrong.append(f"{expression}: OCM {answers}, simulator {checked}")
        elif answers != REFUSED:
            found = [predicates.answer(expression, number) for number in range(len(answers))]
            if any(
                (answer is True) != (expected is True)
                for answer, expected in zip(found, answers, strict=True)
                if not isinstance(answer, Unsupported)
            ):
                wrong.append(f"{expression}: OCM {answers}, simulator {found}")
    assert wrong == []


def test_most_expressions_are_supported(predicates: CelPredicates) -> None:
    """Unsupported stays the exception."""
    refused = [
        text for text, _ in DATA["expressions"] if isinstance(predicates.check(text), Unsupported)
    ]
    assert len(refused) < len(DATA["expressions"]) / 8


def test_cluster_views_are_what_go_makes_of_the_type() -> None:
    """Zero values, canonical quantities and dropped fields, as DefaultUnstructuredConverter gives
    them.
    """
    assert [viewed(document) for document in DATA["clusters"]] == DATA["views"]


def test_unsupported_is_no_verdict() -> None:
    """What cannot be answered is said, and nothing is concluded."""
    verdict = run(
        cluster("c1"), decision("c1"), placement(predicates=cel("'%d'.format([1]) == '1'"))
    )
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert (verdict.ranked, verdict.evicted, verdict.scores) == ((), (), None)
    assert plain(verdict)["unsupported"] == [
        (
            "CEL expression \"'%d'.format([1]) == '1'\" uses what the simulator does not"
            " support: format"
            " (not offered)"
        )
    ]


def test_unsupported_on_one_cluster_names_it() -> None:
    """A value the evaluator cannot judge makes the verdict unknown, and the cluster is named."""
    verdict = run(
        cluster("c1", status={"clusterClaims": [{"name": "u", "value": "a b"}]}),
        cluster("c2", status={"clusterClaims": [{"name": "u", "value": "https://example.com"}]}),
        placement(predicates=cel("isURL(managedCluster.status.clusterClaims[0].value)")),
    )
    assert [found.cluster for found in verdict.unsupported] == ["c1"]


def test_unsupported_does_not_matter_where_another_predicate_matches() -> None:
    """Predicates are ORed: a cluster that matches one needs no answer from the other."""
    predicates = [
        *cel("isURL('a b')"),
        {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"a": "b"}}}},
    ]
    verdict = run(cluster("c1", labels={"a": "b"}), placement(predicates=predicates))
    assert (verdict.outcome, verdict.ranked) == (Outcome.SCHEDULED, ("c1",))


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("(" * 5000 + "true" + ")" * 5000, "200 brackets"),
        ("true || " * 20000 + "true", "100000 characters"),
        (
            "[1].all(a, [1].all(b, [1].all(c, [1].all(d, managedCluster.scores('r').size() > 0))))",
            "cost limit",
        ),
        ("has(managedCluster.kind)", "after a list but not after a watch"),
    ],
)
def test_what_is_refused_outright(expression: str, reason: str) -> None:
    """Deep nesting never reaches the parser, and expensive expressions are not answered."""
    scores = {f"s{number}": 1 for number in range(50)}
    verdict = run(cluster("c1"), score("c1", **scores), placement(predicates=cel(expression)))
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert reason in str(verdict.unsupported[0])


def test_a_placement_that_is_not_scheduled_keeps_its_decisions_whatever_its_expressions_say() -> (
    None
):
    document = placement(predicates=cel("'%d'.format([1]) == '1'"))
    document["metadata"]["annotations"] = {f"{GROUP}/experimental-scheduling-disable": "true"}
    verdict = run(cluster("c1"), decision("c1"), document)
    assert (verdict.outcome, verdict.chosen) == (Outcome.DISABLED, {"c1"})
