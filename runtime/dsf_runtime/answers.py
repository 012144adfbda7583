"""Reads the body of an answer from an untrusted peer, with limits for content, bytes on the wire, and work
per turn of the event loop. The agent, ``sync`` and the reconciler's probes use it.
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
"""A body may have as many bytes of framing (chunk sizes) as of content, and this many more."""
INFLATED_PER_UNIT: Final = BYTES_PER_UNIT // 4
"""Inflated bytes that cost as much as one line of framing."""
SLACK_PART: Final = 16
"""The buffer is larger than the last answer by this part, because the sizes of answers vary a little."""


class TooLargeError(ExcessError):
    """The content is larger than the caller's limit."""


class CodingError(Exception):
    """The body has a Content-Encoding that was not requested."""

    def __init__(self, coding: str) -> None:
        super().__init__(f"the answer has Content-Encoding {coding!r}, which was not asked for")
        self.coding = coding


@dataclass(frozen=True, kw_only=True, slots=True)
class Body:
    """The decoded content."""

    content: bytearray
    ascii: bool
    """Whether the content is known to be ASCII. Each piece was checked as it arrived, so the whole need not
    be checked again.
    """


async def read(
    response: httpx.Response,
    *,
    limit: int,
    turns: Turns,
    cut: bool = False,
    compressed: bool = False,
    expected: int = 0,
    on_bytes: Callable[[int], None] = lambda _size: None,
) -> Body:
    """Reads at most ``limit`` bytes of content. A longer body is cut if ``cut`` is set, else TooLargeError is
    raised.

    It also raises ExcessError, InflateError, CodingError and exceptions of httpx. With ``compressed``, gzip
    and deflate are decoded. ``expected`` is the size of the last answer. The Content-Length of this one is
    not used, so that a peer cannot make us allocate memory. ``on_bytes`` is called with the size of each
    piece before it is kept, and may raise an exception to refuse it.
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
            on_bytes(len(piece))
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
