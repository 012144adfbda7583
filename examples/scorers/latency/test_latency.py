from typing import Any

import pytest
from latency import app

from dsf_scorer.testing import ask, series


def probe(endpoint: str, *, seconds: list[float], success: list[float]) -> list[dict[str, Any]]:
    return [
        series(seconds, instance=endpoint, meta="seconds"),
        series(success, instance=endpoint, meta="success"),
    ]


def test_the_mean_of_the_endpoints_in_milliseconds() -> None:
    data = probe("a", seconds=[0.1, 0.3], success=[1, 1]) + probe("b", seconds=[0.4], success=[1])
    assert ask(app, data).scores == [pytest.approx(300.0)]


def test_weights_count() -> None:
    data = probe("a", seconds=[0.1], success=[1]) + probe("b", seconds=[0.4], success=[1])
    assert ask(app, data, arguments={"weights": {"a": 2, "b": 1}}).scores == [pytest.approx(200.0)]
    assert ask(app, data, arguments={"weights": {"b": 0}}).scores == [pytest.approx(100.0)]


def test_failed_probes_count_as_the_timeout() -> None:
    """A probe that fails at once is fast, and worthless."""
    data = probe("a", seconds=[0.0, 0.0], success=[0, 1])
    assert ask(app, data, arguments={"timeoutSeconds": 4}).scores == [pytest.approx(2000.0)]


def test_an_endpoint_without_durations_counts_as_the_timeout() -> None:
    assert ask(
        app, [series([1], instance="a", meta="success")], arguments={"timeoutSeconds": 4}
    ).scores == [pytest.approx(4000.0)]


def test_without_probes_there_is_no_score() -> None:
    assert ask(app, []).scores == []
    assert ask(app, [series([1], instance="a")]).scores == []
