"""The connection pools of a fetcher: as many as it needs, in turn."""

import ssl
from collections import deque

import pytest

from gitops_dsf.sync.fetch import LANES, Fetcher, FetchLimits

PAGE = "http://scorer.example/config"


@pytest.mark.parametrize(("concurrent", "pools"), [(3, 3), (256, LANES)])
async def test_pools_are_opened_when_they_are_needed_and_used_in_turn(
    concurrent: int, pools: int
) -> None:
    async with Fetcher(limits=FetchLimits(concurrent=concurrent)) as fetcher:
        assert not fetcher._lanes
        used = [fetcher._next_lane(PAGE) for _ in range(3 * pools)]
        assert [len(lanes) for lanes in fetcher._lanes.values()] == [pools]
    first = used[:pools]
    assert len(set(map(id, first))) == pools
    assert used == first * 3
    assert all(lane.is_closed for lane in first)


async def test_only_pages_with_https_trust_the_system() -> None:
    async with Fetcher() as fetcher:
        plain = [fetcher._next_lane(PAGE) for _ in range(2)]
        secure = [fetcher._next_lane(url) for url in ("https://a.example", "HTTPS://b.example")]
        by_trust = {trust: list(lanes) for trust, lanes in fetcher._lanes.items()}
    assert list(by_trust.values()) == [plain, secure]
    first, second = by_trust
    assert not first.get_ca_certs()
    assert second.get_ca_certs()
    assert all(lane.is_closed for lane in plain + secure)


async def test_a_given_trust_is_that_of_all_pages() -> None:
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with Fetcher(trust=trust) as fetcher:
        lanes = [fetcher._next_lane(url) for url in (PAGE, "https://a.example")]
        assert dict(fetcher._lanes) == {trust: deque(lanes)}
