"""Raw scores to published values: aggregation, linear map, clamp, floor."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_wire.scorevalue import Aggregation, Mapped, aggregate, default_items, map_score
from dsf_wire.summary import ScoreRange, ScorerSummary

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def _range(low: float, high: float, first: int = 1, last: int = 100) -> ScoreRange:
    return ScoreRange(min=low, max=high, output_min=first, output_max=last)


@pytest.mark.parametrize(
    ("how", "value"),
    [
        (Aggregation.LAST, 2.0),
        (Aggregation.MEAN, 3.0),
        (Aggregation.MIN, 1.0),
        (Aggregation.MAX, 6.0),
        (Aggregation.SUM, 9.0),
    ],
)
def test_aggregate(how: Aggregation, value: float) -> None:
    assert aggregate([6.0, 1.0, 2.0], how) == value


def test_an_overflowing_sum_is_infinite() -> None:
    """No exception: the caller drops what is not finite."""
    assert aggregate([1e308, 1e308], Aggregation.SUM) == math.inf


@pytest.mark.parametrize(
    ("raw", "value", "clamped"),
    [
        (1.9, 1, False),
        (-1.1, -2, False),
        (100.0, 100, False),
        (100.5, 100, True),
        (-100.1, -100, True),
        (1e300, 100, True),
        (-0.0, 0, False),
    ],
)
def test_without_a_range(raw: float, value: int, *, clamped: bool) -> None:
    """Floor, not truncation, and the bounds of AddOnPlacementScore."""
    assert map_score(raw, None) == Mapped(value=value, clamped=clamped)


@pytest.mark.parametrize(
    ("raw", "score_range", "value", "clamped"),
    [
        (0.0, _range(0, 1), 1, False),
        (1.0, _range(0, 1), 100, False),
        (0.5, _range(0, 1), 50, False),
        (-5.0, _range(0, 1), 1, True),
        (5.0, _range(0, 1), 100, True),
        (0.0, _range(0, 10, 100, 0), 100, False),
        (10.0, _range(0, 10, 100, 0), 0, False),
        (2.5, _range(0, 10, 100, 0), 75, False),
        (3.0, _range(0, 10, 100, 0), 70, False),
        (11.0, _range(0, 10, 100, 0), 0, True),
        (0.1, _range(0, 1, 0, 100), 10, False),
        (1e308, _range(-1e308, 1e308), 100, False),
    ],
)
def test_with_a_range(raw: float, score_range: ScoreRange, value: int, *, clamped: bool) -> None:
    """Linear, lower is better for turned outputs, exact at the ends and round numbers."""
    mapped = map_score(raw, score_range)
    assert mapped.value == value
    assert mapped.clamped == clamped or abs(score_range.min) > 1e300


@given(
    FINITE,
    st.none()
    | st.builds(
        _range,
        st.floats(-1e9, -1.0),
        st.floats(0.0, 1e9),
        st.integers(-100, 100),
        st.integers(-100, 100),
    ),
)
def test_the_value_is_always_publishable(raw: float, score_range: ScoreRange | None) -> None:
    value = map_score(raw, score_range).value
    assert type(value) is int
    assert -100 <= value <= 100
    if score_range is not None:
        low, high = sorted((score_range.output_min, score_range.output_max))
        assert low <= value <= high


@given(FINITE, FINITE)
def test_the_map_is_monotone(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert map_score(low, _range(-10, 10)).value <= map_score(high, _range(-10, 10)).value


@pytest.mark.parametrize("raw", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_an_error(raw: float) -> None:
    with pytest.raises(ValueError, match="cannot be mapped"):
        map_score(raw, None)


def test_a_range_as_wide_as_floats_are_gives_its_limits() -> None:
    """Where the quotient is not a number any more, the limit on that side counts."""
    widest = _range(-1e308, 1e308)
    assert map_score(-1.79e308, widest).value == 1
    assert map_score(1.79e308, widest).value == 100


def test_the_default_score_is_an_item_named_without_labels() -> None:
    scorer = ScorerSummary(
        name="s",
        score_name="cpu",
        default_score=7,
        score_dimension_format="${scoreName}@${cluster}",
    )
    assert default_items(scorer, cluster="c1") == {"cpu@c1": 7}
