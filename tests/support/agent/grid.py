"""When the agent must call: on the grid of its scorer. Virtual time makes this exact."""

from collections.abc import Sequence
from typing import Final

from dsf_agent.schedule.worker import Grid
from dsf_wire.publishrule import stable_fraction
from tests.support.agent.http import RecordedRequest

SLACK_SECONDS: Final = 0.1
"""How far a call may be from its grid point: ``until`` advances the clock a little during an
answer.
"""


def grid_of(name: str) -> Grid:
    """The grid of an entry of tests.support.agent.running. The first cycle does not wait for it."""
    return Grid(interval=1, phase=stable_fraction("c1", f"{name}-score", "phase"))


def assert_on_grid(calls: Sequence[RecordedRequest], *, grid: Grid, least: int) -> None:
    """Fails unless each grid point between the calls has exactly one, more than ``least`` in
    all.
    """
    times = [call.at for call in calls]
    assert len(times) > least, times
    first = round((times[0] - grid.phase) / grid.interval)
    due = [grid.phase + (first + index) * grid.interval for index in range(len(times))]
    assert all(abs(at - on) <= SLACK_SECONDS for at, on in zip(times, due, strict=True)), (
        f"called at {times}, the grid points were {due}"
    )
