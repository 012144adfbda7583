"""/metrics, /healthz and /readyz over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gitops_dsf.reconciler.metrics import ReconcilerMetrics
from gitops_dsf.reconciler.run import serve_pages


@asynccontextmanager
async def serving(
    metrics: ReconcilerMetrics | None = None, *, waits_for: str = ""
) -> AsyncIterator[int]:
    async with serve_pages(
        host="127.0.0.1",
        port=0,
        metrics=metrics or ReconcilerMetrics(),
        waits_for=lambda: waits_for,
    ) as port:
        yield port


async def ask(port: int, request: str) -> tuple[str, bytes]:
    """(status line, body) of one request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{request}\r\nHost: here\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0].decode().removeprefix("HTTP/1.1 "), body


@pytest.mark.parametrize(
    ("page", "waits_for", "answer"),
    [
        ("/readyz", "", ("200 OK", b"ok\n")),
        ("/readyz", "watch, moves", ("503 Service Unavailable", b"waits for watch, moves\n")),
        ("/healthz", "watch", ("200 OK", b"ok\n")),
    ],
)
async def test_it_is_ready_once_nothing_is_missing(
    page: str, waits_for: str, answer: tuple[str, bytes]
) -> None:
    async with serving(waits_for=waits_for) as port:
        assert await ask(port, f"GET {page} HTTP/1.1") == answer


async def test_metrics_are_prometheus_text() -> None:
    metrics = ReconcilerMetrics()
    metrics.leader.set(1)
    async with serving(metrics) as port:
        status, body = await ask(port, "GET /metrics HTTP/1.1")
        assert status == "200 OK"
        assert b"\ngitops_dsf_reconciler_leader 1.0\n" in body
