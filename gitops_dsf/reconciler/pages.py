"""/metrics, /healthz and /readyz: three pages over plain HTTP, one answer per connection."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from gitops_dsf.errors import UsageError
from gitops_dsf.reconciler.metrics import Metrics

REQUEST_SECONDS: Final = 5.0
_TEXT: Final = "text/plain; charset=utf-8"


@contextlib.asynccontextmanager
async def serve_pages(*, host: str, port: int, metrics: Metrics, waits_for: Callable[[], str]) -> AsyncIterator[int]:
    """Serves for as long as the block runs; yields the port. `waits_for` says what readiness waits for, "" when ready."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_response(head, metrics, waits_for))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        finally:
            # Also what was written and never read: a peer that stopped reading keeps nothing here.
            writer.transport.abort()

    try:
        server = await asyncio.start_server(answer, host, port)
    except OSError as error:
        msg = f"--metrics-address {host}:{port}: {error.strerror or error}"
        raise UsageError(msg) from error
    async with server:
        yield int(server.sockets[0].getsockname()[1])


def _response(head: bytes, metrics: Metrics, waits_for: Callable[[], str]) -> bytes:
    answer = _answer(head, metrics, waits_for)
    return answer[: answer.index(b"\r\n\r\n") + 4] if head.startswith(b"HEAD ") else answer


def _answer(head: bytes, metrics: Metrics, waits_for: Callable[[], str]) -> bytes:
    words = head.split(b"\r\n", 1)[0].split(b" ")
    path = words[1].split(b"?")[0].decode("latin-1") if len(words) == 3 else ""
    if words[0] not in {b"GET", b"HEAD"}:
        return _page("405 Method Not Allowed", _TEXT, b"GET only\n")
    if path == "/metrics":
        return _page("200 OK", CONTENT_TYPE_LATEST, generate_latest(metrics.registry))
    if path == "/healthz":
        return _page("200 OK", _TEXT, b"ok\n")
    if path == "/readyz":
        missing = waits_for()
        return _page("503 Service Unavailable", _TEXT, f"waits for {missing}\n".encode()) if missing else _page("200 OK", _TEXT, b"ok\n")
    return _page("404 Not Found", _TEXT, b"there are /metrics, /healthz and /readyz\n")


def _page(status: str, media: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
