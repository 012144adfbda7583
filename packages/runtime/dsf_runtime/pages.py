"""/metrics, /healthz and /readyz on the program's event loop, so liveness fails if the loop hangs."""

import asyncio
import http
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

log = logging.getLogger(__name__)

REQUEST_SECONDS: Final = 75.0
"""A peer must send its request within this time."""
WRITE_SECONDS: Final = 30.0
"""A peer must read its answer within this time. After it the connection is closed."""
MAX_CONNECTIONS: Final = 256
"""Above it the oldest connection makes room, so that probes get through."""
MAX_REQUEST: Final = 16 * 1024
_REQUEST: Final = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.[01]\r\n")
_ACCEPT: Final = re.compile(rb"\r\naccept:([^\r\n]*)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Page:
    """An answer. ``parts`` are written one after another without being joined."""

    status: int = 200
    content_type: str = "text/plain; charset=utf-8"
    parts: list[bytes] = field(default_factory=list)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(kw_only=True, eq=False, repr=False)
class PageServer:
    """Listens on one address; ``port`` is real after ``start``. ``metrics`` gets Accept, ``ready`` gives 200
    or 503.
    """

    host: str
    port: int
    metrics: Callable[[str], Awaitable[Page]]
    ready: Callable[[], Page]
    write_seconds: float = WRITE_SECONDS
    connections: dict[asyncio.Task[None], None] = field(init=False, default_factory=dict)
    """The open ones, the oldest first."""
    _scraping: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    """One scrape at a time: a probe waits for one, and not for one of each connection."""
    _server: asyncio.Server | None = field(init=False, default=None)

    async def start(self) -> None:
        """Starts to listen. Raises OSError if the address cannot be bound."""
        self._server = await asyncio.start_server(
            self._accepted, self.host or None, self.port, limit=MAX_REQUEST
        )
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
        if len(self.connections) >= MAX_CONNECTIONS:
            oldest = next(iter(self.connections))
            del self.connections[oldest]
            oldest.cancel()
        self.connections[task] = None
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                request = await reader.readuntil(b"\r\n\r\n")
            async with asyncio.timeout(self.write_seconds):
                await self._answer(request, writer)
                writer.close()
                await writer.wait_closed()
        except (OSError, EOFError, asyncio.LimitOverrunError, asyncio.CancelledError):
            log.debug("a connection ended early", exc_info=True)
        finally:
            # Drop the connection and unsent bytes of a peer that stopped reading.
            writer.transport.abort()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
            self.connections.pop(task, None)

    async def _answer(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        found = _REQUEST.match(request)
        if found is None:
            return
        method, target = found.groups()
        if method in {b"GET", b"HEAD"}:
            accept = _ACCEPT.search(request)
            path = target.decode("latin-1").partition("?")[0]
            page = await self._page(path, accept=accept[1].decode("latin-1") if accept is not None else "")
        else:
            page = Page(status=405, parts=[b"only GET is served here\n"], headers={"Allow": "GET, HEAD"})
        headers = {
            "Content-Type": page.content_type,
            "Content-Length": str(sum(len(part) for part in page.parts)),
            "Connection": "close",
            **page.headers,
        }
        head = [f"HTTP/1.1 {page.status} {http.HTTPStatus(page.status).phrase}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        writer.write(("\r\n".join(head) + "\r\n\r\n").encode("latin-1"))
        for part in page.parts if method != b"HEAD" else ():
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
