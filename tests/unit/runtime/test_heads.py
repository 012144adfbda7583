"""Limits of heads, below httpcore's parser."""

import httpcore
import httpx
import pytest

from dsf_runtime.answers import FRAMED_PIECE, HEAD_BYTES, HEAD_LINES, PIECE, ExcessError, HeadStream, limited

BIG = 1 << 20


class Peer(httpcore.AsyncNetworkStream):
    def __init__(self, data: bytes) -> None:
        self.data = data

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's signature
        del timeout
        piece, self.data = self.data[:max_bytes], self.data[max_bytes:]
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's signature
        """A request."""


async def _until_refused(stream: HeadStream) -> tuple[bytes, ExcessError]:
    found = b""
    while True:
        try:
            found += await stream.read(BIG)
        except ExcessError as error:
            return found, error


@pytest.mark.parametrize(
    ("data", "most"),
    [(b"HTTP/1.1 102 P\r\n\r\n" * BIG, HEAD_LINES), (b"x" * BIG, HEAD_BYTES), (b"a:\n" * BIG, HEAD_LINES)],
)
async def test_a_head_has_a_limit(data: bytes, most: int) -> None:
    stream = HeadStream(Peer(data))
    for _ in range(2):
        await stream.write(b"GET / HTTP/1.1\r\n\r\n")
        passed, error = await _until_refused(stream)
        assert "a head of more than" in str(error)
        counted = len(passed) if most == HEAD_BYTES else passed.count(b"\n")
        assert most < counted <= most + PIECE


async def test_a_body_of_many_lines_is_no_head() -> None:
    data = b"HTTP/1.1 200 OK\r\n\r\n" + b"{\n" * 4 * HEAD_LINES
    stream = HeadStream(Peer(data))
    found = await stream.read(BIG)
    stream.ended(framed=False)
    while piece := await stream.read(BIG):
        found += piece
    assert found == data


async def test_bodies_come_in_pieces_of_their_own_size() -> None:
    """All at once, but smaller pieces where trailers may follow, which httpcore parses in one step."""
    stream = HeadStream(Peer(b"x" * 4 * BIG))
    assert len(await stream.read(BIG)) == PIECE
    stream.ended(framed=False)
    assert len(await stream.read(BIG)) == BIG
    stream.ended(framed=True)
    assert len(await stream.read(BIG)) == FRAMED_PIECE


def test_connections_through_proxies_have_limits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    client = limited(httpx.AsyncClient())
    ways = [client._transport, *client._mounts.values()]
    pools = [way._pool for way in ways if isinstance(way, httpx.AsyncHTTPTransport)]
    assert len(pools) == 2
    for pool in pools:
        assert type(pool._network_backend).__module__ == "dsf_runtime.answers"
