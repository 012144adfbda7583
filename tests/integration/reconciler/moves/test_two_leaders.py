"""Two replicas that both believe to lead, for example because the first one was frozen.

Whatever the order of their requests, the last copy stays.

Nothing is fenced here but by the API server: both replicas have a claim on the Lease that never
ends.
"""

import asyncio
from itertools import cycle
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitops_dsf.hub.names import APPLICATION_REFRESH_ANNOTATION, PULL_ANNOTATION
from gitops_dsf.reconciler.moves.deletion import Blocked, CopyDeleter
from tests.integration.reconciler.moves.movehub import (
    APPLICATIONS,
    GOOD,
    NAMESPACE,
    PROGRESSING,
    REQUESTS,
    MoveHub,
    candidate,
    deleter_of,
    reason,
)
from tests.support import virtual_time
from tests.support.heldrequest import HeldRequest
from tests.support.laws import examples
from tests.support.objecthub import ObjectHub

TOUCHED = 10


def annotation(scene: MoveHub, cluster: str) -> str:
    item = scene.hub.get(APPLICATIONS, f"web-{cluster}", namespace=NAMESPACE)
    assert item is not None
    return str(item["metadata"].get("annotations", {}).get(APPLICATION_REFRESH_ANNOTATION, ""))


@pytest.mark.parametrize("request_number", range(1, REQUESTS + 1))
async def test_a_request_of_a_frozen_leader_that_arrives_late_costs_no_copy(
    scene: MoveHub, deleter: CopyDeleter, request_number: int
) -> None:
    """web moves from a to b.

    The request is held; the decision returns to a, and the second replica rightly deletes b. Then
    the request arrives.
    """
    async with scene.hub.api() as second:
        request = HeldRequest(request_number)
        scene.hub.arrives = request
        frozen = asyncio.create_task(deleter.delete(candidate("a", "b")))
        await request.held.wait()
        scene.decide("a")
        assert await deleter_of(second).delete(candidate("b", "a")) is None
        assert scene.copies() == ["web-a"]
        request.release.set()
        assert await reason(frozen)
        assert scene.copies() == ["web-a"]


DELAYS = st.lists(st.floats(min_value=0, max_value=0.1), min_size=1, max_size=40)


@settings(examples(8), suppress_health_check=[HealthCheck.too_slow])
@given(
    delays=DELAYS,
    changes=st.lists(st.tuples(DELAYS, st.sampled_from("abc")), max_size=6),
    late=st.booleans(),
)
def test_any_order_of_requests_and_decisions_leaves_a_copy(
    delays: list[float], changes: list[tuple[list[float], str]], late: bool
) -> None:
    async def replica(deleter: CopyDeleter, hub: ObjectHub, scene: MoveHub) -> None:
        for _ in range(6):
            page = hub.get("placementdecisions", "web-decision-1", namespace=NAMESPACE)
            assert page is not None
            decided = page["status"]["decisions"][0]["clusterName"]
            for name in scene.copies():
                if name != f"web-{decided}":
                    await reason(deleter.delete(candidate(name.removeprefix("web-"), decided)))

    async def decisions(scene: MoveHub) -> None:
        for seconds, cluster in changes:
            await asyncio.sleep(sum(seconds))
            scene.decide(cluster)

    async def go() -> None:
        async with ObjectHub() as hub, hub.api() as first, hub.api() as second:
            scene, each = MoveHub(hub), cycle(delays)
            for cluster in "abc":
                scene.copy(cluster)

            async def wait(word: str) -> None:
                # Deletions and patches that take longer than reads bring the two closest to each
                # other.
                await asyncio.sleep(next(each) * (3 if late and not word.startswith("GET") else 1))

            hub.arrives = wait
            await asyncio.gather(
                replica(deleter_of(first), hub, scene),
                replica(deleter_of(second), hub, scene),
                decisions(scene),
            )
            assert scene.copies(), "the last copy"

    virtual_time.run(go())


async def test_a_copy_is_changed_also_when_argo_cd_has_not_taken_the_last_request_away(
    scene: MoveHub, deleter: CopyDeleter
) -> None:
    versions = set[str]()
    scene.hub.refusals["DELETE applications"] = [409]
    for _ in range(2):
        await reason(deleter.delete(candidate("a", "b")))
        item = scene.hub.get(APPLICATIONS, "web-b", namespace=NAMESPACE)
        assert item is not None
        assert item["metadata"]["annotations"][APPLICATION_REFRESH_ANNOTATION] not in {"", "hard"}
        versions.add(item["metadata"]["resourceVersion"])
        scene.copy("a")
    assert len(versions) == 2


async def test_the_version_that_is_deleted_was_read_before_the_others_were_changed(
    scene: MoveHub, deleter: CopyDeleter
) -> None:
    def meanwhile(word: str) -> None:
        if word == "PATCH applications":
            scene.hub.between = lambda _: None
            scene.copy("a")

    scene.hub.between = meanwhile
    assert await deleter.delete(candidate("a", "b")) is None
    assert len(scene.deletions()) == 2, "the first one named a version that is over"


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        (None, "NewCopyMissing"),
        ({"uid": "another"}, "NewCopyNotHealthy"),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z", "status": GOOD}, "Going"),
        ({}, "NewCopyNotHealthy"),
    ],
    ids=["gone", "made anew", "going", "not healthy"],
)
async def test_a_copy_that_is_none_any_more_when_it_is_changed_is_not_relied_on(
    scene: MoveHub, deleter: CopyDeleter, metadata: dict[str, Any] | None, why: str
) -> None:
    def meanwhile(word: str) -> None:
        if word == "PATCH applications":
            if metadata is None:
                scene.hub.objects.pop((APPLICATIONS, NAMESPACE, "web-b"), None)
            else:
                scene.copy("b", **{"status": PROGRESSING, **metadata})

    scene.hub.between = meanwhile
    assert await reason(deleter.delete(candidate("a", "b"))) == why
    assert scene.deletions() == []
    if metadata == {"uid": "another"}:
        assert annotation(scene, "b") == "", "it is another copy"


async def test_a_deletion_waits_until_each_copy_that_it_relies_on_was_changed(
    scene: MoveHub, deleter: CopyDeleter
) -> None:
    """The hub refuses the first change because of a conflict. Nothing else has changed."""
    scene.hub.refusals["PATCH applications"] = [409]
    assert await deleter.delete(candidate("a", "b")) is None
    assert [word for word in scene.hub.asked if not word.startswith("GET ")] == [
        "PATCH applications/web-b",
        "PATCH applications/web-b",
        "DELETE applications/web-a",
    ]


async def test_a_copy_that_was_not_changed_is_not_relied_on(
    scene: MoveHub, deleter: CopyDeleter
) -> None:
    """One more copy becomes Healthy between the patches and the second reading."""
    scene.copy("c", status=PROGRESSING, finalizers=[])

    def meanwhile(word: str) -> None:
        if word == "PATCH applications":
            scene.hub.between = lambda _: None
            scene.copy("c", finalizers=[])

    scene.hub.between = meanwhile
    assert await deleter.delete(candidate("a", "b")) is None
    assert [word for word in scene.hub.asked if not word.startswith("GET ")] == [
        "PATCH applications/web-b",
        "PATCH applications/web-b",
        "PATCH applications/web-c",
        "DELETE applications/web-a",
    ]


async def test_a_hard_refresh_that_somebody_asked_for_is_not_taken_away(
    scene: MoveHub, deleter: CopyDeleter
) -> None:
    scene.copy("b", annotations={APPLICATION_REFRESH_ANNOTATION: "hard"})
    with pytest.raises(Blocked, match="hard refresh of web-b") as caught:
        await deleter.delete(candidate("a", "b"))
    assert caught.value.reason == "RefreshPending"
    assert annotation(scene, "b") == "hard"
    # On the hub nobody does it for OCM's pull integration.
    scene.copy("b", annotations={APPLICATION_REFRESH_ANNOTATION: "hard", PULL_ANNOTATION: "b"})
    assert await deleter.delete(candidate("a", "b")) is None


async def test_no_more_copies_are_refreshed_than_a_limit(
    scene: MoveHub, deleter: CopyDeleter
) -> None:
    many = [f"b{number}" for number in range(TOUCHED + 5)]
    scene.decide(*many)
    for cluster in many:
        scene.copy(cluster)
    assert await deleter.delete(candidate("a", *many)) is None
    assert sum(word.startswith("PATCH ") for word in scene.hub.asked) == TOUCHED
