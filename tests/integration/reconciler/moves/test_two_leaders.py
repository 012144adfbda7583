"""Two replicas that both believe to lead, for example because the first one was frozen: whatever the order of
their requests, the last copy stays.

Nothing is fenced here but by the API server: both replicas have a claim on the Lease that never ends.
"""

import asyncio
from itertools import cycle

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitops_dsf.hub.names import APPLICATION_REFRESH_ANNOTATION, PULL_ANNOTATION
from gitops_dsf.reconciler.moves.deletion import TOUCHED, Blocked, CopyDeleter
from tests.integration.reconciler.moves.movehub import (
    APPLICATIONS,
    NAMESPACE,
    PROGRESSING,
    MoveHub,
    candidate,
    deleter,
    reason,
)
from tests.support import virtual_time
from tests.support.laws import examples
from tests.support.objecthub import ObjectHub

REQUESTS = 14
"""Of one removal that relies on one copy: six reads, one patch, six reads, one deletion."""


def annotation(scene: MoveHub, cluster: str) -> str:
    item = scene.hub.get(APPLICATIONS, f"web-{cluster}", namespace=NAMESPACE)
    assert item is not None
    return str(item["metadata"].get("annotations", {}).get(APPLICATION_REFRESH_ANNOTATION, ""))


@pytest.mark.parametrize("request_number", range(1, REQUESTS + 1))
async def test_a_request_of_a_frozen_leader_that_arrives_late_costs_no_copy(request_number: int) -> None:
    """web moves from a to b. The request is held; the decision returns to a, and the second replica rightly
    deletes b. Then the request arrives.
    """

    async with ObjectHub() as hub, hub.api() as first, hub.api() as second:
        scene = MoveHub(hub)
        scene.decide("b")
        scene.copy("a")
        scene.copy("b")
        held, release, arrived = asyncio.Event(), asyncio.Event(), 0

        async def hold(_: str) -> None:
            nonlocal arrived
            arrived += 1
            if arrived == request_number:
                held.set()
                await release.wait()

        hub.arrives = hold
        frozen = asyncio.create_task(deleter(first).delete(candidate("a", "b")))
        await held.wait()
        scene.decide("a")
        assert await deleter(second).delete(candidate("b", "a")) is None
        assert scene.copies() == ["web-a"]
        release.set()
        assert await reason(frozen)
        assert scene.copies() == ["web-a"]


DELAYS = st.lists(st.floats(min_value=0, max_value=0.1), min_size=1, max_size=40)


@settings(examples(8), suppress_health_check=[HealthCheck.too_slow])
@given(
    delays=DELAYS, changes=st.lists(st.tuples(DELAYS, st.sampled_from("abc")), max_size=6), late=st.booleans()
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
                # Deletions and patches that take longer than reads bring the two closest to each other.
                await asyncio.sleep(next(each) * (3 if late and not word.startswith("GET") else 1))

            hub.arrives = wait
            await asyncio.gather(
                replica(deleter(first), hub, scene), replica(deleter(second), hub, scene), decisions(scene)
            )
            assert scene.copies(), "the last copy"

    virtual_time.run(go())


async def test_a_copy_is_changed_also_when_argo_cd_has_not_taken_the_last_request_away() -> None:
    async with ObjectHub() as hub, hub.api() as api:
        scene, versions = MoveHub(hub), set[str]()
        scene.decide("b")
        scene.copy("a")
        scene.copy("b")
        hub.refusals["DELETE applications"] = [409]
        for _ in range(2):
            await reason(deleter(api).delete(candidate("a", "b")))
            item = hub.get(APPLICATIONS, "web-b", namespace=NAMESPACE)
            assert item is not None
            assert item["metadata"]["annotations"][APPLICATION_REFRESH_ANNOTATION] not in {"", "hard"}
            versions.add(item["metadata"]["resourceVersion"])
            scene.copy("a")
        assert len(versions) == 2


async def test_the_version_that_is_deleted_was_read_before_the_others_were_changed() -> None:
    async with ObjectHub() as hub, hub.api() as api:
        scene = MoveHub(hub)
        scene.decide("b")
        scene.copy("a")
        scene.copy("b")

        def meanwhile(word: str) -> None:
            if word == "PATCH applications":
                hub.between = lambda _: None
                scene.copy("a")

        hub.between = meanwhile
        assert await deleter(api).delete(candidate("a", "b")) is None
        assert len(scene.deletions()) == 2, "the first one named a version that is over"


@pytest.mark.parametrize("change", ["gone", "made anew", "going", "not healthy"])
async def test_a_copy_that_is_none_any_more_when_it_is_changed_is_not_relied_on(change: str) -> None:
    async with ObjectHub() as hub, hub.api() as api:
        scene = MoveHub(hub)
        scene.decide("b")
        scene.copy("a")
        scene.copy("b")

        def meanwhile(word: str) -> None:
            if word != "PATCH applications":
                return
            if change == "gone":
                hub.objects.pop((APPLICATIONS, NAMESPACE, "web-b"), None)
            elif change == "made anew":
                scene.copy("b", uid="another", status=PROGRESSING)
            elif change == "going":
                scene.copy("b", deletionTimestamp="2026-01-01T00:00:00Z")
            else:
                scene.copy("b", status=PROGRESSING)

        hub.between = meanwhile
        assert await reason(deleter(api).delete(candidate("a", "b"))) == {
            "gone": "NewCopyMissing",
            "going": "Going",
        }.get(change, "NewCopyNotHealthy")
        assert scene.deletions() == []
        if change == "made anew":
            assert annotation(scene, "b") == "", "it is another copy"


async def test_a_deletion_waits_until_each_copy_that_it_relies_on_was_changed() -> None:
    """The hub refuses the first change because of a conflict. Nothing else has changed."""

    async with ObjectHub() as hub, hub.api() as api:
        scene = MoveHub(hub)
        scene.decide("b")
        scene.copy("a")
        scene.copy("b")
        hub.refusals["PATCH applications"] = [409]
        assert await deleter(api).delete(candidate("a", "b")) is None
        assert [word for word in hub.asked if not word.startswith("GET ")] == [
            "PATCH applications/web-b",
            "PATCH applications/web-b",
            "DELETE applications/web-a",
        ]


async def test_a_copy_that_was_not_changed_is_not_relied_on() -> None:
    """One more copy becomes Healthy between the patches and the second reading."""

    async with ObjectHub() as hub, hub.api() as api:
        scene = MoveHub(hub)
        scene.decide("b")
        scene.copy("a")
        scene.copy("b")
        scene.copy("c", status=PROGRESSING, finalizers=[])

        def meanwhile(word: str) -> None:
            if word == "PATCH applications":
                hub.between = lambda _: None
                scene.copy("c", finalizers=[])

        hub.between = meanwhile
        assert await deleter(api).delete(candidate("a", "b")) is None
        assert [word for word in hub.asked if not word.startswith("GET ")] == [
            "PATCH applications/web-b",
            "PATCH applications/web-b",
            "PATCH applications/web-c",
            "DELETE applications/web-a",
        ]


async def test_a_hard_refresh_that_somebody_asked_for_is_not_taken_away() -> None:
    async with ObjectHub() as hub, hub.api() as api:
        scene = MoveHub(hub)
        scene.decide("b")
        scene.copy("a")
        scene.copy("b", annotations={APPLICATION_REFRESH_ANNOTATION: "hard"})
        with pytest.raises(Blocked, match="hard refresh of web-b") as caught:
            await deleter(api).delete(candidate("a", "b"))
        assert caught.value.reason == "RefreshPending"
        assert annotation(scene, "b") == "hard"
        # On the hub nobody does it for OCM's pull integration.
        scene.copy("b", annotations={APPLICATION_REFRESH_ANNOTATION: "hard", PULL_ANNOTATION: "b"})
        assert await deleter(api).delete(candidate("a", "b")) is None


async def test_no_more_copies_are_refreshed_than_a_limit() -> None:
    async with ObjectHub() as hub, hub.api() as api:
        scene, many = MoveHub(hub), [f"b{number}" for number in range(TOUCHED + 5)]
        scene.decide(*many)
        for cluster in ("a", *many):
            scene.copy(cluster)
        assert await deleter(api).delete(candidate("a", *many)) is None
        assert sum(word.startswith("PATCH ") for word in hub.asked) == TOUCHED
