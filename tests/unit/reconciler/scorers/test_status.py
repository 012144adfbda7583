"""Health, drift of /config, and the status that they become."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_dsf.hub.metadata import NO_CONDITION, ObjectCondition
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.freshness import Assessment
from gitops_dsf.reconciler.scorers.probes import ConfigSync, Health, HealthStatus, compare
from gitops_dsf.reconciler.scorers.status import desired_status, patch
from gitops_dsf.schema.scorer_status import DynamicScorerStatus
from gitops_dsf.sync.page import FetchedPage, PageFault
from tests.support import typed
from tests.support.apiserver import merged
from tests.support.fleets import JSON_VALUES
from tests.support.laws import examples

FAILURES = 3
SUCCESSES = 2

GOOD = FetchedPage(url="http://a/healthz", media="", body=b"ok")
BAD = PageFault(reason="Status", message="answers 500")
AWAY = PageFault(reason="Timeout", message="no answer")


def made(status: Any = None, **spec: Any) -> DynamicScorer:
    source = {
        "type": "Prometheus",
        "host": "http://prom:9090",
        "path": "/api/v1/query_range",
        "params": {"query": "up", "range": 60, "step": 5},
    }
    scoring = {"host": "http://a", "path": "/scoring", "params": {"name": "cpu", "interval": 5}}
    whole = {"configSyncMode": "Full", "source": source, "scoring": scoring, **spec}
    return msgspec.structs.replace(typed.scorer(generation=3, **whole), status=status or {})


def after(*answers: FetchedPage | PageFault, start: Health | None = None) -> Health:
    health = start or Health()
    for answer in answers:
        health = health.after(answer)
    return health


def test_hysteresis() -> None:
    active = after(GOOD)
    assert active.status is HealthStatus.ACTIVE
    assert after(*[BAD] * (FAILURES - 1), start=active).status is HealthStatus.ACTIVE
    assert after(BAD, GOOD, *[BAD] * (FAILURES - 1), start=active).status is HealthStatus.ACTIVE
    down = after(*[BAD] * FAILURES, start=active)
    assert (down.status, down.reason, down.message) == (
        HealthStatus.INACTIVE,
        "Status",
        "answers 500",
    )
    assert after(*[GOOD] * (SUCCESSES - 1), start=down).status is HealthStatus.INACTIVE
    assert after(GOOD, BAD, *[GOOD] * (SUCCESSES - 1), start=down).status is HealthStatus.INACTIVE
    assert after(*[GOOD] * SUCCESSES, start=down).status is HealthStatus.ACTIVE


def test_what_no_probe_ever_reached_stays_unknown() -> None:
    assert after(*[AWAY] * 9).status is HealthStatus.UNKNOWN
    assert after(*[AWAY] * 9, BAD).status is HealthStatus.INACTIVE
    assert after(GOOD, *[AWAY] * 9).status is HealthStatus.INACTIVE


@pytest.mark.parametrize(
    ("page", "reason", "words"),
    [
        (
            {"scoring": {"params": {"name": "cpu", "interval": 5}}},
            "InSync",
            "says what was accepted",
        ),
        ({"name": "x", "description": "y", "scoring": {"path": "/scoring"}}, "InSync", ""),
        (
            {"source": {"params": {"query": "down"}}},
            "Drifted",
            "source.params.query is down instead of up",
        ),
        (
            {"source": {"host": "http://evil"}},
            "Drifted",
            "source.host is http://evil instead of http://prom:9090",
        ),
        (
            {"source": {"params": {"query": "up; sum("}}},
            "Invalid",
            "PromQL of /config: unclosed left parenthesis",
        ),
        ({"source": 5}, "Invalid", "has another shape"),
    ],
)
def test_a_page_against_what_was_accepted(page: Any, reason: str, words: str) -> None:
    found = compare(
        made(),
        FetchedPage(
            url="http://a/config", media="application/json", body=json.dumps(page).encode()
        ),
    )
    assert found.reason == reason
    assert words in found.message


def test_a_page_does_not_say_where_the_source_of_a_reference_is() -> None:
    config = {
        "source": {"type": "None", "host": "http://other", "path": "/x", "params": {"query": "up"}}
    }
    page = FetchedPage(
        url="http://a/config", media="application/json", body=json.dumps(config).encode()
    )
    source = {"ref": "platform", "params": {"query": "up", "range": 60, "step": 5}}
    assert compare(made(source=source), page).reason == "InSync"


def test_the_status_is_one_that_the_crd_takes_and_settles_after_one_patch() -> None:
    sync = ConfigSync(
        status="False",
        reason="Drifted",
        message="m" * 5000,
        config={"scoring": {"params": {"name": "cpu"}}},
    )
    observed: dict[str, Any] = {
        "health": after(GOOD),
        "config": sync,
        "scores": Assessment(status="False", reason="NoScores", message="none"),
    }
    status = desired_status(made(), now=1_700_000_000, **observed)
    DynamicScorerStatus.model_validate(status)
    assert status["observedGeneration"] == 3
    assert status["conditions"][0]["lastTransitionTime"] == "2023-11-14T22:13:20Z"
    again = made(status=status)
    assert patch(again.status, desired_status(again, now=1_800_000_000, **observed)) == {}
    unreachable = ConfigSync(status="Unknown", reason="Unreachable", message="no answer")
    later = desired_status(again, now=1_800_000_000, **{**observed, "config": unreachable})
    assert later["lastSyncedConfig"] == status["lastSyncedConfig"]
    assert later["conditions"][1]["lastTransitionTime"] == "2027-01-15T08:00:00Z"
    assert later["conditions"][0]["lastTransitionTime"] == "2023-11-14T22:13:20Z"
    without = desired_status(again, now=0, **{**observed, "config": None})
    assert patch(again.status, without)["lastSyncedConfig"] is None


@pytest.mark.parametrize(
    ("scored", "health"), [("True", "Active"), ("False", "Inactive"), ("Unknown", "Unknown")]
)
def test_without_a_scoring_api_the_health_is_that_of_the_scores(scored: str, health: str) -> None:
    """There is nothing to probe, so there is no condition Healthy, also if there was one before."""
    before = made(
        status={"conditions": [{"type": "Healthy", "status": "False"}], "healthStatus": "Inactive"}
    )
    scores = Assessment(status=scored, reason="Why", message="fresh on 1 cluster")
    status = desired_status(before, health=None, config=None, scores=scores, now=0)
    DynamicScorerStatus.model_validate(status)
    assert status["healthStatus"] == health
    assert [(item["type"], item["status"]) for item in status["conditions"]] == [("Scored", scored)]
    assert "no scoring API" in status["conditions"][0]["message"]


OBJECTS = st.dictionaries(
    st.text(max_size=3), JSON_VALUES.filter(lambda value: value is not None), max_size=4
)


@settings(examples(25))
@given(OBJECTS, OBJECTS)
def test_a_patch_leads_from_one_to_the_other(
    before: dict[str, Any], target: dict[str, Any]
) -> None:
    assert without_nulls(merged(before, patch(before, target))) == without_nulls(target)


def without_nulls(value: Any) -> Any:
    return (
        {key: without_nulls(item) for key, item in value.items() if item is not None}
        if isinstance(value, dict)
        else value
    )


def test_the_condition_about_flapping_is_there_with_a_journal_alone() -> None:
    settled = ObjectCondition(
        type="Settled",
        status="False",
        reason="Flapping",
        message="argocd/portal moved back and forth",
    )
    scores = Assessment(status="True", reason="Fresh", message="fresh on 2 clusters")

    def conditions(item: DynamicScorer, settled: ObjectCondition) -> list[tuple[str, str, str]]:
        status = desired_status(
            item, health=None, config=None, scores=scores, now=0.0, flapping=settled
        )
        return [(each["type"], each["status"], each["reason"]) for each in status["conditions"]]

    assert conditions(made(), NO_CONDITION) == [("Scored", "True", "Fresh")]
    assert conditions(made(), settled) == [
        ("Scored", "True", "Fresh"),
        ("Settled", "False", "Flapping"),
    ]
    status = desired_status(
        made(), health=None, config=None, scores=scores, now=0.0, flapping=settled
    )
    before = made(status=status).condition("Settled")
    assert conditions(made(), before) == conditions(made(), settled), "what the leader before wrote"
