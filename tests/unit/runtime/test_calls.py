"""Failures of calls, tokens in their texts, and limits of heads."""

import asyncio
import socket
import ssl
from contextlib import ExitStack

import httpcore
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_runtime import answers, webclient
from dsf_runtime.answers import ExcessError, HeadStream
from dsf_runtime.calls import CallFault, FailureKind, as_call_faults, hide

FRAMED_PIECE = 64 << 10
HEAD_BYTES = 64 << 10
HEAD_LINES = 512
PIECE = 4 << 10

TOKEN = "s3cr3t-token-value"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nothing to see", "nothing to see"),
        (f"Bearer {TOKEN}, twice {TOKEN}{TOKEN}", "Bearer (token), twice (token)(token)"),
        (f"cut in the middle: {TOKEN[:11]}…", "cut in the middle: (token)…"),
        (f"like it: {TOKEN[:8]}-other", "like it: (token)-other"),
        ("a few letters of it: s3cr3t", "a few letters of it: s3cr3t"),
        ("", ""),
    ],
)
def test_hide(text: str, shown: str) -> None:
    assert hide(text, TOKEN) == shown


def test_several_and_none() -> None:
    """The tokens before and after a 401, endpoints without one, and a short token."""
    assert hide("one two-two-two", None, "one", "two-two-two", "") == "(token) (token)"


@pytest.mark.parametrize(
    "quoted",
    ['{"sent": "p\\"ss w\\\\rd+1"}', "user=p%22ss%20w%5Crd%2B1", "user=p%22ss+w%5Crd%2B1"],
    ids=["json", "url", "form"],
)
def test_a_secret_that_a_peer_escapes_is_hidden(quoted: str) -> None:
    shown = hide(quoted, 'p"ss w\\rd+1')
    assert "ss" not in shown
    assert "rd" not in shown


@given(
    st.text(alphabet="ab-"),
    st.text(alphabet="ab-", min_size=1, max_size=20),
    st.text(alphabet="ab-"),
)
def test_nothing_of_a_token_is_left(before: str, secret: str, after: str) -> None:
    assert secret not in hide(before + secret + after, secret)


@pytest.mark.real_time
async def test_a_host_that_answers_no_connection_is_not_reachable() -> None:
    """As behind a NetworkPolicy that drops packets. No time-out of a query would help."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        with ExitStack() as stack:
            for _ in range(2):  # what the kernel accepts by itself
                waiting = stack.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(address)
            url = f"http://127.0.0.1:{address[1]}/scoring"
            client = httpx.AsyncClient(timeout=httpx.Timeout(30, connect=0.2), trust_env=False)
            async with client:
                with pytest.raises(CallFault) as raised, as_call_faults(url=url, seconds=30):
                    await client.get(url)
    assert raised.value.kind is FailureKind.UNREACHABLE
    assert str(raised.value) == f"{url} cannot be reached (no connection in time)"


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
    [
        (b"HTTP/1.1 102 P\r\n\r\n" * BIG, HEAD_LINES),
        (b"x" * BIG, HEAD_BYTES),
        (b"a:\n" * BIG, HEAD_LINES),
    ],
)
async def test_a_head_has_a_limit(data: bytes, most: int) -> None:
    stream = HeadStream(Peer(data))
    for _ in range(2):
        await stream.write(b"GET / HTTP/1.1\r\n\r\n")
        passed, error = await _until_refused(stream)
        assert "a head of more than" in str(error)
        counted = len(passed) if most == HEAD_BYTES else passed.count(b"\n")
        assert most < counted <= most + PIECE


async def test_bodies_come_in_pieces_of_their_own_size() -> None:
    """All that the event loop has, but less where trailers may follow, which httpcore parses in one
    step.
    """
    stream = HeadStream(Peer(b"x" * 4 * BIG))
    assert len(await stream.read(BIG)) == PIECE
    stream.ended(framed=False)
    assert len(await stream.read(1)) == answers.BODY_PIECE
    stream.ended(framed=True)
    assert len(await stream.read(BIG)) == FRAMED_PIECE


async def test_the_event_loop_has_pieces_of_bodies_of_this_size() -> None:
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert writer.transport.max_size == answers.BODY_PIECE  # type: ignore[attr-defined] # what asyncio hands to recv()
        writer.close()
        await writer.wait_closed()


def test_connections_through_proxies_have_limits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    client = webclient.client(
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), timeout=httpx.Timeout(1)
    )
    routes = client._transport
    assert isinstance(routes, webclient.ProxyRoutes)
    for proxy in (None, "http://127.0.0.1:1"):
        pool = routes.transport(proxy)._pool
        assert type(pool._network_backend).__module__ == "dsf_runtime.answers"
