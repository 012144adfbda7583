"""The body of an answer from a peer that may send anything: bounded in content, in bytes on the wire, and in
work for each turn of the event loop. The agent, `sync` and the reconciler's probes read by it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import httpx

from dsf_runtime.buffer import Buffer
from dsf_runtime.inflate import InflateError, Inflater
from dsf_runtime.streams import BYTES_PER_UNIT, BoundedStream, ExcessError
from dsf_runtime.turns import Turns

FRAMING_BYTES: Final = 16 << 10
"""Bytes of framing (sizes of chunks) that a body may have beside as many as it has content."""
INFLATED_PER_UNIT: Final = BYTES_PER_UNIT // 4
"""Inflated bytes for the cost of a line of framing."""
SLACK_PART: Final = 16
"""Answers grow and shrink by some bytes from time to time: a sixteenth more room than last time."""


class TooLargeError(ExcessError):
    """The content is above the caller's limit."""


class CodingError(Exception):
    """The body has another Content-Encoding than was asked for."""

    def __init__(self, coding: str) -> None:
        super().__init__(f"the answer has Content-Encoding {coding!r}, which was not asked for")
        self.coding = coding


@dataclass(frozen=True, kw_only=True, slots=True)
class Body:
    """The decoded content."""

    content: bytearray
    ascii: bool
    """It is known to be ASCII alone: told by each piece as it came, which spares a pass over the whole."""


async def read(
    response: httpx.Response,
    *,
    limit: int,
    turns: Turns,
    cut: bool = False,
    compressed: bool = False,
    expected: int = 0,
    arrives: Callable[[int], None] = lambda _size: None,
) -> Body:
    """The content, at most ``limit`` bytes of it. Above that: cut there, or TooLargeError when a cut body is
    useless. Raises ExcessError, InflateError and CodingError, and what httpx raises.

    ``compressed``: gzip and deflate are understood. ``expected`` is the size of the last answer, not what
    this one announces: a peer cannot make us set memory aside. ``arrives`` hears of each piece before it is
    kept, and may refuse it by an exception.
    """
    stream = response.extensions["network_stream"]
    if not isinstance(stream, BoundedStream):
        msg = f"an unbounded connection ({type(stream).__name__}): the client was not given to bound()"
        raise TypeError(msg)
    length = response.headers.get("Content-Length", "")
    if length.isascii() and length.isdigit() and int(length) > limit and not cut:
        msg = f"announces {int(length)} bytes, more than the limit of {limit} bytes"
        raise TooLargeError(msg)
    stream.body(framed="Transfer-Encoding" in response.headers)
    body = Buffer(0 if cut else min(expected + expected // SLACK_PART, limit))
    ascii_, came, inflate = True, 0, _inflater(response, compressed=compressed)
    async for chunk in response.aiter_raw():
        stream.content()
        came += len(chunk)
        if stream.wire > 2 * came + FRAMING_BYTES:
            msg = "sends more framing than content (tiny chunks)"
            raise ExcessError(msg)
        for piece in _pieces(inflate, chunk):
            arrives(len(piece))
            body.add(piece)
            ascii_ = ascii_ and piece.isascii()
            if body.size > limit:
                break
            if inflate is not None:
                await turns.take(1 + len(piece) // INFLATED_PER_UNIT)
        if max(body.size, came) > limit:
            if cut:
                return Body(content=body.taken(min(body.size, limit)), ascii=ascii_)
            msg = f"sends more than the limit of {limit} bytes"
            raise TooLargeError(msg)
    if inflate is not None and body.size and not inflate.complete:
        msg = "the compressed body ends early"
        raise InflateError(msg)
    while size := body.settle():
        await turns.take(size // BYTES_PER_UNIT)
    return Body(content=body.taken(body.size), ascii=ascii_)


def _pieces(inflate: Inflater | None, chunk: bytes) -> Iterator[bytes]:
    if inflate is None:
        yield chunk
        return
    inflate.feed(chunk)
    while piece := inflate.take():
        yield piece


def _inflater(response: httpx.Response, *, compressed: bool) -> Inflater | None:
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding in {"", "identity"}:
        return None
    if compressed and coding in {"gzip", "x-gzip", "deflate"}:
        return Inflater()
    raise CodingError(coding)
