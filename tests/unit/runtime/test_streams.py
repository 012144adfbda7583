"""How bytes of peers are passed to the HTTP parser, and the turns of the event loop."""

import asyncio
import gzip

import httpcore
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_runtime.buffer import BLOCK, Buffer
from dsf_runtime.inflate import EMPTY_MEMBERS, WINDOW, InflateError, Inflater
from dsf_runtime.streams import (
    BARREN_BYTES,
    HEAD_BYTES,
    HEAD_LINES,
    PIECE_LINES,
    PLAIN_BYTES,
    BoundedStream,
    ExcessError,
    bound,
)
from dsf_runtime.turns import UNITS, Turns

BIG = 1 << 20


class Peer(httpcore.AsyncNetworkStream):
    """A peer that has sent these bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's signature
        del timeout
        piece, self.data = self.data[:max_bytes], self.data[max_bytes:]
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's signature
        """A request."""


async def _until_refused(stream: BoundedStream, *, most: int) -> tuple[bytes, ExcessError]:
    """The bytes that are passed on before the stream refuses more, and its message."""
    found = b""
    while True:
        try:
            found += await stream.read(most)
        except ExcessError as error:
            return found, error


async def _pieces(stream: BoundedStream, *, most: int = BIG) -> list[bytes]:
    found = []
    while piece := await stream.read(most):
        stream.content()
        found.append(piece)
    return found


@given(
    st.binary(max_size=4000) | st.text(alphabet="a\r\n", max_size=4000).map(str.encode), st.integers(1, 5000)
)
async def test_pieces_are_the_sent_bytes_with_few_lines_in_each(data: bytes, most: int) -> None:
    """Nothing is lost, repeated or moved."""
    stream = BoundedStream(Peer(data), turns=Turns())
    stream.body(framed=True)
    pieces = await _pieces(stream, most=most)
    assert b"".join(pieces) == data
    assert all(piece.count(b"\n") <= PIECE_LINES and len(piece) <= most for piece in pieces)


async def test_a_body_of_known_length_is_one_piece() -> None:
    """The parser does not read its lines."""
    data = b"\n" * BIG
    stream = BoundedStream(Peer(data), turns=Turns())
    stream.body(framed=False)
    assert await _pieces(stream) == [data]


async def test_a_body_of_known_length_comes_in_large_pieces() -> None:
    """httpcore asks for 64 KiB each time, and needs as long for a small piece as for a large one."""
    stream = BoundedStream(Peer(b"x" * BIG), turns=Turns())
    assert len(await stream.read(32 << 10)) == 32 << 10
    stream.body(framed=False)
    pieces = await _pieces(stream, most=64 << 10)
    assert {len(piece) for piece in pieces[:-1]} == {PLAIN_BYTES}


@pytest.mark.parametrize(
    ("data", "most"),
    [(b"HTTP/1.1 102 P\r\n\r\n" * BIG, HEAD_LINES), (b"x" * BIG, HEAD_BYTES), (b"a:\n" * BIG, HEAD_LINES)],
)
async def test_a_head_has_a_limit(data: bytes, most: int) -> None:
    """A number of lines or of bytes, whichever comes first. A new request starts at zero."""
    stream = BoundedStream(Peer(data), turns=Turns())
    for _ in range(2):
        await stream.write(b"GET / HTTP/1.1\r\n\r\n")
        pieces, error = await _until_refused(stream, most=1 << 14)
        assert "a head of more than" in str(error)
        counted = len(pieces) if most == HEAD_BYTES else pieces.count(b"\n")
        assert most < counted <= most + (1 << 14)


async def test_framing_without_content_has_a_limit() -> None:
    """Trailers, or extensions of a chunk."""
    stream = BoundedStream(Peer(b"a:\r\n" * BIG), turns=Turns())
    stream.body(framed=True)
    pieces, error = await _until_refused(stream, most=BIG)
    assert "framing without content" in str(error)
    assert BARREN_BYTES < len(pieces) <= BARREN_BYTES + 4 * PIECE_LINES


async def test_unexpected_bytes_end_a_connection() -> None:
    """The pool treats an idle connection with unread bytes as closed by the peer."""
    stream = BoundedStream(Peer(b"early\n" * PIECE_LINES * 2), turns=Turns())
    assert not stream.get_extra_info("is_readable")
    await stream.read(BIG)
    assert stream.get_extra_info("is_readable")


def test_connections_through_proxies_have_limits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """All connections of a client are bounded streams."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    client = bound(httpx.AsyncClient(), turns=Turns())
    ways = [client._transport, *client._mounts.values()]
    pools = [way._pool for way in ways if isinstance(way, httpx.AsyncHTTPTransport)]
    assert len(pools) == 2
    for pool in pools:
        assert type(pool._network_backend).__module__ == "dsf_runtime.streams"


async def test_a_turn_of_the_loop_allows_limited_work_in_order() -> None:
    """Three of eight fit in a turn. One that costs more than a turn has a turn alone. A cancelled one
    costs nothing.
    """
    turns, granted = Turns(), list[tuple[int, int]]()
    turn = 0

    async def ask(number: int, cost: int) -> None:
        await turns.take(cost)
        granted.append((turn, number))

    costs = [UNITS // 3] * 4 + [3 * UNITS] + [UNITS // 3] * 3
    tasks = [asyncio.create_task(ask(number, cost)) for number, cost in enumerate(costs)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        turn += 1
    assert [number for _, number in granted] == [0, 2, 3, 4, 5, 6, 7]
    together = [[number for at, number in granted if at == one] for one in sorted({at for at, _ in granted})]
    assert together == [[0, 2, 3], [4], [5, 6, 7]]


def test_many_members_cost_as_much_as_their_bytes() -> None:
    """zlib copies the bytes after a member, so it gets few bytes at a time."""
    inflater, one = Inflater(), gzip.compress(b"x")
    inflater.feed(one * 100_000)
    found = b""
    while piece := inflater.take():
        assert len(inflater._pending) <= WINDOW
        found += piece
    assert found == b"x" * 100_000
    assert inflater.complete


def test_too_many_members_without_content_are_an_error() -> None:
    """Some are harmless, such as one at the end."""
    inflater, empty = Inflater(), gzip.compress(b"")
    inflater.feed(empty * (EMPTY_MEMBERS + 1) + gzip.compress(b"content"))
    with pytest.raises(InflateError, match="empty gzip members"):
        inflater.take()
    inflater = Inflater()
    inflater.feed(empty * EMPTY_MEMBERS + gzip.compress(b"content") + empty)
    assert inflater.take() == b"content"
    assert inflater.take() == b""
    assert inflater.complete


def test_small_pieces_are_joined() -> None:
    """A million small pieces would need many times their size."""
    buffer = Buffer(0)
    for _ in range(100_000):
        buffer.add(b"12345678")
    buffer.add(b"9" * 3 * BLOCK)
    assert [len(block) for block in buffer._beyond] == [800_000, 3 * BLOCK]
    assert buffer.settle() == 800_000
    assert buffer.taken(buffer.size) == b"12345678" * 100_000 + b"9" * 3 * BLOCK
