"""One deletion of a dead score, against an API server over HTTP: what is read, and what becomes of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from dsf_runtime.apiserver import ApiError
from gitops_dsf.reconciler.scoregc.candidates import DeadScore, Renewer
from gitops_dsf.reconciler.scoregc.deletion import DeletionResult, delete_if_dead
from tests.support import virtual_time
from tests.support.objecthub import FixedClaim, ObjectHub

TTL = 100.0
DEAD = DeadScore(
    resource="cpu-score", cluster="c1", valid_until=0.0, why="", renewer=Renewer.AGENT, on_hub=False
)
OF_THE_HUB = replace(DEAD, renewer=Renewer.NOBODY, on_hub=True)
OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-agent"}


def put(hub: ObjectHub, expired: float = TTL + 10, **metadata: Any) -> None:
    """The score of an agent that is not installed any more."""
    until = datetime.fromtimestamp(int(virtual_time.wall() - expired), tz=UTC)
    available = {"conditions": [{"type": "ManagedClusterConditionAvailable", "status": "True"}]}
    hub.put("managedclusters", "c1", status=available)
    hub.put("managedclusters", "c2", status=available)
    hub.put(
        "addonplacementscores",
        "cpu-score",
        namespace="c1",
        metadata={"labels": OURS, **metadata},
        status={"validUntil": until.strftime("%Y-%m-%dT%H:%M:%SZ")},
    )


async def result(
    hub: ObjectHub, dead: DeadScore = DEAD, *, claim: FixedClaim | None = None
) -> tuple[DeletionResult, int]:
    """The result, and how often a deletion was announced."""
    announced: list[None] = []
    async with hub.api(claim=claim) as api:
        found = await delete_if_dead(api, dead, ttl=TTL, before_deletion=lambda: announced.append(None))
    return found, len(announced)


def deletions(hub: ObjectHub) -> list[str]:
    return [word for word in hub.asked if word.startswith("DELETE")]


async def test_a_dead_score_is_deleted_once() -> None:
    async with ObjectHub() as hub:
        put(hub)
        assert await result(hub) == (DeletionResult.DELETED, 1)
        assert deletions(hub) == ["DELETE addonplacementscores/cpu-score"]
        assert hub.get("addonplacementscores", "cpu-score", namespace="c1") is None


async def test_a_score_that_is_gone_or_being_deleted_is_left() -> None:
    async with ObjectHub() as hub:
        assert await result(hub) == (DeletionResult.KEPT, 0)
        put(hub, deletionTimestamp="2026-01-01T00:00:00Z")
        assert await result(hub) == (DeletionResult.KEPT, 0)
        assert deletions(hub) == []


@pytest.mark.parametrize("labels", [{}, {"app.kubernetes.io/managed-by": "another"}])
async def test_a_score_of_another_program_is_left(labels: dict[str, str]) -> None:
    async with ObjectHub() as hub:
        put(hub, labels=labels)
        assert await result(hub) == (DeletionResult.FOREIGN, 0)


async def test_a_score_of_the_hub_scorer_and_one_of_an_agent_are_not_confused() -> None:
    """The score was replaced since the informers saw it."""
    on_hub = {**OURS, "gitops-dsf.io/runs-on": "Hub"}
    async with ObjectHub() as hub:
        put(hub, labels=on_hub)
        assert await result(hub, DEAD) == (DeletionResult.KEPT, 0)
        assert await result(hub, OF_THE_HUB) == (DeletionResult.DELETED, 1)
        put(hub)
        assert await result(hub, OF_THE_HUB) == (DeletionResult.KEPT, 0)


async def test_a_score_that_the_hub_scorer_may_renew_is_left() -> None:
    async with ObjectHub() as hub:
        put(hub, labels={**OURS, "gitops-dsf.io/runs-on": "Hub"})
        renewed = replace(OF_THE_HUB, renewer=Renewer.HUB_SCORER)
        assert await result(hub, renewed) == (DeletionResult.KEPT, 0)


@pytest.mark.parametrize("expired", [-1, 0, TTL - 10])
async def test_a_score_that_expired_less_than_a_ttl_ago_is_left(expired: float) -> None:
    async with ObjectHub() as hub:
        put(hub, expired)
        assert await result(hub) == (DeletionResult.KEPT, 0)


async def test_a_score_without_an_expiry_is_left() -> None:
    async with ObjectHub() as hub:
        put(hub)
        hub.objects["addonplacementscores", "c1", "cpu-score"]["status"] = {}
        assert await result(hub) == (DeletionResult.KEPT, 0)


async def test_a_score_that_an_agent_may_renew_is_left() -> None:
    async with ObjectHub() as hub:
        put(hub)
        hub.put("managedclusteraddons", "gitops-dsf-agent", namespace="c1", status={})
        assert await result(hub) == (DeletionResult.KEPT, 0)


async def test_without_the_hubs_time_the_score_is_left() -> None:
    async with ObjectHub() as hub:
        put(hub)
        hub.clock = None
        assert await result(hub) == (DeletionResult.KEPT, 0)


async def test_a_score_that_cannot_be_decoded_is_left() -> None:
    async with ObjectHub() as hub:
        put(hub, labels=["a"])
        assert await result(hub) == (DeletionResult.KEPT, 0)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, DeletionResult.REFUSED),
        (409, DeletionResult.REFUSED),
        (499, DeletionResult.REFUSED),
        (500, DeletionResult.UNKNOWN),
        (504, DeletionResult.UNKNOWN),
        (0, DeletionResult.UNKNOWN),
    ],
)
async def test_a_deletion_that_fails(status: int, expected: DeletionResult) -> None:
    async with ObjectHub() as hub:
        put(hub)
        hub.refusals["DELETE addonplacementscores"] = [status]
        assert await result(hub) == (expected, 1)


async def test_a_deletion_without_a_claim_on_the_lease_is_not_sent() -> None:
    async with ObjectHub() as hub:
        put(hub)
        assert await result(hub, claim=FixedClaim(seconds=0)) == (DeletionResult.REFUSED, 1)
        assert deletions(hub) == []


@pytest.mark.parametrize("word", ["addonplacementscores", "managedclusters", "managedclusteraddons"])
async def test_a_read_that_fails_deletes_nothing(word: str) -> None:
    async with ObjectHub() as hub:
        put(hub)
        hub.refusals[f"GET {word}"] = [403]
        with pytest.raises(ApiError):
            await result(hub)
        assert deletions(hub) == []


READS = ("GET addonplacementscores", "GET managedclusters", "GET managedclusteraddons")
DELETION = "DELETE addonplacementscores"


@asynccontextmanager
async def stopped(
    hub: ObjectHub, word: str, *, answered: bool, claim: FixedClaim
) -> AsyncIterator[asyncio.Task[tuple[DeletionResult, int]]]:
    """A deletion of a dead score that is stopped at this request: before the hub gets it, or before the
    answer is read. It continues after the block.
    """
    held, release = asyncio.Event(), asyncio.Event()

    async def arrives(asked: str) -> None:
        if asked == word and not answered and not held.is_set():
            held.set()
            await release.wait()

    def between(asked: str) -> None:
        if asked == word and answered and not held.is_set():
            hub.gate = release
            held.set()

    hub.arrives, hub.between = arrives, between
    task = asyncio.create_task(result(hub, claim=claim))
    await held.wait()
    yield task
    release.set()
    await task


@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("word", READS)
async def test_a_score_of_an_agent_that_came_back_stays_after_a_stop_at_any_read(
    word: str, answered: bool
) -> None:
    """Another replica leads meanwhile. The agent has not published yet, so the score is the one that was
    read.
    """
    async with ObjectHub() as hub:
        put(hub)
        claim = FixedClaim()
        async with stopped(hub, word, answered=answered, claim=claim) as deletion:
            hub.put("managedclusteraddons", "gitops-dsf-agent", namespace="c1", status={})
            claim.seconds = 0
        late = answered and word == READS[-1]
        assert deletion.result() == ((DeletionResult.REFUSED, 1) if late else (DeletionResult.KEPT, 0))
        assert deletions(hub) == []


@pytest.mark.parametrize(
    ("word", "answered"),
    [*((word, answered) for word in READS for answered in (False, True)), (DELETION, False)],
)
async def test_the_api_server_alone_keeps_a_score_that_was_renewed_during_a_stop(
    word: str, answered: bool
) -> None:
    """The claim on the Lease never ends here."""
    async with ObjectHub() as hub:
        put(hub)
        async with stopped(hub, word, answered=answered, claim=FixedClaim()) as deletion:
            hub.put("managedclusteraddons", "gitops-dsf-agent", namespace="c1", status={})
            hub.version += 1
            score = hub.objects["addonplacementscores", "c1", "cpu-score"]
            score["metadata"]["resourceVersion"] = str(hub.version)
            score["status"]["validUntil"] = "2100-01-01T00:00:00Z"
        assert deletion.result()[0] in {DeletionResult.KEPT, DeletionResult.REFUSED}
        assert hub.get("addonplacementscores", "cpu-score", namespace="c1") is not None
        sent = word == DELETION or (answered and word == READS[-1])
        assert len(deletions(hub)) == sent
