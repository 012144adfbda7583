"""promtool's notation of the values of a series."""

import math

import pytest

from gitops_dsf.repository.model.series_values import expand


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", ()),
        ("1 2.5 -3e2 +4", (1, 2.5, -300, 4)),
        ("-2+4x3", (-2, 2, 6, 10)),
        (" 1-2x4", (1, -1, -3, -5, -7)),
        (" 1x4", (1, 1, 1, 1, 1)),
        (" 1 _x3 stale", (1, None, None, None, None)),
        ("_ 5", (None, 5)),
        ("_x0 5", (5,)),
        ("0x2", (0, 0, 0)),
        ("7x0", (7,)),
        ("1e1+1e0x1", (10, 11)),
        ("Inf -inf", (math.inf, -math.inf)),
    ],
)
def test_values_are_those_of_promtool(text: str, values: tuple[float | None, ...]) -> None:
    assert expand(text) == values


def test_steps_are_added_one_by_one() -> None:
    assert expand("0+0.1x3")[3] == 0.1 + 0.1 + 0.1
    assert expand("0+0.1x3")[3] != 0.3


def test_nan_is_a_value() -> None:
    (value,) = expand("NaN")
    assert value is not None
    assert math.isnan(value)
