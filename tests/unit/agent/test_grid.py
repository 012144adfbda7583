"""The grid of cycles."""

from hypothesis import given
from hypothesis import strategies as st

from dsf_agent.schedule.worker import Grid


@given(st.floats(1, 1e5), st.floats(0, 1), st.floats(0, 1e7), st.floats(0, 1e5))
def test_the_next_run_is_on_the_grid_and_in_the_future(
    interval: float, part: float, now: float, least: float
) -> None:
    """Without drift: the phase plus whole intervals, not early, and at most one interval late."""
    grid = Grid(interval=interval, phase=part * interval)
    due_at = grid.next(after=now, least=least)
    assert now + least - 1e-6 <= due_at <= now + least + interval * 1.000001
    steps = (due_at - grid.phase) / interval
    assert abs(steps - round(steps)) < 1e-6
