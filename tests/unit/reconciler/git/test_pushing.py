"""How often a branch is pushed, in virtual time."""

import asyncio
from itertools import pairwise

import pytest
from prometheus_client import Counter

from gitops_dsf.reconciler.git.clone import keep_pushing
from gitops_dsf.reconciler.git.credentials import GitError


async def test_a_branch_that_cannot_be_pushed_is_tried_ever_more_rarely() -> None:
    """After 10 s, then 20 s, and so on, up to ten minutes. After a success the pauses begin anew."""
    clock, times = asyncio.get_running_loop().time, list[float]()

    async def step() -> str:
        times.append(clock())
        if len(times) == 9:
            return "pushed"
        raise GitError("no")

    outcomes = Counter("pushes", "Of this test.", ["outcome"], registry=None)
    task = asyncio.create_task(keep_pushing(step, seconds=77, outcomes=outcomes, branch="state"))
    await asyncio.sleep(3000)
    task.cancel()
    pauses = [after - before for before, after in pairwise(times)]
    assert pauses[:11] == pytest.approx([10, 20, 40, 80, 160, 320, 600, 600, 77, 10, 20])
