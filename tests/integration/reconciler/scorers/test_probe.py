"""A round of probes over real servers."""

import asyncio
import json
from contextlib import AsyncExitStack

import msgspec
import pytest

from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.hub.kinds import scorer
from gitops_dsf.reconciler.scorers.prober import probe
from gitops_dsf.sync.fetch import Fetcher

ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 14\r\nConnection:"
    b' close\r\n\r\n{"name":"cpu"}'
)


async def server(stack: AsyncExitStack) -> str:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        writer.close()

    running = await asyncio.start_server(answer, "127.0.0.1", 0)
    stack.callback(running.close)
    return f"http://127.0.0.1:{running.sockets[0].getsockname()[1]}"


def made(name: str, url: str, mode: str = "Full") -> DynamicScorer:
    item = {"metadata": {"name": name}, "spec": {"configURL": f"{url}/config", "configSyncMode": mode}}
    return scorer(msgspec.Raw(json.dumps(item).encode()))[1]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_a_page_that_several_scorers_share_is_asked_once_and_without_full_not_at_all() -> None:
    async def go() -> None:
        async with AsyncExitStack() as stack:
            url = await server(stack)
            async with Fetcher() as fetcher:
                found = await probe(
                    [made("a", url), made("b", url), made("c", url, mode="None")], fetcher=fetcher
                )
                without = await probe([made("c", url, mode="None")], fetcher=fetcher)
        assert set(found) == {f"{url}/healthz", f"{url}/config"}
        assert set(without) == {f"{url}/healthz"}

    asyncio.run(go())
