"""The connection pools of a fetcher: as many as it needs, in turn."""

import pytest

from gitops_dsf.sync.fetch import LANES, Fetcher, FetchLimits


@pytest.mark.parametrize(("concurrent", "pools"), [(3, 3), (256, LANES)])
async def test_pools_are_opened_when_they_are_needed_and_used_in_turn(
    concurrent: int, pools: int
) -> None:
    async with Fetcher(limits=FetchLimits(concurrent=concurrent)) as fetcher:
        assert not fetcher._lanes
        used = [fetcher._next_lane() for _ in range(3 * pools)]
        assert len(fetcher._lanes) == pools
    first = used[:pools]
    assert len(set(map(id, first))) == pools
    assert used == first * 3
    assert all(lane.is_closed for lane in first)
