"""When a series looks as if two collectors each push a part of it."""

from math import nan, sin

import pytest

from gitops_dsf.views.doctor.receivers import alternates

STEADY = [float(number) for number in range(20)]


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 9.0] * 4,
        [1.0, 9.0, 1.5, 9.1, 1.4, 9.3, 1.1, 8.9, 1.3, 9.0],
        # Two counters that grow side by side.
        [value for number in range(10) for value in (1000.0 + 10 * number, 5000.0 + 50 * number)],
    ],
)
def test_two_courses_in_one_series_alternate(values: list[float]) -> None:
    assert alternates(values)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [1.0, 9.0] * 3,  # too few
        [5.0] * 20,
        STEADY,
        [*STEADY, *STEADY],  # a counter that started again
        [value for value in STEADY for _ in range(2)],  # the same pushed twice
        [sin(number / 3) for number in range(40)],
        [(number * 7919 % 101) / 101 for number in range(40)],  # noise
        [1.0, 9.0] * 10 + [nan],
    ],
)
def test_other_courses_do_not(values: list[float]) -> None:
    assert not alternates(values)
