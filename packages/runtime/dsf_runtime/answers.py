"""Reads the body of an answer, with limits for its bytes and for the number of its pieces. Every client reads
with it: those of the agent, of ``sync``, of the probes, of the metric store, and of API servers.

Callers ask for ``Accept-Encoding: identity``, set a time-out around the whole call, and limit heads with
``dsf_runtime.heads``.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import httpx

from dsf_runtime.heads import ExcessError, HeadStream

IDENTITY: Final = {"Accept-Encoding": "identity"}
"""The header for every request. A compressed answer of 200 kB may have 200 MB."""
FREE_CHUNKS: Final = 10_000
"""Chunks of any size in an answer, so that a server may flush after each result. Each costs about 40
microseconds, whatever its size.
"""
CHUNK_BYTES: Final = 256
"""An answer may have one more chunk for this many bytes."""
TURN: Final = 16
"""Chunks after which other tasks may run."""


class TooLargeError(ExcessError):
    """The content is larger than the caller's limit."""


class CodingError(Exception):
    """The body has a Content-Encoding that was not asked for."""

    def __init__(self, coding: str) -> None:
        super().__init__(
            f"the answer has Content-Encoding {coding!r}, which was not asked for; let the server, or the"
            " proxy before it, answer requests with 'Accept-Encoding: identity' without compression"
        )


def check_coding(coding: str | None) -> None:
    """Raises CodingError if this Content-Encoding says that the body is compressed."""
    if coding and coding.strip().lower() not in {"", "identity"}:
        raise CodingError(coding)


async def read(
    response: httpx.Response,
    *,
    limit: int,
    cut: bool = False,
    on_bytes: Callable[[int], None] = lambda _size: None,
) -> bytearray:
    """Reads at most ``limit`` bytes of content. A longer body is cut if ``cut`` is set, else TooLargeError is
    raised.

    It also raises ExcessError, CodingError and exceptions of httpx. ``on_bytes`` is called with the size of
    each piece before it is kept, and may raise an exception to refuse it.
    """
    check_coding(response.headers.get("Content-Encoding"))
    length = response.headers.get("Content-Length", "")
    if length.isascii() and length.isdigit() and int(length) > limit and not cut:
        msg = f"announces {int(length)} bytes, more than the limit of {limit} bytes"
        raise TooLargeError(msg)
    stream = response.extensions.get("network_stream")
    if isinstance(stream, HeadStream):
        stream.ended(framed="Transfer-Encoding" in response.headers)
    body, chunks = bytearray(), 0
    async for chunk in response.aiter_raw():
        chunks += 1
        if len(body) + len(chunk) > limit:
            if cut:
                return body + chunk[: limit - len(body)]
            msg = f"sends more than the limit of {limit} bytes"
            raise TooLargeError(msg)
        on_bytes(len(chunk))
        body += chunk
        if chunks > FREE_CHUNKS + len(body) // CHUNK_BYTES:
            msg = f"sends {chunks} chunks for {len(body)} bytes; let it collect its answer before it writes"
            raise ExcessError(msg)
        if chunks % TURN == 0:
            await asyncio.sleep(0)
    return body
