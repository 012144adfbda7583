"""/metrics, /healthz and /readyz over HTTP, also for peers that do not behave."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.pages import REQUEST_SECONDS, serve_pages
from tests.support.in_loop import in_loop


@asynccontextmanager
async def serving(metrics: Metrics | None = None, *, waits_for: str = "") -> AsyncIterator[int]:
    async with serve_pages(host="127.0.0.1", port=0, metrics=metrics or Metrics(), waits_for=lambda: waits_for) as port:
        yield port


async def ask(port: int, request: str) -> tuple[str, bytes]:
    """(status line, body)."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode())
    answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0].decode().removeprefix("HTTP/1.1 "), body


@pytest.mark.parametrize(
    ("request_line", "waits_for", "status", "words"),
    [
        ("GET /healthz HTTP/1.1", "", "200 OK", b"ok\n"),
        ("GET /readyz HTTP/1.1", "", "200 OK", b"ok\n"),
        ("GET /readyz?verbose HTTP/1.1", "watch, moves", "503 Service Unavailable", b"waits for watch, moves\n"),
        ("GET /healthz HTTP/1.1", "watch", "200 OK", b"ok\n"),
        ("HEAD /healthz HTTP/1.1", "", "200 OK", b""),
        ("GET / HTTP/1.1", "", "404 Not Found", b"there are /metrics, /healthz and /readyz\n"),
        ("GET", "", "404 Not Found", b"there are /metrics, /healthz and /readyz\n"),
        ("POST /metrics HTTP/1.1", "", "405 Method Not Allowed", b"GET only\n"),
    ],
)
def test_each_request_has_one_answer(request_line: str, waits_for: str, status: str, words: bytes) -> None:
    @in_loop
    async def go() -> None:
        async with serving(waits_for=waits_for) as port:
            assert await ask(port, f"{request_line}\r\nHost: here\r\n\r\n") == (status, words)

    go()


@in_loop
async def test_metrics_are_prometheus_text() -> None:
    metrics = Metrics()
    metrics.leader.set(1)
    async with serving(metrics) as port:
        status, body = await ask(port, "GET /metrics HTTP/1.1\r\n\r\n")
        assert status == "200 OK"
        assert b"\ngitops_dsf_reconciler_leader 1.0\n" in body


@in_loop
async def test_a_peer_that_reads_nothing_is_let_go() -> None:
    metrics = Metrics()
    for number in range(60_000):
        metrics.scorers.healthy.labels(scorer=f"{'s' * 100}{number}").set(1)
    async with serving(metrics) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
        await asyncio.sleep(REQUEST_SECONDS + 1.5)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(size)
        writer.close()
        assert (await ask(port, "GET /healthz HTTP/1.1\r\n\r\n"))[0] == "200 OK"
