"""At most one leader at a time, whatever the network does and whatever other clocks say: replicas in virtual time."""

import asyncio
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_dsf.reconciler.hub.api import ApiError
from gitops_dsf.reconciler.lease import Leadership, LeaseLost
from tests.support import virtual_time

DURATION, DEADLINE, RENEW = 15, 10.0, 2.0


@dataclass
class Hub:
    """One Lease with a resourceVersion, as an API server keeps it."""

    item: dict[str, Any] | None = None
    version: int = 0
    claims: list[str] = field(default_factory=list)

    def write(self, item: Mapping[str, Any]) -> bytes:
        self.version += 1
        self.item = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.version)}}
        self.claims.append(item["spec"]["holderIdentity"])
        return msgspec.json.encode(self.item)


@dataclass
class Way:
    """From one replica to the hub: each call takes a while before and after it counts, or is lost on either leg."""

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
        assert self.hub.item is not None
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
    st.one_of(st.none(), st.floats(min_value=0.001, max_value=0.2), st.floats(min_value=0, max_value=14)), min_size=8, max_size=60
)


@settings(max_examples=80, deadline=None)
@given(ways=st.lists(st.tuples(legs, st.floats(min_value=-600, max_value=600)), min_size=2, max_size=3))
def test_two_never_lead_at_once(ways: list[tuple[list[float | None], float]]) -> None:
    async def main() -> None:
        hub, watch = Hub(), Watch()
        tasks = [
            asyncio.create_task(watch.replica(f"replica-{number}", Way(hub=hub, legs=itertools.cycle([*delays, 0.01]), skew=skew)))
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
@settings(max_examples=20, deadline=None)
def test_another_leads_soon_after_one_is_gone_whatever_its_clock_said(skew: float) -> None:
    async def main() -> None:
        hub, watch = Hub(), Watch()
        first = asyncio.create_task(watch.replica("first", Way(hub=hub, legs=itertools.repeat(0.01), skew=skew)))
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
def test_an_answer_that_is_no_lease_leads_nowhere(page: bytes) -> None:
    async def main() -> None:
        clock = asyncio.get_running_loop().time
        lease = Leadership(api=Proxy(page), namespace="hub", identity="one", clock=clock)
        assert not await lease.acquire(patience=30)
        await lease.release()

    virtual_time.run(main())
