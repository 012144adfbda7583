"""Stickiness in points to OCM's weights, and back by the scheduler's own sum."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.resolve.stickiness import Weights, choose, nearest


@pytest.mark.parametrize(
    ("points", "weights", "expected"),
    [
        (0, [1], Weights(factor=1, steady=0)),
        (10, [1], Weights(factor=10, steady=1)),
        (20, [1], Weights(factor=5, steady=1)),
        (25, [1], Weights(factor=4, steady=1)),
        (100, [1], Weights(factor=1, steady=1)),
        (30, [1], Weights(factor=10, steady=3)),
        (20, [-1], Weights(factor=5, steady=1)),
        (20, [10], Weights(factor=1, steady=2)),
        (50, [1, 1], Weights(factor=1, steady=1)),
        (15, [1], None),
        (1, [1], None),
        (20, [0], None),
    ],
)
def test_known_answers(points: int, weights: list[int], expected: Weights | None) -> None:
    assert choose(points, weights) == expected


def test_the_nearest_values_can_be_expressed() -> None:
    assert nearest(15, [1]) == [10, 20]
    assert nearest(3, [1]) == [0, 10]
    assert nearest(5000, [1]) == [1000]


@given(points=st.integers(1, 1000), weight=st.integers(-10, 10).filter(bool))
def test_exactly_that_many_points_move_a_workload(points: int, weight: int) -> None:
    """In OCM's sum the incumbent has Steady's 100 points; a lead of `points` makes the two
    equal.
    """
    found = choose(points, [weight])
    if found is None:
        assert all(choose(value, [weight]) is not None for value in nearest(points, [weight]))
        return
    assert abs(found.factor * weight) <= 10
    assert 1 <= found.steady <= 10
    incumbent, challenger = 100 * found.steady, abs(found.factor * weight) * points
    assert incumbent == challenger
