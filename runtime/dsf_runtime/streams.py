"""Connections of httpx to untrusted peers. Received bytes reach the HTTP parser in small pieces, and the size
of a head is limited.

httpcore parses everything that it has read at once. A megabyte of one-byte chunks, interim responses or
trailers keeps it busy for seconds, and no time-out can fire meanwhile. The work grows with the number of
lines of HTTP framing. So a piece ends after a number of lines, and each piece waits for a turn of the event
loop.
"""

import ssl
from collections.abc import Iterable
from typing import Any, Final

import httpcore
import httpx

from dsf_runtime.turns import Turns

PIECE_LINES: Final = 128
"""Most lines in a piece. A chunk or an interim response has two, which need 20 to 40 microseconds."""
BYTES_PER_UNIT: Final = 1 << 13
"""Bytes that cost as much as one line to copy and check."""
PLAIN_BYTES: Final = 256 << 10
"""Size of a piece of a body without framing. The event loop receives as many bytes at once, and each piece
needs 100 microseconds in httpcore, whatever its size.
"""
HEAD_BYTES: Final = 64 << 10
"""Largest head, including all interim (1xx) responses before it."""
HEAD_LINES: Final = 512
"""Most lines of a head, including all interim responses before it."""
BARREN_BYTES: Final = 16 << 10
"""Most bytes of framing without content between them: chunk sizes, chunk extensions, trailers."""


class ExcessError(Exception):
    """A peer sends more than the limits allow. The message continues a sentence that begins with its
    address.
    """


class BoundedStream(httpcore.AsyncNetworkStream):
    """A connection that counts received bytes and passes them on in pieces."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, *, turns: Turns) -> None:
        self._inner = inner
        self._turns = turns
        self._data = b""
        self._at = 0
        """Start of the bytes that were not passed on yet."""
        self._in_head = True
        self._framed = True
        self.wire = 0
        """Bytes passed on since the request began, or since the head was complete."""
        self._lines = 0
        self._barren = 0

    def body(self, *, framed: bool) -> None:
        """Call this when the head is complete. ``framed`` means that the body has chunks, each with its own
        lines.
        """
        self._in_head, self._framed = False, framed
        self.wire = self._barren = 0

    def content(self) -> None:
        """Call this when the bytes passed on contained content."""
        self._barren = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's signature
        """Raises ExcessError if the head or the framing is too large. A body without framing comes in pieces
        of up to PLAIN_BYTES, also if fewer are asked for: httpcore always asks for 64 KiB.
        """
        self._check()
        if not self._in_head and not self._framed:
            max_bytes = max(max_bytes, PLAIN_BYTES)
        if self._at >= len(self._data):
            # Free the bytes before waiting, because hundreds of connections may wait.
            self._data, self._at = b"", 0
            self._data = await self._inner.read(max_bytes, timeout=timeout)
        end, lines = self._end(max_bytes)
        size = end - self._at
        await self._turns.take(lines + size // BYTES_PER_UNIT)
        piece = self._data[self._at : end]
        self._at = end
        self._lines += lines
        self.wire += size
        self._barren += size
        return piece

    def _check(self) -> None:
        if self._in_head and (self.wire > HEAD_BYTES or self._lines > HEAD_LINES):
            msg = (
                f"sends a head of more than {HEAD_BYTES} bytes or {HEAD_LINES} lines,"
                " interim responses included"
            )
            raise ExcessError(msg)
        if not self._in_head and self._framed and self._barren > BARREN_BYTES:
            msg = f"sends more than {BARREN_BYTES} bytes of framing without content"
            raise ExcessError(msg)

    def _end(self, most: int) -> tuple[int, int]:
        """The end of the next piece, and its number of lines."""
        end = min(len(self._data), self._at + most)
        if not self._in_head and not self._framed:
            return end, 0
        at = self._at
        for lines in range(PIECE_LINES):
            at = self._data.find(b"\n", at, end) + 1
            if not at:
                return end, lines
        return at, PIECE_LINES

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's signature
        """Writes a part of a request."""
        self._in_head, self._framed = True, True
        self.wire = self._lines = self._barren = 0
        await self._inner.write(buffer, timeout=timeout)

    async def aclose(self) -> None:
        """Closes the connection and drops bytes that were not passed on."""
        self._data, self._at = b"", 0
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> httpcore.AsyncNetworkStream:
        """The stream inside TLS has the same limits."""
        inner = await self._inner.start_tls(ssl_context, server_hostname=server_hostname, timeout=timeout)
        return BoundedStream(inner, turns=self._turns)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - httpcore's signature
        """Reports unread bytes, so that httpcore does not use the connection again."""
        if info == "is_readable" and self._at < len(self._data):
            return True
        return self._inner.get_extra_info(info)


class _Backend(httpcore.AsyncNetworkBackend):
    """Creates bounded streams."""

    def __init__(self, inner: httpcore.AsyncNetworkBackend, *, turns: Turns) -> None:
        self._inner = inner
        self._turns = turns

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = await self._inner.connect_tcp(
            host, port, timeout=timeout, local_address=local_address, socket_options=socket_options
        )
        return BoundedStream(stream, turns=self._turns)

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


def bound(client: httpx.AsyncClient, *, turns: Turns) -> httpx.AsyncClient:
    """Limits all connections of a client, including those through proxies, and returns the client.

    httpx has no parameter for this, and own transports would have to find the proxies of the environment.
    """
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001
        if isinstance(transport, httpx.AsyncHTTPTransport):
            pool: Any = transport._pool  # noqa: SLF001
            pool._network_backend = _Backend(pool._network_backend, turns=turns)  # noqa: SLF001
    return client
