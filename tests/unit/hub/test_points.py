"""Points of the weighted mean: what a weighted sum is divided by, and how it is written."""

import pytest

from gitops_dsf.hub.intervals import Interval
from gitops_dsf.hub.points import (
    mean_weight,
    points_needed,
    points_of,
    points_range_text,
    points_text,
)
from gitops_dsf.simulator.prioritizers import Prioritizer

CPU = Prioritizer(2, resource="cpu", score="cpu")
NET = Prioritizer(-3, resource="net", score="net")
STEADY = Prioritizer(4, built_in="Steady")
BALANCE = Prioritizer(1, built_in="Balance")
MOVES = Prioritizer(10, resource="gitops-dsf-moves", score="argocd/web")


@pytest.mark.parametrize(
    ("prioritizers", "expected"),
    [
        ([CPU, NET, STEADY], 5),
        ([CPU, BALANCE, STEADY], 3),
        ([CPU, MOVES, STEADY], 2),
        ([STEADY], 1),
        ([], 1),
    ],
)
def test_what_keeps_a_placement_where_it_is_has_no_part_in_the_mean(
    prioritizers: list[Prioritizer], expected: int
) -> None:
    assert mean_weight(prioritizers) == expected


@pytest.mark.parametrize(
    ("total", "weight", "expected"),
    [
        (650, 10, "65"),
        (655, 10, "65.5"),
        (200, 3, "66.67"),
        (-5, 2, "-2.5"),
        (-1, 1000, "0"),
        (0, 3, "0"),
    ],
)
def test_a_mean_has_at_most_two_decimals(total: int, weight: int, expected: str) -> None:
    assert points_text(points_of(total, weight)) == expected


@pytest.mark.parametrize(
    ("total", "weight", "expected"),
    [(251, 10, "25.1"), (61, 3, "20.34"), (1, 1000, "0.01"), (3, 3, "1")],
)
def test_what_is_missing_is_rounded_up(total: int, weight: int, expected: str) -> None:
    assert points_text(points_needed(total, weight)) == expected


@pytest.mark.parametrize(
    ("low", "high", "weight", "words"),
    [
        (61, 66, 1, "61 to 66"),
        (61, 61, 1, "61"),
        (122, 133, 2, "61 to 66.5"),
        (-5, 5, 1, "-5 to 5"),
    ],
)
def test_bounds_of_a_sum_in_points(low: int, high: int, weight: int, words: str) -> None:
    assert points_range_text(Interval(low, high), weight) == words


def test_an_interval_multiplied_by_a_negative_weight_has_its_ends_exchanged() -> None:
    assert Interval(1, 3).times(-2) == Interval(-6, -2)
    assert (Interval(1, 3).middle, Interval(1, 2).middle, Interval(-2, -1).middle) == (2, 1, -2)
