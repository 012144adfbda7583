"""At most one leader at a time, whatever the network does and whatever other clocks say: replicas in virtual
time.
"""

import asyncio
import itertools
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsf_runtime.apiserver import ApiError
from gitops_dsf.reconciler.lease import Leadership, LeaseLost
from tests.support import virtual_time
from tests.support.laws import examples

DURATION, DEADLINE, RENEW = 15, 12.0, 2.0
"""As the reconciler has them by default."""


@dataclass
class Hub:
    """One Lease with a resourceVersion, as an API server keeps it."""

    item: dict[str, Any] | None = None
    version: int = 0
    claims: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """Of the claims."""

    def write(self, item: Mapping[str, Any]) -> bytes:
        self.version += 1
        self.item = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.version)}}
        self.claims.append(item["spec"]["holderIdentity"])
        self.times.append(asyncio.get_running_loop().time())
        return msgspec.json.encode(self.item)


@dataclass
class Way:
    """From one replica to the hub: each call takes a while before and after it counts, or is lost on either
    leg.
    """

    hub: Hub
    legs: Any
    skew: float = 0.0

    async def get(self, _path: str, /) -> bytes:
        await self._leg()
        if self.hub.item is None:
            raise ApiError("no lease", status=404)
        answer = msgspec.json.encode(self.hub.item)
        await self._leg()
        return answer

    async def create(self, _path: str, item: Mapping[str, Any], /) -> bytes:
        await self._leg()
        if self.hub.item is not None:
            raise ApiError("exists", status=409)
        answer = self.hub.write(self._skewed(item))
        await self._leg()
        return answer

    async def replace(self, _path: str, item: Mapping[str, Any], /) -> bytes:
        await self._leg()
        if self.hub.item is None:
            raise ApiError("not found", status=404)
        if item["metadata"]["resourceVersion"] != self.hub.item["metadata"]["resourceVersion"]:
            raise ApiError("changed", status=409)
        answer = self.hub.write(self._skewed(item))
        await self._leg()
        return answer

    def _skewed(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """renewTime by a clock that is wrong; it must differ each time and mean nothing else."""
        now = asyncio.get_running_loop().time() + self.skew
        return {**item, "spec": {**item["spec"], "renewTime": f"{now:.6f}"}}

    async def _leg(self) -> None:
        seconds = next(self.legs)
        if seconds is None:
            await asyncio.sleep(1)
            raise ApiError("the hub does not answer")
        await asyncio.sleep(seconds)


@dataclass
class Watch:
    """Who leads, as the replicas themselves think."""

    leading: set[str] = field(default_factory=set)
    terms: int = 0

    async def replica(self, name: str, way: Way) -> None:
        lease = Leadership(
            api=way,
            namespace="hub",
            identity=name,
            duration=DURATION,
            deadline=DEADLINE,
            renew=RENEW,
            clock=asyncio.get_running_loop().time,
        )
        while True:
            await lease.acquire()
            self.leading.add(name)
            self.terms += 1
            assert len(self.leading) == 1, f"{self.leading} lead at once"
            try:
                await lease.keep()
            except LeaseLost:
                pass
            finally:
                self.leading.discard(name)


legs = st.lists(
    st.one_of(st.none(), st.floats(min_value=0.001, max_value=0.2), st.floats(min_value=0, max_value=14)),
    min_size=8,
    max_size=60,
)


@settings(examples(15))
@given(ways=st.lists(st.tuples(legs, st.floats(min_value=-600, max_value=600)), min_size=2, max_size=3))
def test_two_never_lead_at_once(ways: list[tuple[list[float | None], float]]) -> None:
    async def main() -> None:
        hub, watch = Hub(), Watch()
        tasks = [
            asyncio.create_task(
                watch.replica(
                    f"replica-{number}", Way(hub=hub, legs=itertools.cycle([*delays, 0.01]), skew=skew)
                )
            )
            for number, (delays, skew) in enumerate(ways)
        ]
        done, _ = await asyncio.wait(tasks, timeout=900)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()

    virtual_time.run(main())


@given(skew=st.floats(min_value=-600, max_value=600))
@settings(examples(10))
def test_another_leads_soon_after_one_is_gone_whatever_its_clock_said(skew: float) -> None:
    async def main() -> None:
        hub, watch = Hub(), Watch()
        first = asyncio.create_task(
            watch.replica("first", Way(hub=hub, legs=itertools.repeat(0.01), skew=skew))
        )
        await asyncio.sleep(60)
        second = asyncio.create_task(watch.replica("second", Way(hub=hub, legs=itertools.repeat(0.01))))
        await asyncio.sleep(60)
        assert watch.leading == {"first"}, "a healthy leader is left alone"
        first.cancel()
        await asyncio.sleep(DURATION + 2 * RENEW)
        assert watch.leading == {"second"}
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)

    virtual_time.run(main())


class Proxy:
    """Something between a replica and the hub that answers 200 and a page of its own."""

    def __init__(self, page: bytes) -> None:
        self.page = page

    async def get(self, _path: str, /) -> bytes:
        return self.page

    async def create(self, _path: str, _item: Mapping[str, Any], /) -> bytes:
        raise AssertionError("nothing says that there is no lease")

    replace = create


@pytest.mark.parametrize("page", [b"<html>Sign in</html>", b"[]", b'{"spec": "none"}', b""])
async def test_an_answer_that_is_no_lease_leads_nowhere(page: bytes) -> None:
    clock = asyncio.get_running_loop().time
    lease = Leadership(api=Proxy(page), namespace="hub", identity="one", clock=clock)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(30):
            await lease.acquire()
    assert not lease.is_leader
    await lease.release()


def replica(name: str, hub: Hub, *, leg: float = 0.01) -> Leadership:
    """With the default durations, in virtual time."""
    way = Way(hub=hub, legs=itertools.repeat(leg))
    return Leadership(api=way, namespace="hub", identity=name, clock=asyncio.get_running_loop().time)


async def test_a_lease_is_not_taken_before_its_whole_duration_has_passed_since_its_last_renewal() -> None:
    clock, hub = asyncio.get_running_loop().time, Hub()
    first, second = replica("first", hub), replica("second", hub)
    await first.acquire()
    keep = asyncio.create_task(first.keep())
    waiting = asyncio.create_task(second.acquire())
    await asyncio.sleep(20)
    keep.cancel()
    await asyncio.gather(keep, return_exceptions=True)
    renewed = max(at for at, holder in zip(hub.times, hub.claims, strict=True) if holder == "first")
    await waiting
    assert second.is_leader
    assert DURATION <= clock() - renewed <= DURATION + 2 * RENEW


@pytest.mark.parametrize("seconds", [1.0, 3.0, 3.8])
async def test_it_leads_and_goes_on_leading_when_the_hub_takes_long_for_each_answer(seconds: float) -> None:
    hub = Hub()
    lease = replica("slow", hub, leg=seconds / 2)
    async with asyncio.timeout(30):
        await lease.acquire()
    keep = asyncio.create_task(lease.keep())
    for _ in range(600):
        await asyncio.sleep(1)
        assert lease.left() > 0
    assert not keep.done()
    keep.cancel()
    await asyncio.gather(keep, return_exceptions=True)


async def test_nobody_leads_when_the_hub_takes_longer_for_each_answer_than_a_third_of_the_deadline(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Too little would be left of a claim to do anything with it."""
    caplog.set_level(logging.INFO)

    hub = Hub()
    lease = replica("slow", hub, leg=4.2 / 2)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(600):
            await lease.acquire()
    assert not lease.is_leader
    assert lease.left() <= 0
    assert caplog.messages == ["not leading: the hub takes more than 4 s to answer"]


async def test_a_renewal_whose_answer_was_lost_costs_no_leadership() -> None:
    hub = Hub()
    lost: list[float | None] = [0.01] * 4 + [0.01, None] + [0.01] * 1000
    way = Way(hub=hub, legs=iter(lost))
    lease = Leadership(api=way, namespace="hub", identity="one", clock=asyncio.get_running_loop().time)
    await lease.acquire()
    keep = asyncio.create_task(lease.keep())
    await asyncio.sleep(60)
    assert not keep.done()
    keep.cancel()
    await asyncio.gather(keep, return_exceptions=True)


async def test_nothing_is_left_of_a_claim_that_was_never_made_or_is_over() -> None:
    hub = Hub()
    lease = replica("one", hub)
    assert lease.left() <= 0
    await lease.acquire()
    assert lease.left() == pytest.approx(DEADLINE, abs=0.1)
    await asyncio.sleep(DEADLINE)
    assert lease.left() <= 0, "as after a process was stopped"
    keep = asyncio.create_task(lease.keep())
    await asyncio.sleep(5)
    assert lease.left() > 0
    keep.cancel()
    await asyncio.gather(keep, return_exceptions=True)
    assert lease.left() == 0
