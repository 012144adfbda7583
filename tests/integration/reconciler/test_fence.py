"""Writes against an API server over HTTP while the claim on the Lease comes and goes: the last look is right
before the bytes leave.
"""

import asyncio
from collections.abc import Iterator

import pytest

from dsf_runtime.apiserver import ApiError
from gitops_dsf.reconciler.hub import api as hub_api
from gitops_dsf.reconciler.hub.api import NotSentError
from tests.support.objecthub import FixedClaim, ObjectHub
from tests.support.waiting import until

THING = "/apis/example.com/v1/namespaces/ns/things/a"
LOOKS = 3
"""At the claim for one attempt: before the connection is taken, before the headers and before the body."""


class Ending(FixedClaim):
    """A claim that is there for so many looks: what a process sees that is frozen between two of them."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._left: Iterator[float] = iter([1000.0] * looks)

    def left(self) -> float:
        return next(self._left, 0.0)


def uid(hub: ObjectHub) -> str:
    return str(hub.put("things", "a", namespace="ns")["metadata"]["uid"])


@pytest.mark.parametrize("looks", range(LOOKS))
async def test_nothing_is_deleted_once_the_claim_is_over_wherever_the_process_was_frozen(looks: int) -> None:
    async with ObjectHub() as hub, hub.api(claim=Ending(looks)) as api:
        found = uid(hub)
        with pytest.raises(
            NotSentError, match=r"DELETE .*/things/a: not sent: too little is left of this replica's claim"
        ):
            await api.delete(THING, uid=found)
        assert await api.settled(), "what was not sent needs no waiting"
        assert hub.asked == []
        assert hub.get("things", "a", namespace="ns")


async def test_a_claim_that_holds_to_the_last_look_is_enough() -> None:
    async with ObjectHub() as hub, hub.api(claim=Ending(LOOKS)) as api:
        await api.delete(THING, uid=uid(hub))
        assert hub.get("things", "a", namespace="ns") is None


@pytest.mark.parametrize("method", ["merge", "create", "replace"])
@pytest.mark.parametrize("looks", range(LOOKS))
async def test_no_other_write_is_sent_either(method: str, looks: int) -> None:
    async with ObjectHub() as hub, hub.api(claim=Ending(looks)) as api:
        uid(hub)
        with pytest.raises(NotSentError):
            await getattr(api, method)(THING, {"metadata": {}})
        assert hub.asked == []


async def test_what_is_refused_with_401_is_not_sent_again_after_the_claim() -> None:
    async with ObjectHub() as hub:
        claim = FixedClaim()

        def meanwhile(word: str) -> None:
            claim.seconds = 0

        hub.between = meanwhile
        hub.refusals["DELETE things"] = [401]
        async with hub.api(claim=claim) as api:
            with pytest.raises(NotSentError):
                await api.delete(THING, uid=uid(hub))
            assert hub.asked == ["DELETE things/a"]
            assert hub.get("things", "a", namespace="ns")


async def test_reading_needs_no_claim() -> None:
    async with ObjectHub() as hub, hub.api(claim=FixedClaim(seconds=0)) as api:
        uid(hub)
        assert b"things" in await api.get(THING)


@pytest.mark.parametrize(
    ("status", "known"),
    [(0, False), (500, False), (504, False), (403, True), (404, True), (409, True), (429, True)],
)
async def test_after_a_deletion_without_an_answer_there_is_no_other(status: int, known: bool) -> None:
    async with ObjectHub() as hub:
        now = 0.0
        async with hub.api(clock=lambda: now) as api:
            hub.refusals["DELETE things"] = [status]
            with pytest.raises(ApiError):
                await api.delete(THING, uid=uid(hub))
            assert await api.settled() is known
            refusal = api.no_deletion()
            assert (refusal is None) is known
            if refusal is not None:
                assert refusal.reason == "DeletionUnanswered"
                now += refusal.seconds
            await api.delete(THING, uid=uid(hub))


async def test_a_deletion_whose_caller_is_cancelled_ends_before_the_lease_is_given_back() -> None:
    async with ObjectHub() as hub, hub.api() as api:
        gate = asyncio.Event()
        hub.gate = gate
        deletion = asyncio.create_task(api.delete(THING, uid=uid(hub)))
        await until(lambda: hub.asked)
        deletion.cancel()
        await asyncio.gather(deletion, return_exceptions=True)
        assert deletion.cancelled()
        settled = asyncio.create_task(api.settled())
        await asyncio.sleep(0.05)
        assert not settled.done()
        gate.set()
        assert await settled
        assert hub.get("things", "a", namespace="ns") is None


async def test_a_deletion_that_takes_too_long_is_given_up_as_a_whole() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hub_api, "DELETION_SECONDS", 0.2)
        async with ObjectHub() as hub, hub.api() as api:
            hub.gate = asyncio.Event()
            with pytest.raises(ApiError, match="the API server does not answer"):
                await api.delete(THING, uid=uid(hub))
            assert not await api.settled()


async def test_the_connection_of_the_lease_deletes_nothing() -> None:
    async with ObjectHub() as hub:
        uid(hub)
        async with hub_api.HubApi(load=hub.access) as api:
            await api.merge(THING, {})
            with pytest.raises(NotSentError, match="is for the Lease only"):
                await api.delete(THING, uid="any")
