"""Writes against an API server over HTTP while the claim on the Lease comes and goes.

The last look is right before the bytes leave.
"""

import asyncio
import contextlib
from collections.abc import Iterator

import pytest

from dsf_runtime.apiserver import ApiError
from gitops_dsf.reconciler.hub import api as hub_api
from tests.support.objecthub import FixedClaim, ObjectHub

THING = "/apis/example.com/v1/namespaces/ns/things/a"
LOOKS = 3
"""At the claim for one attempt: before the connection is taken, before the headers and before the
body.
"""


class Ending(FixedClaim):
    """A claim that is there for so many looks: what a process sees that is frozen between two of
    them.
    """

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._left: Iterator[float] = iter([1000.0] * looks)

    def left(self) -> float:
        return next(self._left, 0.0)


def uid(hub: ObjectHub) -> str:
    return str(hub.put("things", "a", namespace="ns")["metadata"]["uid"])


def version(hub: ObjectHub) -> str:
    return str(hub.version)


@pytest.mark.parametrize("looks", range(LOOKS))
async def test_nothing_is_deleted_once_the_claim_is_over_wherever_the_process_was_frozen(
    looks: int,
) -> None:
    async with ObjectHub(on_wire=True) as hub, hub.api(claim=Ending(looks)) as api:
        found = uid(hub)
        with pytest.raises(
            ApiError, match=r"DELETE .*/things/a: not sent: another replica may lead"
        ):
            await api.delete(THING, uid=found, resource_version="")
        assert hub.asked == []
        assert hub.get("things", "a", namespace="ns")


async def test_a_claim_that_holds_to_the_last_look_is_enough() -> None:
    async with ObjectHub(on_wire=True) as hub, hub.api(claim=Ending(LOOKS)) as api:
        await api.delete(THING, uid=uid(hub), resource_version=version(hub))
        assert hub.get("things", "a", namespace="ns") is None


@pytest.mark.parametrize("method", ["merge", "create", "replace"])
@pytest.mark.parametrize("looks", range(LOOKS))
async def test_no_other_write_is_sent_either(method: str, looks: int) -> None:
    async with ObjectHub(on_wire=True) as hub, hub.api(claim=Ending(looks)) as api:
        uid(hub)
        with pytest.raises(ApiError):
            await getattr(api, method)(THING, {"metadata": {}})
        assert hub.asked == []


async def test_what_is_refused_with_401_is_not_sent_again_after_the_claim() -> None:
    async with ObjectHub(on_wire=True) as hub:
        claim = FixedClaim()

        def meanwhile(word: str) -> None:
            claim.seconds = 0

        hub.between = meanwhile
        hub.refusals["DELETE things"] = [401]
        async with hub.api(claim=claim) as api:
            with pytest.raises(ApiError):
                await api.delete(THING, uid=uid(hub), resource_version=version(hub))
            assert hub.asked == ["DELETE things/a"]
            assert hub.get("things", "a", namespace="ns")


async def test_reading_needs_no_claim() -> None:
    async with ObjectHub(on_wire=True) as hub, hub.api(claim=FixedClaim(seconds=0)) as api:
        uid(hub)
        assert b"things" in await api.get(THING)


async def test_a_deletion_that_takes_too_long_is_given_up_as_a_whole() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hub_api, "DELETION_SECONDS", 0.2)
        async with ObjectHub(on_wire=True) as hub, hub.api() as api:
            hub.gate = asyncio.Event()
            with pytest.raises(ApiError, match="the API server does not answer"):
                await api.delete(THING, uid=uid(hub), resource_version=version(hub))


@pytest.mark.parametrize(("left", "sent"), [(5.0, True), (4.99, False)])
async def test_a_deletion_needs_room_for_its_own_time_out(left: float, sent: bool) -> None:
    async with ObjectHub(on_wire=True) as hub, hub.api(claim=FixedClaim(seconds=left)) as api:
        found = uid(hub)
        await api.merge(THING, {})
        with contextlib.nullcontext() if sent else pytest.raises(ApiError, match="not sent"):
            await api.delete(THING, uid=found, resource_version=version(hub))
        assert (hub.get("things", "a", namespace="ns") is None) is sent
