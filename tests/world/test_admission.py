"""Expressions of policies are evaluated once for all writes of which they read the same."""

import random
from dataclasses import replace
from typing import Any

import pytest

from tests.support.apiserver import Object
from tests.world import admission, fleet
from tests.world.admission import AdmissionRequest, Expression

ABSENT: Object = {}
PARTS: dict[str, tuple[Any, ...]] = {
    "name": ("free0", "free3", "gitops-dsf-moves"),
    "labels": (
        {},
        {"app.kubernetes.io/managed-by": "gitops-dsf-agent"},
        {"app.kubernetes.io/managed-by": "gitops-dsf-agent", "gitops-dsf.io/runs-on": "Hub"},
        {"team": "shop"},
    ),
    "annotations": ({}, {"note": "ours"}),
    "finalizers": ([], ["example.com/kept"]),
    "ownerReferences": ([], [{"kind": "ApplicationSet", "apiVersion": "argoproj.io/v1alpha1"}]),
}
STATUSES: tuple[Any, ...] = (
    ABSENT,
    {"scores": [{"name": "cpu", "value": 1}]},
    {"scores": [{"name": "n" * 5000, "value": 1}]},
    {"conditions": [{"type": "Scored", "message": "fine", "reason": "Fine"}]},
    {"conditions": [{"type": "Other", "message": "?", "reason": "?"}]},
)


def drawn_object(drawn: random.Random) -> Object:
    """Any part of it may be absent."""
    metadata = {
        part: drawn.choice(values) for part, values in PARTS.items() if drawn.random() < 0.7
    }
    status = drawn.choice(STATUSES)
    return {"metadata": metadata, **({} if status is ABSENT else {"status": status})}


def drawn_write(drawn: random.Random) -> AdmissionRequest:
    account = admission.program(
        drawn.choice(["agent/c00", "hub-scorer", "reconciler-0"]), namespace=fleet.HUB
    )
    assert account is not None
    before = drawn_object(drawn) if drawn.random() < 0.7 else None
    after = drawn_object(drawn) if before is None or drawn.random() < 0.7 else None
    options = {"preconditions": {"uid": "u"}} if drawn.random() < 0.5 else {}
    return AdmissionRequest(
        account=account,
        plural=drawn.choice(["addonplacementscores", "applications", "applicationsets"]),
        namespace="c00",
        name=((after or before or {}).get("metadata") or {}).get("name", ""),
        before=before,
        after=after,
        options=options if after is None else None,
    )


def test_an_answer_that_is_kept_is_the_answer_to_the_write() -> None:
    policies = fleet.rendered(fleet.sources(clusters=2, scorers=4, applications=2)).policies
    drawn = random.Random(7)
    refused = 0
    for _ in range(400):
        asked = drawn_write(drawn)
        with_memory = admission.refusal(policies, asked)
        refused += bool(with_memory)
        admission.expression.cache_clear()
        assert admission.refusal([replace(each) for each in policies], asked) == with_memory
    assert 50 < refused < 350


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("object.metadata.?name.orValue('') == 'a'", [("object", "metadata", "name")]),
        ("object.?spec == oldObject.?spec", [("object", "spec"), ("oldObject", "spec")]),
        (
            "object.?status.?scores.orValue([]).all(score, score.name != '')",
            [("object", "status", "scores")],
        ),
        (
            "(request.operation == 'DELETE' ? oldObject : object).metadata.?name.hasValue()",
            [
                ("object", "metadata", "name"),
                ("oldObject", "metadata", "name"),
                ("request", "operation"),
            ],
        ),
        # Without a field the whole object is read.
        ("object != oldObject", [("object",), ("oldObject",)]),
    ],
)
def test_what_an_expression_reads(text: str, paths: list[tuple[str, ...]]) -> None:
    assert Expression(text).paths == paths


def test_a_field_of_what_is_absent_is_not_an_absent_field() -> None:
    """The first fails, and so it refuses."""
    named = Expression("!object.metadata.?name.hasValue()")
    assert named.holds({"object": {"metadata": {}}})
    assert not named.holds({"object": {}})
    assert not named.holds({"object": None})
    assert named.holds({"object": {"metadata": {}}})
