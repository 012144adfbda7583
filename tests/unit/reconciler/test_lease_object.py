"""What a leader writes into the Lease and how often, and how it takes refusals; in virtual time."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from dsf_runtime.apiserver import ApiError
from gitops_dsf.reconciler.lease import Leadership, LeaseLost
from tests.support import virtual_time

DURATION, DEADLINE, RENEW = 15, 12.0, 2.0


class Store:
    """One Lease with a resourceVersion. `seconds` and `faults` are those of the next requests."""

    def __init__(self) -> None:
        self.item: dict[str, Any] | None = None
        self.created: list[tuple[str, Mapping[str, Any]]] = []
        """Path and body of each Lease that was created."""
        self.specs: list[dict[str, Any]] = []
        """As they were written."""
        self.times: list[float] = []
        self.seconds: list[float] = []
        self.faults: list[int] = []
        self._version = 0

    async def get(self, _path: str, /) -> bytes:
        await self._answer()
        if self.item is None:
            raise ApiError("no lease", status=404)
        return msgspec.json.encode(self.item)

    async def create(self, path: str, item: Mapping[str, Any], /) -> bytes:
        self.created.append((path, item))
        await self._answer()
        if self.item is not None:
            raise ApiError("exists", status=409)
        return self.write(item["spec"])

    async def replace(self, _path: str, item: Mapping[str, Any], /) -> bytes:
        await self._answer()
        if self.item is None:
            raise ApiError("no lease", status=404)
        if item["metadata"]["resourceVersion"] != self.item["metadata"]["resourceVersion"]:
            raise ApiError("changed", status=409)
        return self.write(item["spec"])

    def write(self, spec: Mapping[str, Any]) -> bytes:
        self._version += 1
        self.specs.append({**spec})
        self.times.append(asyncio.get_running_loop().time())
        metadata = {"name": "gitops-dsf-reconciler", "resourceVersion": str(self._version)}
        self.item = {"metadata": metadata, "spec": {**spec}}
        return msgspec.json.encode(self.item)

    async def _answer(self) -> None:
        if self.seconds:
            await asyncio.sleep(self.seconds.pop(0))
        if self.faults and (status := self.faults.pop(0)):
            raise ApiError("refused", status=status)


def lease(store: Any, identity: str = "one") -> Leadership:
    return Leadership(
        api=store,
        namespace="hub",
        identity=identity,
        duration=DURATION,
        deadline=DEADLINE,
        renew=RENEW,
        clock=asyncio.get_running_loop().time,
    )


@asynccontextmanager
async def kept(one: Leadership) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(one.keep())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_each_renewal_says_when_it_was_and_leaves_the_rest() -> None:
    """Others count from the change of renewTime; acquireTime and the transitions tell people since when."""

    store = Store()
    one = lease(store)
    await one.acquire()
    async with kept(one):
        await asyncio.sleep(61)
    first = store.specs[0]
    assert first["holderIdentity"] == "one"
    assert (first["leaseDurationSeconds"], first["leaseTransitions"]) == (DURATION, 0)
    assert len({spec["renewTime"] for spec in store.specs}) == len(store.specs)
    assert all({**spec, "renewTime": first["renewTime"]} == first for spec in store.specs)
    pauses = [after - before for before, after in zip(store.times, store.times[1:], strict=False)]
    assert pauses == pytest.approx([RENEW] * 30, abs=0.01)


async def test_a_lease_that_does_not_exist_is_created_as_a_complete_object() -> None:
    """An API server refuses an object without its kind, version or name."""

    store = Store()
    await lease(store).acquire()
    assert store.created == [
        (
            "/apis/coordination.k8s.io/v1/namespaces/hub/leases",
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": "gitops-dsf-reconciler"},
                "spec": store.specs[0],
            },
        )
    ]


async def test_a_new_holder_is_one_transition_and_a_new_beginning() -> None:
    store = Store()
    await lease(store, "before").acquire()
    before = store.specs[-1]
    for count in (1, 2):
        await lease(store, f"after-{count}").acquire()
        found = store.specs[-1]
        assert (found["holderIdentity"], found["leaseTransitions"]) == (f"after-{count}", count)
        assert found["acquireTime"] > before["acquireTime"]
        assert found["acquireTime"] <= found["renewTime"]
        before = found


async def test_a_replica_takes_its_own_lease_again_at_once() -> None:
    """Its process started anew under the same name, or its own last write arrived without an answer."""

    store = Store()
    one = lease(store)
    store.write({"holderIdentity": "one", "leaseDurationSeconds": DURATION, "renewTime": "then"})
    began = asyncio.get_running_loop().time()
    await one.acquire()
    assert asyncio.get_running_loop().time() == began


async def test_a_claim_that_is_nearly_over_when_the_hub_answers_is_renewed_first() -> None:
    """Nothing is done with a claim that ends at once."""

    store = Store()
    one = lease(store)
    store.seconds = [0.0, DEADLINE * 0.75]
    await one.acquire()
    assert len(store.specs) == 2
    assert store.times[1] == store.times[0], "without a pause"
    assert one.left() == pytest.approx(DEADLINE, abs=0.01)


async def test_a_hub_that_takes_nearly_the_whole_pause_to_answer_is_asked_again_at_once() -> None:
    store = Store()
    one = lease(store)
    await one.acquire()
    async with kept(one):
        store.seconds = [0.0, RENEW - 0.05] * 5
        await asyncio.sleep(15)
        pauses = [after - before for before, after in pairwise(store.times[1:6])]
        assert pauses == pytest.approx([RENEW + 0.05] * 4, abs=0.01)


async def test_a_leader_learns_with_its_next_renewal_that_somebody_took_the_lease() -> None:
    store = Store()
    one = lease(store)
    await one.acquire()
    async with kept(one) as task:
        await asyncio.sleep(10.5)
        store.write({"holderIdentity": "two", "leaseDurationSeconds": DURATION, "renewTime": "now"})
        await asyncio.sleep(RENEW)
        assert task.done()
        with pytest.raises(LeaseLost, match="two took the Lease"):
            task.result()
    assert one.left() == 0


async def test_a_refused_renewal_is_tried_again_until_the_claim_is_over() -> None:
    store = Store()
    one = lease(store)
    await one.acquire()
    async with kept(one) as task:
        store.faults = [500, 500]
        await asyncio.sleep(30)
        assert not task.done()
        # The write, then the second one, after what stands there was read.
        store.faults = [500, 0, 500]
        await asyncio.sleep(30)
        assert not task.done()
        store.faults = [500] * 100
        last = store.times[-1]
        await asyncio.gather(task, return_exceptions=True)
        assert asyncio.get_running_loop().time() - last == pytest.approx(DEADLINE, abs=0.2)
        with pytest.raises(LeaseLost, match="not renewed for 12 s: refused"):
            task.result()


async def test_a_renewal_that_is_refused_in_the_last_second_is_tried_once_more() -> None:
    """The claim still holds, and so does the lease, which outlives it."""

    store = Store()
    one = lease(store)
    await one.acquire()
    async with kept(one) as task:
        store.seconds, store.faults = [DEADLINE - RENEW - 0.5], [500]
        await asyncio.sleep(DEADLINE - 0.1)
        assert (store.seconds, store.faults, task.done()) == ([], [], False)
        assert 0 < one.left() < 0.5
        await asyncio.sleep(1)
        assert not task.done()
        assert one.left() > DEADLINE - 1


async def test_the_last_renewal_is_given_up_when_the_claim_is_over() -> None:
    """Half a second of the claim is left when the renewal begins, and the hub does not answer it."""

    store = Store()
    one = lease(store)
    await one.acquire()
    async with kept(one) as task:
        until = asyncio.get_running_loop().time() + one.left()
        store.seconds, store.faults = [DEADLINE - 2 * RENEW - 0.5, 100], [500]
        await asyncio.gather(task, return_exceptions=True)
        assert asyncio.get_running_loop().time() == pytest.approx(until, abs=0.1)
        with pytest.raises(LeaseLost, match="not renewed for 12 s"):
            task.result()
        assert one.left() == 0


async def test_a_leader_whose_lease_was_deleted_creates_it_with_the_next_renewal() -> None:
    store = Store()
    one = lease(store)
    await one.acquire()
    async with kept(one):
        store.item = None
        await asyncio.sleep(RENEW + 0.1)
        assert len(store.created) == 2
        assert one.left() > DEADLINE - 1


async def test_a_lease_without_a_spec_is_free() -> None:
    store = Store()
    store.write({})
    assert store.item is not None
    del store.item["spec"]
    async with asyncio.timeout(10):
        await lease(store).acquire()


async def test_a_lease_that_is_given_back_has_no_holder_and_says_when() -> None:
    store = Store()
    one = lease(store)
    await one.acquire()
    before = store.specs[-1]
    await one.release()
    after = store.specs[-1]
    assert after == {
        **before,
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "renewTime": after["renewTime"],
    }
    assert after["renewTime"] > before["renewTime"]


async def test_a_lease_that_says_little_is_taken_after_our_own_duration() -> None:
    """Somebody wrote it by hand. What is not ours in it stays."""

    store = Store()
    store.write({"holderIdentity": "two", "strategy": "OldestEmulationVersion"})
    began = asyncio.get_running_loop().time()
    await lease(store).acquire()
    assert DURATION <= asyncio.get_running_loop().time() - began <= DURATION + RENEW
    assert store.specs[-1]["strategy"] == "OldestEmulationVersion"
    assert store.specs[-1]["leaseTransitions"] == 1


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [({}, 0), ({"holderIdentity": ""}, 0), ({"holderIdentity": "two", "leaseDurationSeconds": 40}, 40)],
)
async def test_a_lease_is_free_without_a_holder_or_after_the_time_that_it_names(
    spec: dict[str, Any], seconds: float
) -> None:
    store = Store()
    store.write(spec)
    began = asyncio.get_running_loop().time()
    await lease(store).acquire()
    assert seconds <= asyncio.get_running_loop().time() - began <= seconds + RENEW


def test_one_that_waits_says_once_for_whom(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        store = Store()
        one = lease(store)
        await one.acquire()
        async with kept(one):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(30):
                    await lease(store, "two").acquire()

    with caplog.at_level(logging.INFO):
        virtual_time.run(main())
    assert caplog.messages.count("one leads; waiting") == 1


async def test_a_replica_gives_back_only_its_own_lease() -> None:
    """Another one took it meanwhile, and goes on leading."""

    store = Store()
    one = lease(store)
    await one.acquire()
    assert store.item is not None
    store.write({**store.item["spec"], "holderIdentity": "two"})
    written = len(store.specs)
    await one.release()
    assert len(store.specs) == written
    assert store.item["spec"]["holderIdentity"] == "two"


async def test_the_first_holder_of_an_empty_spec_is_no_transition() -> None:
    store = Store()
    store.write({})
    await lease(store).acquire()
    assert store.specs[-1]["leaseTransitions"] == 0
