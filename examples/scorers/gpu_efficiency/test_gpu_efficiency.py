from typing import Any

from gpu_efficiency import app

from dsf_scorer import Score
from dsf_scorer.testing import ask, series


def node(name: str, *, tokens: list[float], watts: list[float]) -> list[dict[str, Any]]:
    return [series(tokens, node=name, meta="throughput"), series(watts, node=name, meta="power")]


def test_tokens_per_second_by_watt_are_tokens_per_joule() -> None:
    data = node("b", tokens=[1000, 2000], watts=[300, 300]) + node("a", tokens=[600], watts=[300])
    assert ask(app, data).results == [Score({"node": "a"}, 2.0), Score({"node": "b"}, 5.0)]


def test_a_node_that_sleeps_has_no_score() -> None:
    assert ask(app, node("a", tokens=[0], watts=[5])).scores == []
    assert ask(app, node("a", tokens=[10], watts=[5]), arguments={"minWatts": 5}).scores == [2.0]


def test_an_idle_node_that_draws_power_is_the_worst() -> None:
    assert ask(app, node("a", tokens=[0], watts=[80])).scores == [0.0]


def test_one_metric_alone_is_no_score() -> None:
    assert ask(app, [series([100], node="a", meta="power")]).scores == []
    assert ask(app, node("a", tokens=[100], watts=[float("nan")])).scores == []
