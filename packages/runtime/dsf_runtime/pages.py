"""/metrics, /healthz and /readyz on the program's event loop, so liveness fails if the loop hangs."""

import asyncio
import http
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import h11

log = logging.getLogger(__name__)

IDLE_SECONDS: Final = 75.0
WRITE_SECONDS: Final = 30.0
"""A peer must read its answer within this time. After it the connection is closed."""
MAX_CONNECTIONS: Final = 256
"""Above it the connection that idles longest, or else the oldest, makes room, so probes get through."""
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
    """Listens on one address; ``port`` is the real one after ``start``. ``metrics`` answers by the header
    Accept, ``ready`` with status 200 or 503.
    """

    host: str
    port: int
    metrics: Callable[[str], Awaitable[Page]]
    ready: Callable[[], Page]
    write_seconds: float = WRITE_SECONDS
    _scraping: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    """One scrape at a time: a probe waits for one, and not for one of each connection."""
    _server: asyncio.Server | None = field(init=False, default=None)
    _open: dict[asyncio.Task[None], None] = field(init=False, default_factory=dict)
    """Connections, the oldest first."""
    _silent: dict[asyncio.Task[None], None] = field(init=False, default_factory=dict)
    """Connections that wait for a request. The one that waits longest is first."""

    @property
    def connections(self) -> int:
        """Number of open connections."""
        return len(self._open)

    async def start(self) -> None:
        """Starts to listen. Raises OSError if the address cannot be bound."""
        self._server = await asyncio.start_server(self._accepted, self.host or None, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None:
            writer.close()
            return
        if len(self._open) >= MAX_CONNECTIONS:
            self._close_one()
        self._open[task] = None
        try:
            await self._serve(reader, writer, task=task)
            writer.close()
            async with asyncio.timeout(self.write_seconds):
                await writer.wait_closed()
        except (OSError, TimeoutError, h11.ProtocolError, asyncio.CancelledError):
            log.debug("a connection ended early", exc_info=True)
        finally:
            # Drop the connection and unsent bytes of a peer that stopped reading.
            writer.transport.abort()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
            self._open.pop(task, None)

    def _close_one(self) -> None:
        oldest = next(iter(self._silent or self._open))
        self._silent.pop(oldest, None)
        del self._open[oldest]
        oldest.cancel()

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, task: asyncio.Task[None]
    ) -> None:
        connection = h11.Connection(h11.SERVER)
        while True:
            self._silent[task] = None
            try:
                request = await self._request(connection, reader)
            finally:
                self._silent.pop(task, None)
            if request is None:
                return
            async with asyncio.timeout(self.write_seconds):
                await self._answer(connection, request, writer)
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                return
            connection.start_next_cycle()
            await asyncio.sleep(0)  # requests that were sent ahead wait for other connections

    async def _request(self, connection: h11.Connection, reader: asyncio.StreamReader) -> h11.Request | None:
        request: h11.Request | None = None
        async with asyncio.timeout(IDLE_SECONDS):
            while True:
                event = connection.next_event()
                if event is h11.NEED_DATA:
                    connection.receive_data(await reader.read(READ_SIZE))
                elif isinstance(event, h11.Request):
                    request = event
                elif isinstance(event, h11.EndOfMessage):
                    return request
                elif isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
                    return None

    async def _answer(
        self, connection: h11.Connection, request: h11.Request, writer: asyncio.StreamWriter
    ) -> None:
        if request.method not in {b"GET", b"HEAD"}:
            page = Page(status=405, parts=[b"only GET is served here\n"], headers={"Allow": "GET, HEAD"})
        else:
            path = request.target.decode("latin-1").partition("?")[0]
            accept = dict(request.headers).get(b"accept", b"")
            page = await self._page(path, accept=accept.decode("latin-1"))
        length = sum(len(part) for part in page.parts)
        head = [("Content-Type", page.content_type), ("Content-Length", str(length)), *page.headers.items()]
        start = h11.Response(
            status_code=page.status, reason=http.HTTPStatus(page.status).phrase, headers=head
        )
        writer.write(connection.send(start) or b"")
        if request.method != b"HEAD":
            for part in page.parts:
                # With Content-Length, h11 passes data through unchanged, so the parts are not copied.
                for piece in connection.send_with_data_passthrough(h11.Data(data=part)) or []:
                    writer.write(piece)
                await writer.drain()
        writer.write(connection.send(h11.EndOfMessage()) or b"")
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
