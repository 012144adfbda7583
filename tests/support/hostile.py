"""Hostile peers that a parser accepts as HTTP: real servers on 127.0.0.1."""

import asyncio
import gzip
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from functools import cache
from typing import Final

from tests.support.agent.http import HttpFake, Stream

BLOCK: Final = 1 << 18
"""Approximate number of bytes per write."""
DRIP_SECONDS: Final = 0.2
_OK: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_CHUNKED: Final = _OK + b"Transfer-Encoding: chunked\r\n"
_GZIP: Final = _OK + b"Content-Encoding: gzip\r\nConnection: close\r\n"

Kind = Callable[[], AsyncIterator[bytes]]


def _forever(head: bytes, repeated: bytes) -> Kind:
    block = repeated * max(1, BLOCK // len(repeated))

    async def writes() -> AsyncIterator[bytes]:
        yield head
        while True:
            yield block

    return writes


@cache
def bomb(size: int) -> bytes:
    """gzip of this number of spaces, which has a thousandth of the size."""
    engine, block, count = zlib.compressobj(level=9, wbits=-15), b" " * (1 << 20), size >> 20
    # After a full flush each block becomes the same bytes again, so that one is compressed.
    first = engine.compress(block) + engine.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(count):
        checksum = zlib.crc32(block, checksum)
    head = b"\x1f\x8b\x08" + bytes(7)  # RFC 1952: gzip, deflate, no flags
    return head + first * count + engine.flush() + struct.pack("<II", checksum, count << 20)


async def _bomb() -> AsyncIterator[bytes]:
    body = await asyncio.to_thread(bomb, 200 << 20)
    yield _OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body


async def _drip() -> AsyncIterator[bytes]:
    yield _OK
    while True:
        await asyncio.sleep(DRIP_SECONDS)
        yield b"X-Slow: 1\r\n"


KINDS: Final[Mapping[str, Kind]] = {
    "one-byte chunks": _forever(_CHUNKED + b"\r\n", b"1\r\nx\r\n"),
    "short chunks": _forever(_CHUNKED + b"\r\n", b"20\r\n" + b" " * 32 + b"\r\n"),
    "interim responses": _forever(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "headers": _forever(_OK, b"a:\r\n"),
    "trailers": _forever(_CHUNKED + b"\r\n5\r\n     \r\n0\r\n", b"a:\r\n"),
    "many headers": _forever(_OK + b"a:\r\n" * 15_000 + b"Connection: close\r\n\r\n", b" "),
    "many trailers": _forever(
        _CHUNKED + b"\r\n5\r\n     \r\n0\r\n" + b"a:\r\n" * 24_000 + b"?\r\n\r\n", b"x"
    ),
    "empty gzip members": _forever(_GZIP + b"\r\n", gzip.compress(b"")),
    "gzip bomb": _bomb,
    "endless body": _forever(_OK + b"Connection: close\r\n\r\n", b" "),
    "slow head": _drip,
}
"""Peers by what they send. All but the bomb send endlessly."""


def hostile(kind: str) -> HttpFake:
    """A peer of this kind."""
    return HttpFake(lambda _seen: Stream(head=b"", pieces=KINDS[kind]()))
