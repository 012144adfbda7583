"""Fixtures for all tests of the agent: a test fails if it leaves tasks or descriptors behind."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from dsf_agent.process import supervise
from tests.support.agent.running import AgentFolder


@pytest.fixture(autouse=True)
def _agents_collect_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents collect every ten seconds of virtual time, so hundreds of times in a test.

    To go through everything that the test keeps would take a quarter of its time.
    """
    monkeypatch.setattr(supervise, "gc", SimpleNamespace(collect=partial(gc.collect, 0)))


@pytest.fixture(autouse=True)
def _no_descriptor_left() -> Iterator[None]:
    before = _descriptors()
    yield
    # The file watch ends in a thread of its own, a moment after its last user.
    end = time.monotonic() + 30
    while (left := _descriptors() - before) and time.monotonic() < end:
        time.sleep(0.02)
    assert not left, f"descriptors left behind: {sorted(left)}"


@pytest.fixture(autouse=True)
async def _no_task_left(_no_descriptor_left: None) -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    assert not left, f"tasks left behind: {sorted(task.get_name() for task in left if task)}"


def _descriptors() -> set[str]:
    found = set()
    for path in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add(f"{path.name} {path.readlink()}")
    return found


@pytest.fixture
def place(tmp_path: Path) -> AgentFolder:
    return AgentFolder(tmp_path)
