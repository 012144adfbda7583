"""Connections of httpx to peers that may do anything: what they send reaches the HTTP parser in pieces of
bounded work, and a head has a bounded size.

httpx's engine parses all that it has read in one go. A megabyte of one-byte chunks, of interim responses or
of trailers keeps it busy for seconds, in which no time-out can fire. Its work grows with the lines of HTTP
framing, so a piece ends after so many line ends, and each piece waits for a turn of the event loop.
"""

import ssl
from collections.abc import Iterable
from typing import Any, Final

import httpcore
import httpx

from dsf_runtime.turns import Turns

PIECE_LINES: Final = 128
"""Line ends in a piece. Two are a chunk or an interim response, some 20 to 40 microseconds of work."""
BYTES_PER_UNIT: Final = 1 << 13
"""Bytes that are copied and checked for the cost of a line."""
HEAD_BYTES: Final = 64 << 10
"""Bytes of a head, with all interim (1xx) responses before it."""
HEAD_LINES: Final = 512
"""Lines of a head, with all interim responses before it."""
BARREN_BYTES: Final = 16 << 10
"""Bytes of framing that may follow each other without content: sizes and extensions of chunks, trailers."""


class ExcessError(Exception):
    """A peer sends more than is read of it; the words continue the sentence that begins with its address."""


class BoundedStream(httpcore.AsyncNetworkStream):
    """A connection that counts what comes in and hands it on in pieces."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, *, turns: Turns) -> None:
        self._inner = inner
        self._turns = turns
        self._data = b""
        self._at = 0
        """Where what was not handed on begins."""
        self._in_head = True
        self._framed = True
        self.wire = 0
        """Bytes handed on since the request, or since the head was complete."""
        self._lines = 0
        self._barren = 0

    def body(self, *, framed: bool) -> None:
        """The head is complete. ``framed``: the body comes in chunks, each with lines of its own."""
        self._in_head, self._framed = False, framed
        self.wire = self._barren = 0

    def content(self) -> None:
        """What was handed on held content."""
        self._barren = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's signature
        """Raises ExcessError when the peer sends a head or framing without end."""
        self._check()
        if self._at >= len(self._data):
            # Nothing is kept while it waits: hundreds of connections may.
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
        """Where the next piece ends, and how many line ends it has."""
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
        """A request begins, or goes on."""
        self._in_head, self._framed = True, True
        self.wire = self._lines = self._barren = 0
        await self._inner.write(buffer, timeout=timeout)

    async def aclose(self) -> None:
        """Forgets what was not handed on."""
        self._data, self._at = b"", 0
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> httpcore.AsyncNetworkStream:
        """The stream inside of TLS is bounded, too."""
        inner = await self._inner.start_tls(ssl_context, server_hostname=server_hostname, timeout=timeout)
        return BoundedStream(inner, turns=self._turns)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - httpcore's signature
        """A connection that holds bytes nobody asked for cannot be used again."""
        if info == "is_readable" and self._at < len(self._data):
            return True
        return self._inner.get_extra_info(info)


class _Backend(httpcore.AsyncNetworkBackend):
    """Makes bounded streams."""

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
    """The client, whose connections are bounded from now on, those through proxies included.

    httpx has no parameter for this; transports of our own would have to find the proxies of the environment
    themselves.
    """
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001
        if isinstance(transport, httpx.AsyncHTTPTransport):
            pool: Any = transport._pool  # noqa: SLF001
            pool._network_backend = _Backend(pool._network_backend, turns=turns)  # noqa: SLF001
    return client
