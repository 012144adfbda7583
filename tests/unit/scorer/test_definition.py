"""Mistakes of authors show on import, all of them at once."""

from typing import Any

import pytest

from dsf_scorer import DefinitionError
from dsf_scorer.definition import Definition

GOOD: dict[str, Any] = {
    "name": "cpu",
    "query": "up",
    "range_seconds": 3600,
    "step_seconds": 60,
    "interval_seconds": 60,
}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"range_seconds": 0},
        {"range_seconds": 10_999, "step_seconds": 1},
        {"query": "", "range_seconds": 0, "step_seconds": 0},
        {"path": "/v1/score"},
        {"interval_seconds": 31_536_000},
    ],
)
def test_good_definitions(change: dict[str, Any]) -> None:
    assert Definition(**(GOOD | change)).config().scoring.params.name == "cpu"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"name": " "}, "name is empty"),
        ({"name": "x" * 254}, "name has 254 characters"),
        ({"interval_seconds": 0}, "interval_seconds is 0"),
        ({"interval_seconds": 31_536_001}, "interval_seconds is 31536001"),
        ({"step_seconds": 0}, "step_seconds is 0"),
        ({"range_seconds": -1}, "range_seconds is -1"),
        ({"range_seconds": 11_000, "step_seconds": 1}, "asks for 11001 points"),
        ({"query": " "}, "need a query"),
        ({"path": "scoring"}, "must start with /"),
        ({"path": "/scoring?x=1"}, "neither ? nor #"),
        ({"path": "/metrics"}, "taken by the SDK"),
    ],
)
def test_a_mistake_is_named(change: dict[str, Any], text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Definition(**(GOOD | change))
    assert text in str(caught.value)


def test_all_mistakes_are_named_together() -> None:
    with pytest.raises(DefinitionError) as caught:
        Definition(name="", path="x", query="up", interval_seconds=-1)
    assert str(caught.value).count(";") >= 3
