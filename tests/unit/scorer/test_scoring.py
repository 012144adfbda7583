"""What callers of a scoring API get for good requests."""

import asyncio
import math
import threading
from collections.abc import Iterator
from fractions import Fraction
from statistics import fmean
from typing import Any

import msgspec
import pytest

from dsf_scorer import Score, Series, batch_scorer, scorer
from dsf_scorer.testing import ask, send, series
from dsf_wire.scoring import ScorerConfig


@scorer(name="mean", query="up", range_seconds=3600, step_seconds=60, interval_seconds=30)
def mean(one: Series) -> float | None:
    """Mean of the
    samples.

    More about it.
    """
    return fmean(one.values) if one.values else None


def test_each_result_carries_the_labels_of_its_series() -> None:
    reply = ask(mean, [series([1, 2, 3], node="a"), series([10], node="b", pod="p")])
    assert reply.results == [Score({"node": "a"}, 2.0), Score({"node": "b", "pod": "p"}, 10.0)]
    assert reply.headers["content-type"] == "application/json"


def test_samples_arrive_as_doubles_with_their_times() -> None:
    seen: list[Series] = []

    @scorer(name="seen", interval_seconds=60)
    def app(one: Series) -> None:
        seen.append(one)

    data = [
        {
            "metric": {"__name__": "up"},
            "values": [[1.5, "NaN"], [2, "+Inf"], [3, "-Inf"], [4, "1e400"], [5, "-0.25"]],
        }
    ]
    assert ask(app, data).results == []
    assert list(seen[0].timestamps) == [1.5, 2, 3, 4, 5]
    assert math.isnan(seen[0].values[0])
    assert list(seen[0].values[1:]) == [math.inf, -math.inf, math.inf, -0.25]
    assert (seen[0].name, seen[0].last) == ("up", -0.25)
    assert memoryview(seen[0].values).format == "d", "NumPy can share the memory"
    finite = seen[0].finite()
    assert (list(finite.timestamps), list(finite.values)) == ([5.0], [-0.25])
    assert finite.finite() is finite


def test_scores_that_are_not_finite_are_dropped_and_counted() -> None:
    @scorer(name="odd", interval_seconds=60)
    def app(one: Series) -> float | None:
        return one.last

    data = [series([math.nan], node="a"), series([math.inf], node="b"), series([1], node="c")]
    assert ask(app, data).results == [Score({"node": "c"}, 1.0)]
    metrics = send(app, "GET", "/metrics").body.decode()
    assert 'dsf_scorer_dropped_results_total{score_name="odd"} 2.0' in metrics
    assert 'dsf_scorer_results_total{score_name="odd"} 1.0' in metrics
    assert 'dsf_scorer_series_total{score_name="odd"} 3.0' in metrics


def test_integers_and_other_real_numbers_are_scores() -> None:
    @batch_scorer(name="numbers", interval_seconds=60)
    def app(found: list[Series]) -> list[Any]:
        return [Score({}, 3), Score({}, Fraction(1, 2)), Score({}, 10**400)]  # type: ignore[arg-type]

    assert ask(app).scores == [3.0, 0.5]


def test_a_batch_scorer_sees_all_series_and_may_be_a_generator() -> None:
    @batch_scorer(name="ratio", query="a; b", step_seconds=60, interval_seconds=60)
    def app(found: list[Series]) -> Iterator[Score]:
        yield Score({"meta": "ratio"}, found[0].values[-1] / found[1].values[-1])

    assert ask(app, [series([6]), series([4])]).results == [Score({"meta": "ratio"}, 1.5)]


def test_async_functions_run_on_the_event_loop() -> None:
    threads: set[threading.Thread] = set()

    @scorer(name="async", interval_seconds=60)
    async def each(one: Series) -> float | None:
        await asyncio.sleep(0)
        threads.add(threading.current_thread())
        return one.last

    @batch_scorer(name="async-batch", interval_seconds=60)
    async def batch(found: list[Series]) -> list[Score]:
        await asyncio.sleep(0)
        threads.add(threading.current_thread())
        return [Score({}, len(found))]

    assert ask(each, [series([5], node="a")]).results == [Score({"node": "a"}, 5.0)]
    assert ask(batch, [series([5]), series([6])]).scores == [2.0]
    assert threads == {threading.main_thread()}


def test_config_says_what_the_decorator_said() -> None:
    reply = send(mean, "GET", "/config")
    assert reply.headers["content-type"] == "application/json"
    assert msgspec.json.decode(reply.body) == {
        "name": "mean",
        "description": "Mean of the samples.",
        "source": {
            "type": "Prometheus",
            "host": "",
            "path": "",
            "params": {"query": "up", "range": 3600, "step": 60},
        },
        "scoring": {"host": "", "path": "/scoring", "params": {"name": "mean", "interval": 30}},
    }


def test_without_a_query_no_metric_source_is_asked() -> None:
    @batch_scorer(name="fixed", interval_seconds=600, description="Given")
    def app(found: list[Series]) -> list[Score]:
        return []

    config = msgspec.json.decode(send(app, "GET", "/config").body, type=ScorerConfig)
    assert (config.source.type, config.description) == ("None", "Given")


@pytest.mark.parametrize("path", ["/healthz", "/config", "/metrics"])
def test_head_is_answered_where_get_is(path: str) -> None:
    assert send(mean, "HEAD", path).status == 200


@pytest.mark.parametrize("path", ["/apis/mean/scoring", "/scoring"])
def test_it_can_be_mounted_below_a_prefix(path: str) -> None:
    """Servers differ: ASGI 3 says that path includes root_path, older ones leave it out."""
    body = msgspec.json.encode({"data": [series([2])]})
    reply = send(mean, "POST", path, body=body, root_path="/apis/mean")
    assert reply.scores == [2.0]
    config = msgspec.json.decode(
        send(mean, "GET", "/config", root_path="/apis/mean").body, type=ScorerConfig
    )
    assert config.scoring.path == "/apis/mean/scoring"


def test_requests_are_counted_by_status() -> None:
    @scorer(name="counted", interval_seconds=60)
    def app(one: Series) -> float | None:
        return one.last

    ask(app, [])
    send(app, "POST", "/scoring", body=b"no")
    metrics = send(app, "GET", "/metrics")
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = metrics.body.decode()
    assert 'dsf_scorer_requests_total{code="200",score_name="counted"} 1.0' in text
    assert 'dsf_scorer_requests_total{code="400",score_name="counted"} 1.0' in text
    assert 'dsf_scorer_request_seconds_count{score_name="counted"} 2.0' in text
    assert 'dsf_scorer_requests_in_progress{score_name="counted"} 0.0' in text
