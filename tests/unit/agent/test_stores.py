"""Stores: writes that are not sent, and files."""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dsf_agent.endpoints.apiserver import AgentApiServer
from dsf_agent.errors import AgentError
from dsf_agent.publish.directory import DirectoryStore
from dsf_agent.publish.hub import HubStore
from dsf_agent.publish.store import StoredScores, labels
from dsf_wire.scored import Reason
from tests.support.agent.hub import HAS_SCORES
from tests.support.waiting import until

MAX_SCORE_ITEMS = 20_000


class Untouched(AgentApiServer):
    async def call(self, method: str, path: str, **_how: Any) -> Any:
        pytest.fail(f"{method} {path}")


@pytest.mark.parametrize(("count", "letters"), [(MAX_SCORE_ITEMS, 0), (6000, 200)])
async def test_too_many_items_are_refused_with_advice_and_not_sent(
    count: int, letters: int
) -> None:
    server = Untouched(load=lambda: pytest.fail("no access"), timeout_seconds=1)
    store = HubStore(server=server, cluster="c1")
    values = {f"{'n' * letters}{number}": 1 for number in range(count)}
    with pytest.raises(
        AgentError, match=f"{count} items make an object of .*; use a coarser"
    ) as caught:
        await store.write(
            "cpu", scorer="cpu", values=values, valid_until=1_800_000_000.0, condition=HAS_SCORES
        )
    assert caught.value.reason is Reason.TOO_LARGE


class SlowValues(Mapping[str, int]):
    """Scores whose write takes as long as a test wants."""

    def __init__(self, value: int) -> None:
        self._value = value
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def __getitem__(self, key: str) -> int:
        return self._value

    def __iter__(self) -> Iterator[str]:
        self.begun.set()
        assert self.go_on.wait(timeout=60)
        return iter(["a"])

    def __len__(self) -> int:
        return 1


async def test_labels_that_stand_are_not_written_again() -> None:
    sent, stands = (
        list[str](),
        {"metadata": {"name": "cpu", "labels": labels("cpu", hub_scorer=False)}},
    )

    class Answered(AgentApiServer):
        async def call(self, method: str, path: str, **how: Any) -> Any:
            sent.append(f"{method} {path.rpartition('/')[2]}")
            return msgspec.convert(stands, type=how.get("shape", dict))

    server = Answered(load=lambda: pytest.fail("no access"), timeout_seconds=1)
    store = HubStore(server=server, cluster="c1")
    await store.write("cpu", scorer="cpu", values={"a": 1}, valid_until=2e9, condition=HAS_SCORES)
    assert sent[-1] == "PATCH status"


def _store(directory: Path) -> DirectoryStore:
    return DirectoryStore(directory=directory, cluster="c1")


async def _read(store: DirectoryStore, name: str) -> StoredScores | None:
    return next((one for one in await store.list_owned() if one.name == name), None)


@pytest.mark.real_time
@pytest.mark.parametrize("then", ["write", "delete"])
async def test_a_cancelled_write_does_not_finish_after_the_next_change(
    tmp_path: Path, then: str
) -> None:
    """A worker is replaced, or its scorer removed, while a slow disk still writes the old
    scores.
    """
    store, old = _store(tmp_path), SlowValues(1)
    await store.write("s", scorer="n", values={"a": 0}, valid_until=2e9, condition=HAS_SCORES)
    stands = await _read(store, "s")
    assert stands is not None
    slow = asyncio.create_task(
        store.write("s", scorer="n", values=old, valid_until=2e9, condition=HAS_SCORES)
    )
    await until(old.begun.is_set, what="it writes")
    slow.cancel()
    with suppress(asyncio.CancelledError):
        await slow
    following = asyncio.create_task(
        store.write("s", scorer="n", values={"a": 2}, valid_until=2e9, condition=HAS_SCORES)
        if then == "write"
        else store.delete(stands)
    )
    other = asyncio.create_task(
        store.write("other", scorer="m", values={"a": 3}, valid_until=2e9, condition=HAS_SCORES)
    )
    await other
    await asyncio.sleep(0.05)
    old.go_on.set()
    await following
    found = await _read(store, "s")
    assert (found.values if found is not None else None) == ({"a": 2} if then == "write" else None)
    assert sorted(path.name for path in tmp_path.iterdir()) == (
        ["other.yaml", "s.yaml"] if then == "write" else ["other.yaml"]
    )


async def test_a_directory_that_cannot_be_written_is_a_failure_of_the_write(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the directory should be")
    store = _store(blocked)
    for call in (
        store.list_owned(),
        store.write("s", scorer="n", values={"a": 1}, valid_until=2e9, condition=HAS_SCORES),
    ):
        with pytest.raises(AgentError, match="blocked") as caught:
            await call
        assert caught.value.reason is Reason.WRITE_FAILED


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[",
        b"7",
        b"status: {validUntil: 2026-99-99}",
        b"\xff\xfe",
        b"[" * 5000,
        b"metadata: [1]\nstatus: {scores: {a: 1}}",
    ],
)
async def test_an_invalid_file_is_replaced_and_hides_no_other(
    tmp_path: Path, content: bytes
) -> None:
    """A damaged file, or a file of another program, is not a failure of a scorer."""
    store = _store(tmp_path)
    await store.write("other", scorer="m", values={"a": 3}, valid_until=2e9, condition=HAS_SCORES)
    (tmp_path / "s.yaml").write_bytes(content)
    assert [one.name for one in await store.list_owned()] == ["other"]
    await store.write("s", scorer="n", values={"a": 1}, valid_until=2e9, condition=HAS_SCORES)
    found = await _read(store, "s")
    assert found is not None
    assert (found.values, found.owned_by(hub_scorer=False)) == ({"a": 1}, True)
