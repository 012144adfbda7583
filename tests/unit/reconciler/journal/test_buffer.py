"""The buffer on a hub: what is staged, saved, and kept after somebody else wrote."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from dsf_runtime.apiserver import ApiError
from gitops_dsf.journal.record import Record, new_record
from gitops_dsf.reconciler.journal.buffer import JournalBuffer, Saved
from gitops_dsf.reconciler.journal.observing import Head, head_of
from tests.support.objecthub import ObjectHub


@pytest.fixture
async def hub() -> AsyncIterator[ObjectHub]:
    async with ObjectHub() as hub:
        yield hub


def record(number: int, before: str, after: str) -> tuple[Record, Head]:
    found = new_record(
        placement="argocd/portal",
        number=number,
        time=datetime(2026, 6, 1, tzinfo=UTC),
        kind="Change",
        before={before},
        after={after},
    )
    return found, head_of(found, {after})


async def test_what_one_buffer_saved_another_one_loads(hub: ObjectHub) -> None:
    async with hub.api() as api:
        one, two = (JournalBuffer(api=api, namespace="hub") for _ in range(2))
        assert not await one.load()
        first = record(1, "a", "b")
        one.stage([first])
        assert one.heads == {"argocd/portal": first[1]}
        assert await one.save() == Saved(count=1)
        assert await one.save() == Saved()
        assert await two.load()
        assert (two.held.pending, two.heads) == ((first[0],), one.heads)
        await two.remove([first[0].id])
        assert not two.held.pending


async def test_a_write_that_took_effect_without_an_answer_is_not_repeated(hub: ObjectHub) -> None:
    async with hub.api() as api:
        one, same = (JournalBuffer(api=api, namespace="hub") for _ in range(2))
        one.stage([record(1, "a", "b")])
        await one.save()
        await same.load()
        for buffer in (same, one):  # the write of `same` is the one whose answer was lost
            buffer.stage([record(2, "b", "c")])
        await same.save()
        one.stage([record(3, "c", "a")])
        with pytest.raises(ApiError, match="409"):
            await one.save()
        await one.reload()
        assert await one.save() == Saved(count=1)
        assert [each.number for each in one.held.pending] == [1, 2, 3]


async def test_what_another_replica_saw_otherwise_is_dropped(hub: ObjectHub) -> None:
    async with hub.api() as api:
        one, other = (JournalBuffer(api=api, namespace="hub") for _ in range(2))
        one.stage([record(1, "a", "b")])
        await one.save()
        await other.load()
        other.stage([record(2, "b", "d")])
        await other.save()
        one.stage([record(2, "b", "c"), record(3, "c", "d")])
        with pytest.raises(ApiError, match="409"):
            await one.save()
        await one.reload()
        assert await one.save() == Saved()
        assert [each.to for each in one.held.pending] == [("b",), ("d",)]


@pytest.mark.parametrize("heads", [None, "{", "[]"])
async def test_a_configmap_that_does_not_say_what_was_recorded_keeps_its_records(
    hub: ObjectHub, heads: str | None
) -> None:
    async with hub.api() as api:
        one = JournalBuffer(api=api, namespace="hub")
        one.stage([record(1, "a", "b")])
        await one.save()
        data = hub.objects["configmaps", "hub", "gitops-dsf-journal"]["data"]
        data.pop("heads.json")
        data |= {} if heads is None else {"heads.json": heads}
        data["pending.jsonl"] += "what is this?\n"
        other = JournalBuffer(api=api, namespace="hub")
        assert not await other.load()
        assert [each.number for each in other.held.pending] == [1]
