"""The pages /metrics, /healthz and /readyz on the program's event loop.

If the loop hangs, the liveness probe fails.
"""

import asyncio
import http
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import h11

log = logging.getLogger(__name__)

REQUEST_SECONDS: Final = 75.0
"""A peer must send its request within this time."""
WRITE_SECONDS: Final = 30.0
"""A peer must read its answer within this time. After it the connection is closed."""
MAX_CONNECTIONS: Final = 256
"""Above it the oldest connection makes room, so that probes get through."""
READ_SIZE: Final = 16 * 1024


@dataclass(frozen=True, kw_only=True)
class Page:
    """An answer. ``parts`` are written one after another without being joined."""

    status: int = 200
    content_type: str = "text/plain; charset=utf-8"
    parts: list[bytes] = field(default_factory=list)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(kw_only=True, eq=False, repr=False)
class PageServer:
    """Listens; ``port`` is real after ``start``.

    ``metrics`` gets the header Accept, ``ready`` gives 200 or 503.
    """

    host: str
    port: int
    metrics: Callable[[str], Awaitable[Page]]
    ready: Callable[[], Page]
    connections: dict[asyncio.Task[None], None] = field(init=False, default_factory=dict)
    """The open ones, the oldest first."""
    _scraping: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    """One scrape at a time: a probe waits for one, and not for one of each connection."""
    _server: asyncio.Server | None = field(init=False, default=None)

    async def start(self) -> None:
        """Starts to listen. Raises OSError if the address cannot be bound."""
        self._server = await asyncio.start_server(self._accepted, self.host or None, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self.connections):
            task.cancel()
        await asyncio.gather(*self.connections, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs this as a task
        # A peer that opens connections and sends nothing must not lock out the kubelet: its probes
        # would fail, and restart the pod.
        if len(self.connections) >= MAX_CONNECTIONS:
            oldest = next(iter(self.connections))
            del self.connections[oldest]
            oldest.cancel()
        self.connections[task] = None
        try:
            connection = h11.Connection(h11.SERVER)
            async with asyncio.timeout(REQUEST_SECONDS):
                request = await _request(connection, reader)
            async with asyncio.timeout(WRITE_SECONDS):
                if request is not None:
                    await self._answer(connection, request, writer)
                writer.close()
                await writer.wait_closed()
        except (OSError, h11.ProtocolError, asyncio.CancelledError):
            log.debug("a connection ended early", exc_info=True)
        finally:
            # Drop the connection and unsent bytes of a peer that stopped reading.
            writer.transport.abort()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
            self.connections.pop(task, None)

    async def _answer(
        self, connection: h11.Connection, request: h11.Request, writer: asyncio.StreamWriter
    ) -> None:
        if request.method in {b"GET", b"HEAD"}:
            accept = dict(request.headers).get(b"accept", b"").decode("latin-1")
            page = await self._page(
                request.target.decode("latin-1").partition("?")[0], accept=accept
            )
        else:
            page = Page(
                status=405, parts=[b"only GET is served here\n"], headers={"Allow": "GET, HEAD"}
            )
        headers = {
            "Content-Type": page.content_type,
            "Content-Length": str(sum(len(part) for part in page.parts)),
            # One request for each connection: probes and scrapes come seconds apart.
            "Connection": "close",
            **page.headers,
        }
        reason = http.HTTPStatus(page.status).phrase
        head = h11.Response(status_code=page.status, reason=reason, headers=list(headers.items()))
        writer.write(connection.send(head) or b"")
        # With Content-Length, a body needs no framing: its parts are not copied.
        for part in page.parts if request.method != b"HEAD" else ():
            writer.write(part)
            await writer.drain()
        await writer.drain()

    async def _page(self, path: str, *, accept: str) -> Page:
        match path:
            case "/metrics":
                async with self._scraping:
                    page = await self.metrics(accept)
                    await asyncio.sleep(0)  # the loop turns before the next scrape
                    return page
            case "/healthz":
                return Page(parts=[b"ok\n"])
            case "/readyz":
                return self.ready()
            case _:
                return Page(status=404, parts=[b"/metrics, /healthz and /readyz are served here\n"])


async def _request(connection: h11.Connection, reader: asyncio.StreamReader) -> h11.Request | None:
    """The only request of a connection; None if the peer sends none. Raises h11.ProtocolError."""
    while (event := connection.next_event()) is h11.NEED_DATA:
        connection.receive_data(await reader.read(READ_SIZE))
    return event if isinstance(event, h11.Request) else None
