"""Intervals of raw and published scores.

They are compared with the functions by which the agent maps and writes.
"""

import math

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dsf_wire.publishrule import PublishedItems, PublishSettings, changed, decide
from dsf_wire.scorevalue import map_score
from dsf_wire.summary import ScoreRange
from gitops_dsf.hub.intervals import Interval
from gitops_dsf.resolve.score_intervals import (
    RawInterval,
    mapped,
    outputs,
    published_next,
    raw_scores,
    within_deadband,
)

ENDS = st.integers(-100, 100)


def scale(low: float, high: float, first: int, last: int) -> ScoreRange:
    return ScoreRange(min=low, max=high, output_min=first, output_max=last)


@st.composite
def maps(draw: st.DrawFn) -> ScoreRange | None:
    """Any map that the wire accepts, or none: rising, falling, constant, of any width."""
    if draw(st.booleans()):
        low = draw(st.sampled_from([-1e308, -7.0, 0.0, 0.1, 1.0, 1e9]))
        high = low + draw(st.sampled_from([5e-324, 1e-9, 0.3, 1.0, 99.0, 1e12, 1e308]))
    else:
        low = draw(st.floats(allow_nan=False, allow_infinity=False))
        high = draw(st.floats(allow_nan=False, allow_infinity=False))
    assume(low < high < math.inf)
    if draw(st.integers(0, 9)) == 0:
        return None
    return scale(low, high, draw(ENDS), draw(ENDS))


@st.composite
def raws(draw: st.DrawFn, score_range: ScoreRange | None) -> float:
    """A finite raw score, mostly where the map has steps."""
    if score_range is None or draw(st.booleans()):
        narrow = st.floats(-120, 120)
        wide = st.floats(allow_nan=False, allow_infinity=False)
        return draw(narrow | wide)
    share = draw(st.floats(-0.2, 1.2) | st.integers(-1, 101).map(lambda number: number / 100))
    raw = score_range.min + share * (score_range.max - score_range.min)
    assume(math.isfinite(raw))
    return draw(st.sampled_from([raw, math.nextafter(raw, -1e308), math.nextafter(raw, 1e308)]))


@given(st.data())
def test_the_interval_of_a_score_holds_exactly_the_raw_scores_of_it(data: st.DataObject) -> None:
    score_range = data.draw(maps())
    raw = data.draw(raws(score_range))
    low = data.draw(ENDS)
    scores = Interval(low, data.draw(st.integers(low, 100)))
    found = raw_scores(scores, score_range)
    is_inside = found is not None and found.low <= raw <= found.high
    assert is_inside == scores.holds(map_score(raw, score_range).value)


@given(st.data())
def test_the_ends_of_an_interval_are_reached_and_nothing_is_beyond(data: st.DataObject) -> None:
    """What follows from a raw interval is neither too narrow nor too wide."""
    score_range = data.draw(maps())
    first, raw, last = sorted(data.draw(raws(score_range)) for _ in range(3))
    found = mapped(RawInterval(first, last), score_range)
    assert found.holds(map_score(raw, score_range).value)
    ends = {map_score(first, score_range).value, map_score(last, score_range).value}
    assert ends == {found.low, found.high}


@pytest.mark.parametrize(
    ("score", "score_range", "low", "high"),
    [
        (50, scale(0, 100, 0, 100), 50.0, math.nextafter(51.0, 0)),
        (50, scale(0, 100, 100, 0), math.nextafter(49.0, 100), 50.0),
        # 0.0049999999999999996 is rounded up on its way, so the formula's inverse, 0.005, is too
        # high.
        (-100, scale(0, 1, -100, 100), -1.7976931348623157e308, 0.004999999999999964),
        (100, scale(0, 1, -100, 100), 1.0, 1.7976931348623157e308),
        (7, None, 7.0, math.nextafter(8.0, 0)),
        (-100, None, -1.7976931348623157e308, math.nextafter(-99.0, -100)),
        (100, None, 100.0, 1.7976931348623157e308),
        (5, scale(0, 1, 5, 5), -1.7976931348623157e308, 1.7976931348623157e308),
    ],
)
def test_raw_scores_of_one_published_score(
    score: int, score_range: ScoreRange | None, low: float, high: float
) -> None:
    """Within the outputs a step; at an end of them open to that side, because the agent clamps."""
    assert raw_scores(Interval(score, score), score_range) == RawInterval(low, high)


@pytest.mark.parametrize("score", [0, 91, -1, 101])
def test_no_raw_score_gives_what_is_beyond_the_outputs(score: int) -> None:
    assert raw_scores(Interval(score, score), scale(0, 1, 1, 90)) is None


def test_a_map_in_wide_steps_leaves_scores_out() -> None:
    """Outputs 0 and 1 only: the top score is reached by the clamp alone."""
    narrow = scale(0, 1, 0, 1)
    assert raw_scores(Interval(0, 0), narrow) == RawInterval(
        -1.7976931348623157e308, math.nextafter(1.0, 0)
    )
    assert raw_scores(Interval(1, 1), narrow) == RawInterval(1.0, 1.7976931348623157e308)
    assert outputs(narrow) == Interval(0, 1)
    assert outputs(None) == Interval(-100, 100)


@given(
    present=ENDS, low=ENDS, width=st.integers(0, 9), deadband=st.integers(0, 9), step=st.integers(0)
)
@example(present=60, low=61, width=0, deadband=2, step=0)
@example(present=60, low=62, width=0, deadband=2, step=0)
def test_what_is_on_the_hub_next_is_what_the_agent_writes_at_once_or_at_the_refresh(
    present: int, low: int, width: int, deadband: int, step: int
) -> None:
    computed = Interval(low, low + width)
    score = low + step % (width + 1)
    found = published_next(computed, present=present, deadband=deadband)
    rule = PublishSettings(deadband=deadband, min_interval=0, ttl=900, jitter=0)
    before = PublishedItems(values={"cpu": present}, written=1000, valid_until=1900)
    decision = decide({"cpu": score}, before, rule=rule)
    assert found.holds(score), "the refresh writes it in any case"
    assert decision.changed or found.holds(present)


@given(published=ENDS, score=ENDS, deadband=st.integers(0, 9))
def test_within_the_deadband_is_what_the_agent_does_not_write(
    published: int, score: int, deadband: int
) -> None:
    is_written = changed({"cpu": score}, {"cpu": published}, deadband=deadband)
    assert within_deadband(published, deadband=deadband).holds(score) is not is_written
