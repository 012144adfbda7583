import math

import pytest
from headroom_forecast import app

from dsf_scorer.testing import ask, series

METHODS = ["LeastSquares", "Holt"]


@pytest.mark.parametrize("method", METHODS)
def test_a_line_is_carried_on(method: str) -> None:
    """One percent a minute from 10 to 39: 30 minutes later it is 69, so 31 are free."""
    rising = series([10 + minute for minute in range(30)])
    score = ask(app, [rising], arguments={"method": method, "horizonSeconds": 1800}).scores[0]
    assert math.isclose(score, 31.0, abs_tol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("slope", "expected"), [(5, 0.0), (-5, 100.0)])
def test_it_stays_within_its_range(method: str, slope: int, expected: float) -> None:
    steep = series([50 + slope * minute for minute in range(-5, 5)])
    assert ask(app, [steep], arguments={"method": method}).scores == [expected]


@pytest.mark.parametrize("method", METHODS)
def test_a_flat_load_stays(method: str) -> None:
    assert ask(app, [series([40] * 20)], arguments={"method": method}).scores == [60.0]


def test_holt_follows_a_turn_that_least_squares_averages_away() -> None:
    turned = series([20] * 40 + [20 + 2 * minute for minute in range(10)])
    holt, line = (
        ask(app, [turned], arguments={"method": method, "horizonSeconds": 600}).scores[0]
        for method in reversed(METHODS)
    )
    assert holt < line


def test_two_samples_are_no_trend() -> None:
    assert ask(app, [series([10, 20]), series([1, float("nan"), 3])]).scores == []


def test_a_misspelt_argument_is_named() -> None:
    reply = ask(app, [], arguments={"horizon": 60})
    assert reply.status == 422
    assert "unknown field `horizon`" in reply.error
