"""When the agent must call: on the beat of its scorer, which virtual time makes exact."""

from collections.abc import Sequence
from typing import Final

from dsf_agent.schedule.grid import Grid, stable_fraction
from tests.support.agent.http import Seen

SLACK_SECONDS: Final = 0.1
"""How far from its beat a call may be: `until` moves the clock by a little while an answer is under way."""


def beat(name: str, *, cluster: str = "c1", interval: float = 1) -> Grid:
    """When the entry of this name runs (tests.support.agent.configmap), but for its first run, as
    docs/agent.md has it.
    """
    return Grid(interval=interval, phase=interval * stable_fraction(cluster, f"{name}-score", "phase"))


def keeps(calls: Sequence[Seen], *, grid: Grid, least: int = 1) -> None:
    """AssertionError unless every beat from the first call to the last has exactly one call, and there are
    more than `least`.
    """
    times = [call.at for call in calls]
    assert len(times) > least, times
    first = round((times[0] - grid.phase) / grid.interval)
    due = [grid.phase + (first + index) * grid.interval for index in range(len(times))]
    assert all(abs(at - on) <= SLACK_SECONDS for at, on in zip(times, due, strict=True)), (
        f"called at {times}, the beats were {due}"
    )
