"""The scoring ConfigMap: strict writer, tolerant reader."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_wire import summary
from dsf_wire.constants import default_ttl_seconds
from dsf_wire.summary import (
    ConfigMapRef,
    EndpointAuth,
    PublishRule,
    ScoreRange,
    ScorerSummary,
    SummariesError,
)

FULL = ScorerSummary(
    name="n",
    score_name="s",
    scoring_arguments={"b": 1, "a": None},
    score_range=ScoreRange(min=0, max=1, output_min=1, output_max=100),
    score_aggregation="Mean",
    score_ttl_seconds=900,
    publish=PublishRule(deadband=2, min_interval_seconds=60),
    source_auth=EndpointAuth(service_account_token=True),
    scoring_auth=EndpointAuth(ca_config_map_ref=ConfigMapRef(name="ca", key="ca.crt")),
    scoring_type="Query",
    default_score=-5,
)


def test_what_is_written_is_read_back() -> None:
    decoded = summary.decode(summary.encode([FULL, ScorerSummary(name="m", score_name="t")]))
    assert decoded.problems == ()
    assert decoded.summaries == (FULL, ScorerSummary(name="m", score_name="t"))


@given(
    st.lists(
        st.builds(
            ScorerSummary,
            name=st.text(min_size=1),
            score_name=st.text(min_size=1),
            source_query=st.text(),
        ),
        unique_by=lambda one: one.name,
    )
)
def test_any_text_survives(summaries: list[ScorerSummary]) -> None:
    assert list(summary.decode(summary.encode(summaries)).summaries) == summaries


BAD: dict[str, Any] = {
    "a number": 1,
    "null": None,
    "a list": [],
    "no name": {"scoreName": "s"},
    "empty name": {"name": "", "scoreName": "s"},
    "empty score name": {"name": "x", "scoreName": ""},
    "a name that is a number": {"name": 7, "scoreName": "s"},
    "a text for a number": {"name": "x", "scoreName": "s", "scoringInterval": "30"},
    "a turned range": {
        "name": "x",
        "scoreName": "s",
        "scoreRange": {"min": 1, "max": 0, "outputMin": 1, "outputMax": 2},
    },
    "a range of one value": {
        "name": "x",
        "scoreName": "s",
        "scoreRange": {"min": 1, "max": 1, "outputMin": 1, "outputMax": 2},
    },
    "no time to live": {"name": "x", "scoreName": "s", "scoreTTLSeconds": 0},
    "the same name again": {"name": "good", "scoreName": "other"},
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_entry_spoils_no_other(name: str) -> None:
    good = {"name": "good", "scoreName": "s", "unknown": {"x": 1}, "location": None}
    decoded = summary.decode(json.dumps([good, BAD[name], {"name": "last", "scoreName": "t"}]))
    assert [one.name for one in decoded.summaries] == ["good", "last"]
    assert [problem.index for problem in decoded.problems] == [1]
    assert decoded.problems[0].reason
    entry = BAD[name]
    called = entry.get("name", "") if isinstance(entry, dict) else ""
    assert decoded.problems[0].name == (called if isinstance(called, str) else "")


@pytest.mark.parametrize("value", ["1e999", "-1e999", "[" * 900 + "]" * 900])
def test_a_value_that_nothing_can_hold_spoils_no_other_entry(value: str) -> None:
    """Numbers beyond the range of a float are well-formed JSON, and so is deep nesting."""
    odd = '{"name": "odd", "scoreName": "o", "sourceStep": %s}' % value  # noqa: UP031 - braces
    decoded = summary.decode(
        f'[{{"name": "good", "scoreName": "s"}}, {odd}, {{"name": "last", "scoreName": "t"}}]'
    )
    assert [one.name for one in decoded.summaries] == ["good", "last"]
    assert [problem.index for problem in decoded.problems] == [1]
    assert decoded.problems[0].reason


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "null",
        "[",
        "[1] x",
        '"[]"',
        b"\xff",
        b'["\xff"]',
        b'[{"name": "\xe9"}]',
        "[" * 100_000,
        "NaN",
    ],
)
def test_what_is_no_list_as_a_whole(text: str | bytes) -> None:
    with pytest.raises(SummariesError):
        summary.decode(text)


def test_the_default_time_to_live() -> None:
    assert [default_ttl_seconds(seconds) for seconds in (1, 90, 91, 3600)] == [
        900,
        900,
        910,
        36_000,
    ]
