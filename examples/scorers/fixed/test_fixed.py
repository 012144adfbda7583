from fixed import app

from dsf_scorer import Score
from dsf_scorer.testing import ask


def test_each_value_is_a_dimension() -> None:
    reply = ask(app, arguments={"scores": {"region": 80, "green-energy": 12.5}})
    assert reply.results == [Score({"meta": "region"}, 80.0), Score({"meta": "green-energy"}, 12.5)]


def test_a_value_that_is_no_number_is_named() -> None:
    reply = ask(app, arguments={"scores": {"region": "high"}})
    assert reply.status == 422
    assert "`$.arguments.scores[...]`" in reply.error


def test_values_are_required() -> None:
    assert ask(app).status == 422
