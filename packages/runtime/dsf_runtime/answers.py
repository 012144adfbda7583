"""Limits the answer of a peer: its head, its bytes, and the number of its pieces.

httpcore 1.0 has no limit for heads: interim (1xx) responses may follow one another endlessly, and
everything that was read is parsed in one step, in which no time-out can fire.

Callers ask for ``Accept-Encoding: identity``, set a time-out around the whole call, and use the
clients of ``webclient`` for peers that they do not trust.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpcore
import httpx

HEAD_BYTES: Final = 64 << 10
"""Largest head, including all interim responses before it."""
HEAD_LINES: Final = 512
"""Most lines of a head, including all interim responses before it."""
PIECE: Final = 4 << 10
"""Bytes of a head that are parsed in one step: at most 6 ms. Most heads are smaller."""

BODY_PIECE: Final = 256 << 10
"""Bytes of a body that are read at once: all that the event loop has. Smaller pieces would be cut
from it again and again. A connection holds up to five of them.
"""
FRAMED_PIECE: Final = 64 << 10
"""The same for a body in chunks. Trailers of this size are parsed in one step."""
IDENTITY: Final = {"Accept-Encoding": "identity"}
"""The header for every request. A compressed answer of 200 kB may have 200 MB."""
FREE_CHUNKS: Final = 10_000
"""Chunks of any size, so that a server may flush after each result. Each costs about 40 µs."""
CHUNK_BYTES: Final = 256
"""An answer may have one more chunk for this many bytes."""
TURN: Final = 16
"""Chunks after which other tasks may run."""


class ExcessError(Exception):
    """A peer sends too much. The message continues a sentence that begins with its address."""


class HeadStream(httpcore.AsyncNetworkStream):
    """A connection that reads heads in small pieces and refuses large ones."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner
        self._in_head = True
        self._bytes = self._lines = 0
        self._framed = True

    def ended(self, *, framed: bool) -> None:
        """Call this when the head is complete.

        ``framed``: the body has chunks, so trailers may follow.
        """
        self._in_head = False
        self._framed = framed

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's signature
        """Reads some bytes.

        Raises ExcessError if all that was read so far is not a complete head, and is too large for
        one.
        """
        # A body is limited by `Body`, and reading it in small pieces would cost much more CPU.
        if not self._in_head:
            return await self._inner.read(
                FRAMED_PIECE if self._framed else BODY_PIECE, timeout=timeout
            )
        # Counted from the request on, not for each response: interim ones may follow without end.
        if self._bytes > HEAD_BYTES or self._lines > HEAD_LINES:
            raise ExcessError(
                f"sends a head of more than {HEAD_BYTES} bytes or {HEAD_LINES} lines,"
                " interim responses included"
            )
        data = await self._inner.read(min(max_bytes, PIECE), timeout=timeout)
        self._bytes += len(data)
        self._lines += data.count(b"\n")
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's signature
        """Writes a part of a request. A new head follows."""
        self._in_head = True
        self._bytes = 0
        self._lines = 0
        await self._inner.write(buffer, timeout=timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(self, *context: Any, **how: Any) -> httpcore.AsyncNetworkStream:  # noqa: ANN401
        """The stream inside TLS has the same limits."""
        return HeadStream(await self._inner.start_tls(*context, **how))

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - httpcore's signature
        return self._inner.get_extra_info(info)


class _Backend(httpcore.AnyIOBackend):
    """Creates streams with limits. httpcore uses the same backend on asyncio."""

    async def connect_tcp(self, *where: Any, **how: Any) -> httpcore.AsyncNetworkStream:  # noqa: ANN401
        return HeadStream(await super().connect_tcp(*where, **how))


def limited(transport: httpx.AsyncHTTPTransport) -> httpx.AsyncHTTPTransport:
    """Limits the heads on all connections of a transport, also those through a proxy.

    Returns the transport.
    """
    # httpx 0.28 has no parameter for this.
    pool: Any = transport._pool  # noqa: SLF001
    pool._network_backend = _Backend()  # noqa: SLF001
    return transport


class TooLargeError(ExcessError):
    """The content is larger than the caller's limit."""


class CodingError(Exception):
    """The body has a Content-Encoding that was not asked for."""

    def __init__(self, coding: str) -> None:
        super().__init__(
            f"the answer has Content-Encoding {coding!r}, which was not asked for; let the server,"
            " or the proxy before it, answer requests with 'Accept-Encoding: identity' without"
            " compression"
        )


def check_coding(coding: str | None) -> None:
    """Raises CodingError if this Content-Encoding says that the body is compressed."""
    if coding and coding.strip().lower() not in {"", "identity"}:
        raise CodingError(coding)


class Body:
    """The content of an answer while it arrives, at most ``limit`` bytes.

    A longer one is cut if ``cut``.

    It stays in its chunks, because memory that grows is copied again and again.
    """

    def __init__(self, headers: Mapping[str, str], *, limit: int, cut: bool = False) -> None:
        """Raises CodingError, and TooLargeError if the announced length is above the limit."""
        check_coding(headers.get("Content-Encoding"))
        length = headers.get("Content-Length", "")
        # isdigit alone is also true of digits that int() reads and HTTP does not know.
        if length.isascii() and length.isdigit() and int(length) > limit and not cut:
            raise TooLargeError(
                f"announces {int(length)} bytes, more than the limit of {limit} bytes"
            )
        self.chunks: list[bytes] = []
        self.size = 0
        self._limit = limit
        self._cut = cut

    def add(self, chunk: bytes) -> bool:
        """Takes a chunk. Returns whether the rest is cut. Raises TooLargeError and ExcessError."""
        # The length may be absent, or wrong, so the bytes count.
        room = self._limit - self.size
        if len(chunk) > room and not self._cut:
            raise TooLargeError(f"sends more than the limit of {self._limit} bytes")
        self.chunks.append(chunk[:room])
        self.size += len(self.chunks[-1])
        # 64 MiB in chunks of one byte are within the limit of bytes, and cost 45 minutes of CPU.
        if len(self.chunks) > FREE_CHUNKS + self.size // CHUNK_BYTES:
            raise ExcessError(
                f"sends {len(self.chunks)} chunks for {self.size} bytes; let it collect its answer"
                " before it writes"
            )
        return len(chunk) > room


async def read(response: httpx.Response, *, limit: int) -> bytes:
    """The whole content of an answer; as ``chunks``."""
    return b"".join(await chunks(response, limit=limit))


async def chunks(
    response: httpx.Response,
    *,
    limit: int,
    cut: bool = False,
    on_bytes: Callable[[int], None] = lambda _size: None,
) -> list[bytes]:
    """Reads at most ``limit`` bytes of content, see Body.

    Raises TooLargeError, ExcessError, CodingError, the errors of httpx, and what ``on_bytes``
    raises for the size of a piece.
    """
    body = Body(response.headers, limit=limit, cut=cut)
    stream = response.extensions.get("network_stream")
    if isinstance(stream, HeadStream):
        stream.ended(framed="Transfer-Encoding" in response.headers)
    async for chunk in response.aiter_raw():
        if body.add(chunk):
            break
        on_bytes(len(chunk))
        if len(body.chunks) % TURN == 0:
            await asyncio.sleep(0)
    return body.chunks
