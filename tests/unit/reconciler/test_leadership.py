"""At most one leader at a time, by replicas in virtual time.

The network and other clocks may do and say anything. What a leader writes into the Lease is tested
here, too.
"""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsf_runtime.apiserver import ApiError
from gitops_dsf.reconciler.hub.leadership import Leadership, LeaseLost
from tests.support import virtual_time
from tests.support.laws import examples
from tests.support.objecthub import ObjectHub

RENEW_DEADLINE_SECONDS = 12.0
LEASE_DURATION_SECONDS = 15
RETRY_PERIOD_SECONDS = 2.0


def now() -> float:
    return asyncio.get_running_loop().time()


class LeaseStore:
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
        self.times.append(now())
        metadata = {"name": "gitops-dsf-reconciler", "resourceVersion": str(self._version)}
        self.item = {"metadata": metadata, "spec": {**spec}}
        return msgspec.json.encode(self.item)

    async def _answer(self) -> None:
        if self.seconds:
            await asyncio.sleep(self.seconds.pop(0))
        if self.faults and (status := self.faults.pop(0)):
            raise ApiError("refused", status=status)


def lease(store: Any, identity: str = "one") -> Leadership:
    return Leadership(api=store, namespace="hub", identity=identity)


@asynccontextmanager
async def kept(one: Leadership) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(one.keep())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def leading() -> tuple[LeaseStore, Leadership]:
    store = LeaseStore()
    one = lease(store)
    await one.acquire()
    return store, one


@dataclass
class Way:
    """From one replica to the hub: each call takes a while before and after it counts, or is lost
    on either leg.
    """

    store: LeaseStore
    legs: Iterator[float | None]
    skew: float = 0.0

    async def get(self, path: str, /) -> bytes:
        return await self._through(lambda: self.store.get(path))

    async def create(self, path: str, item: Mapping[str, Any], /) -> bytes:
        return await self._through(lambda: self.store.create(path, self._skewed(item)))

    async def replace(self, path: str, item: Mapping[str, Any], /) -> bytes:
        return await self._through(lambda: self.store.replace(path, self._skewed(item)))

    def _skewed(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """renewTime by a clock that is wrong; it must differ each time and mean nothing else."""
        return {**item, "spec": {**item["spec"], "renewTime": f"{now() + self.skew:.6f}"}}

    async def _through(self, call: Callable[[], Awaitable[bytes]]) -> bytes:
        await self._leg()
        answer = await call()
        await self._leg()
        return answer

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

    async def replica(self, name: str, way: Way) -> None:
        one = lease(way, name)
        while True:
            await one.acquire()
            self.leading.add(name)
            assert len(self.leading) == 1, f"{self.leading} lead at once"
            try:
                await one.keep()
            except LeaseLost:
                pass
            finally:
                self.leading.discard(name)


def steady(store: LeaseStore, leg: float = 0.01) -> Way:
    return Way(store, itertools.repeat(leg))


legs = st.lists(
    st.one_of(
        st.none(), st.floats(min_value=0.001, max_value=0.2), st.floats(min_value=0, max_value=14)
    ),
    min_size=8,
    max_size=60,
)


@settings(examples(6, soak=300))
@given(
    ways=st.lists(st.tuples(legs, st.floats(min_value=-600, max_value=600)), min_size=2, max_size=3)
)
def test_two_never_lead_at_once(ways: list[tuple[list[float | None], float]]) -> None:
    async def main() -> None:
        store, watch = LeaseStore(), Watch()
        tasks = [
            asyncio.create_task(
                watch.replica(
                    f"replica-{number}", Way(store, itertools.cycle([*delays, 0.01]), skew)
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
        store, watch = LeaseStore(), Watch()
        skewed = Way(store, itertools.repeat(0.01), skew)
        first = asyncio.create_task(watch.replica("first", skewed))
        await asyncio.sleep(60)
        second = asyncio.create_task(watch.replica("second", steady(store)))
        await asyncio.sleep(60)
        assert watch.leading == {"first"}, "a healthy leader is left alone"
        first.cancel()
        await asyncio.sleep(LEASE_DURATION_SECONDS + 2 * RETRY_PERIOD_SECONDS)
        assert watch.leading == {"second"}
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)

    virtual_time.run(main())


@pytest.mark.parametrize("page", [b"<html>Sign in</html>", b"[]", b'{"spec": "none"}', b""])
async def test_an_answer_that_is_no_lease_leads_nowhere(page: bytes) -> None:
    """Something between a replica and the hub answers 200 and a page of its own."""

    class Proxy(LeaseStore):
        async def get(self, _path: str, /) -> bytes:
            return page

    proxy = Proxy()
    one = lease(proxy)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(30):
            await one.acquire()
    assert not one.is_leader
    await one.release()
    assert proxy.created == proxy.specs == [], "nothing says that there is no lease"


async def test_a_lease_is_not_taken_before_its_whole_duration_has_passed_since_it_was_renewed() -> (
    None
):
    store = LeaseStore()
    first, second = lease(steady(store), "first"), lease(steady(store), "second")
    await first.acquire()
    async with kept(first):
        waiting = asyncio.create_task(second.acquire())
        await asyncio.sleep(20)
    renewed = store.times[-1]
    await waiting
    assert second.is_leader
    assert (
        LEASE_DURATION_SECONDS
        <= now() - renewed
        <= LEASE_DURATION_SECONDS + 2 * RETRY_PERIOD_SECONDS
    )


@pytest.mark.parametrize("seconds", [1.0, 3.0, 3.8])
async def test_it_leads_and_goes_on_leading_when_the_hub_takes_long_for_each_answer(
    seconds: float,
) -> None:
    one = lease(steady(LeaseStore(), leg=seconds / 2))
    async with asyncio.timeout(30):
        await one.acquire()
    async with kept(one) as task:
        for _ in range(600):
            await asyncio.sleep(1)
            assert one.left() > 0
        assert not task.done()


async def test_nobody_leads_when_the_hub_takes_longer_for_each_answer_than_a_third_of_the_deadline(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Too little would be left of a claim to do anything with it."""
    caplog.set_level(logging.INFO)
    one = lease(steady(LeaseStore(), leg=4.2 / 2))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(600):
            await one.acquire()
    assert not one.is_leader
    assert one.left() <= 0
    assert caplog.messages == ["not leading: the hub takes more than 4 s to answer"]


async def test_nothing_is_left_of_a_claim_that_was_never_made_or_is_over() -> None:
    one = lease(steady(LeaseStore()))
    assert one.left() <= 0
    await one.acquire()
    assert one.left() == pytest.approx(RENEW_DEADLINE_SECONDS, abs=0.1)
    await asyncio.sleep(RENEW_DEADLINE_SECONDS)
    assert one.left() <= 0, "as after a process was stopped"
    async with kept(one):
        await asyncio.sleep(5)
        assert one.left() > 0
    assert one.left() == 0


async def test_each_renewal_says_when_it_was_and_leaves_the_rest() -> None:
    """Others count from the change of renewTime; acquireTime and the transitions tell people since
    when.
    """
    store, one = await leading()
    async with kept(one):
        await asyncio.sleep(61)
    first = store.specs[0]
    assert first["holderIdentity"] == "one"
    assert (first["leaseDurationSeconds"], first["leaseTransitions"]) == (LEASE_DURATION_SECONDS, 0)
    assert len({spec["renewTime"] for spec in store.specs}) == len(store.specs)
    assert all({**spec, "renewTime": first["renewTime"]} == first for spec in store.specs)
    pauses = [after - before for before, after in zip(store.times, store.times[1:], strict=False)]
    assert pauses == pytest.approx([RETRY_PERIOD_SECONDS] * 30, abs=0.01)


async def test_a_renewal_is_one_write_and_after_a_failure_the_lease_is_read_first() -> None:
    """An annotation of somebody is a conflict once, and stays on the Lease."""
    requests: list[str] = []

    class Counted(LeaseStore):
        async def get(self, path: str, /) -> bytes:
            requests.append("GET")
            return await super().get(path)

        async def replace(self, path: str, item: Mapping[str, Any], /) -> bytes:
            requests.append("PUT")
            return await super().replace(path, item)

    store = Counted()
    one = lease(store)
    await one.acquire()
    requests.clear()
    async with kept(one):
        await asyncio.sleep(3 * RETRY_PERIOD_SECONDS + 0.5)
        assert requests == ["PUT"] * 3
        assert store.item is not None
        store.write({**store.item["spec"], "strategy": "somebody's"})
        await asyncio.sleep(2 * RETRY_PERIOD_SECONDS + 0.5)
        assert requests[3:] == ["PUT", "GET", "PUT", "PUT"]
        assert store.specs[-1]["strategy"] == "somebody's"
        assert one.left() > RENEW_DEADLINE_SECONDS - RETRY_PERIOD_SECONDS - 0.5


async def test_a_lease_that_somebody_deleted_is_created_at_once() -> None:
    store, one = await leading()
    async with kept(one):
        await asyncio.sleep(RETRY_PERIOD_SECONDS + 0.5)
        store.item = None
        await asyncio.sleep(RETRY_PERIOD_SECONDS)
        assert len(store.created) == 2
        assert one.left() > RENEW_DEADLINE_SECONDS - RETRY_PERIOD_SECONDS


async def test_a_page_instead_of_the_renewed_lease_is_no_renewal() -> None:
    class Proxy(LeaseStore):
        async def replace(self, _path: str, _item: Mapping[str, Any], /) -> bytes:
            return b"<html>Sign in</html>"

    store = Proxy()
    one = lease(store)
    await one.acquire()
    with pytest.raises(LeaseLost, match="the answer is not a Lease"):
        await one.keep()
    assert now() - store.times[0] == pytest.approx(RENEW_DEADLINE_SECONDS, abs=0.6)


async def test_a_new_holder_is_one_transition_and_a_new_beginning() -> None:
    store = LeaseStore()
    await lease(store, "before").acquire()
    before = store.specs[-1]
    for count in (1, 2):
        await lease(store, f"after-{count}").acquire()
        found = store.specs[-1]
        assert (found["holderIdentity"], found["leaseTransitions"]) == (f"after-{count}", count)
        assert found["acquireTime"] > before["acquireTime"]
        assert found["acquireTime"] <= found["renewTime"]
        before = found


async def test_a_claim_that_is_nearly_over_when_the_hub_answers_is_renewed_first() -> None:
    store = LeaseStore()
    one = lease(store)
    store.seconds = [0.0, RENEW_DEADLINE_SECONDS * 0.75]
    await one.acquire()
    assert len(store.specs) == 2
    assert store.times[1] == store.times[0], "without a pause"
    assert one.left() == pytest.approx(RENEW_DEADLINE_SECONDS, abs=0.01)


async def test_a_hub_that_takes_nearly_the_whole_pause_to_answer_is_asked_again_at_once() -> None:
    store, one = await leading()
    async with kept(one):
        store.seconds = [RETRY_PERIOD_SECONDS - 0.05] * 5
        await asyncio.sleep(15)
        pauses = [after - before for before, after in itertools.pairwise(store.times[1:6])]
        assert pauses == pytest.approx([RETRY_PERIOD_SECONDS + 0.05] * 4, abs=0.01)


async def test_a_leader_learns_with_its_next_renewal_that_somebody_took_the_lease() -> None:
    """The hub refuses the renewal, and half a second later it reads who leads."""
    store, one = await leading()
    async with kept(one) as task:
        await asyncio.sleep(10.5)
        store.write(
            {
                "holderIdentity": "two",
                "leaseDurationSeconds": LEASE_DURATION_SECONDS,
                "renewTime": "now",
            }
        )
        await asyncio.sleep(RETRY_PERIOD_SECONDS + 0.5)
        assert task.done()
        with pytest.raises(LeaseLost, match="two took the Lease"):
            task.result()
    assert one.left() == 0


async def test_a_refused_renewal_is_tried_again_until_the_claim_is_over() -> None:
    store, one = await leading()
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
        assert now() - last == pytest.approx(RENEW_DEADLINE_SECONDS, abs=0.2)
        with pytest.raises(LeaseLost, match="not renewed for 12 s: refused"):
            task.result()


async def test_a_renewal_that_is_refused_in_the_last_second_is_tried_once_more() -> None:
    store, one = await leading()
    async with kept(one) as task:
        store.seconds, store.faults = [RENEW_DEADLINE_SECONDS - RETRY_PERIOD_SECONDS - 0.5], [500]
        await asyncio.sleep(RENEW_DEADLINE_SECONDS - 0.1)
        assert (store.seconds, store.faults, task.done()) == ([], [], False)
        assert 0 < one.left() < 0.5
        await asyncio.sleep(1)
        assert not task.done()
        assert one.left() > RENEW_DEADLINE_SECONDS - 1


async def test_the_last_renewal_is_given_up_when_the_claim_is_over() -> None:
    store, one = await leading()
    async with kept(one) as task:
        until = now() + one.left()
        store.seconds, store.faults = (
            [RENEW_DEADLINE_SECONDS - 2 * RETRY_PERIOD_SECONDS - 0.5, 100],
            [500],
        )
        await asyncio.gather(task, return_exceptions=True)
        assert now() == pytest.approx(until, abs=0.1)
        with pytest.raises(LeaseLost, match="not renewed for 12 s"):
            task.result()
        assert one.left() == 0


async def test_a_leader_whose_lease_was_deleted_creates_it_with_the_next_renewal() -> None:
    store, one = await leading()
    async with kept(one):
        store.item = None
        await asyncio.sleep(RETRY_PERIOD_SECONDS + 0.1)
        assert len(store.created) == 2
        assert one.left() > RENEW_DEADLINE_SECONDS - 1


async def test_a_lease_that_is_given_back_has_no_holder_and_says_when() -> None:
    store, one = await leading()
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


async def test_a_replica_gives_back_only_its_own_lease() -> None:
    store, one = await leading()
    assert store.item is not None
    store.write({**store.item["spec"], "holderIdentity": "two"})
    written = len(store.specs)
    await one.release()
    assert len(store.specs) == written
    assert store.item["spec"]["holderIdentity"] == "two"


@pytest.mark.parametrize(
    ("spec", "seconds", "transitions"),
    [
        (None, 0, 0),
        ({}, 0, 0),
        ({"holderIdentity": ""}, 0, 1),
        ({"holderIdentity": "two", "leaseDurationSeconds": 40}, 40, 1),
        (
            {"holderIdentity": "two", "strategy": "OldestEmulationVersion"},
            LEASE_DURATION_SECONDS,
            1,
        ),
    ],
)
async def test_a_lease_is_free_without_a_holder_or_after_the_time_that_it_names(
    spec: dict[str, Any] | None, seconds: float, transitions: int
) -> None:
    """One that somebody wrote by hand names none and is taken after ours.

    What is not ours in it stays.
    """
    store = LeaseStore()
    store.write(spec or {})
    assert store.item is not None
    if spec is None:
        del store.item["spec"]
    began = now()
    await lease(store).acquire()
    assert seconds <= now() - began <= seconds + RETRY_PERIOD_SECONDS
    assert store.specs[-1]["leaseTransitions"] == transitions
    assert store.specs[-1].get("strategy") == (spec or {}).get("strategy")


async def test_a_lease_that_does_not_exist_is_created_as_a_complete_object() -> None:
    """An API server refuses an object without its kind, version or name."""
    store, _ = await leading()
    ((path, item),) = store.created
    assert path == "/apis/coordination.k8s.io/v1/namespaces/hub/leases"
    assert item == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "gitops-dsf-reconciler"},
        "spec": store.specs[0],
    }


def annotate(hub: ObjectHub, note: str) -> None:
    """As `kubectl annotate`: the resourceVersion changes, and nothing else that matters here."""
    item = hub.get("leases", "gitops-dsf-reconciler", namespace="hub")
    assert item is not None
    hub.put(
        "leases",
        "gitops-dsf-reconciler",
        namespace="hub",
        spec=item["spec"],
        metadata={"annotations": {"a": note}},
    )


async def test_a_conflict_about_an_annotation_does_not_end_leadership(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Somebody changes the Lease between our read and our write. Nobody else holds it."""
    async with ObjectHub() as hub, hub.api() as api:
        one = Leadership(api=api, namespace="hub", identity="one")
        await one.acquire()
        times = iter(range(3))

        def between(word: str) -> None:
            if word == "PUT leases" and (time := next(times, None)) is not None:
                annotate(hub, str(time))

        hub.between = between
        async with kept(one) as task:
            await asyncio.sleep(10)
            assert next(times, None) is None, "three renewals were refused"
            assert not task.done()
            assert one.left() > RENEW_DEADLINE_SECONDS - RETRY_PERIOD_SECONDS - 0.5
            await asyncio.sleep(600)
            assert not task.done()
    assert "one took the Lease" not in caplog.text


async def test_conflicts_that_never_end_are_given_up_at_the_deadline() -> None:
    """With its name as the holder nobody took the Lease, and the message says so."""
    store, one = await leading()
    last = store.times[-1]
    async with kept(one) as task:
        store.faults = [409, *([0, 409] * 1000)]
        await asyncio.gather(task, return_exceptions=True)
        assert now() - last == pytest.approx(RENEW_DEADLINE_SECONDS, abs=0.6)
        with pytest.raises(LeaseLost, match="not renewed for 12 s: refused"):
            task.result()
        assert len(store.faults) > 1900, "it does not ask all the time"


async def test_a_holder_that_takes_the_lease_between_read_and_write_is_named() -> None:
    class Raced(LeaseStore):
        async def replace(self, path: str, item: Mapping[str, Any], /) -> bytes:
            if self.specs[-1]["holderIdentity"] == "one" and len(self.specs) == 3:
                self.write(
                    {"holderIdentity": "two", "leaseDurationSeconds": 15, "renewTime": "now"}
                )
            return await super().replace(path, item)

    store = Raced()
    one = lease(store)
    await one.acquire()
    async with kept(one) as task:
        await asyncio.gather(task, return_exceptions=True)
        with pytest.raises(LeaseLost, match="no longer leading: two took the Lease"):
            task.result()


async def test_a_lease_is_given_back_although_somebody_changed_it_meanwhile() -> None:
    async with ObjectHub() as hub, hub.api() as api:
        one = Leadership(api=api, namespace="hub", identity="one")
        await one.acquire()
        times = iter(range(2))

        def between(word: str) -> None:
            if word == "PUT leases" and (time := next(times, None)) is not None:
                annotate(hub, str(time))

        hub.between = between
        await one.release()
        item = hub.get("leases", "gitops-dsf-reconciler", namespace="hub")
        assert item is not None
        assert item["spec"]["holderIdentity"] == ""


async def test_a_replica_that_loses_the_race_for_a_new_lease_waits_for_the_winner(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)

    class Raced(LeaseStore):
        async def create(self, path: str, item: Mapping[str, Any], /) -> bytes:
            self.write({"holderIdentity": "two", "leaseDurationSeconds": 15, "renewTime": "now"})
            return await super().create(path, item)

    one = lease(Raced())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(10):
            await one.acquire()
    assert caplog.messages == ["the Lease cannot be taken: exists", "two leads; waiting"]
