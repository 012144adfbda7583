"""HTTP calls to metric sources and scoring APIs: bounded in time, in size and in number, every failure with
its reason.
"""

import asyncio
import ssl
from asyncio import selector_events
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import httpcore
import httpx

from dsf_agent import __version__, callfault
from dsf_agent.admission import Admission
from dsf_runtime import answers
from dsf_runtime.answers import TooLargeError
from dsf_runtime.calls import Retirement
from dsf_runtime.streams import bound
from dsf_runtime.turns import Turns

IDLE_SECONDS: Final = 1.5
"""How long a connection may be idle and still be used: peers close theirs after 5 s (uvicorn, Node.js), some
after 2 s (gunicorn), and one that is used at that very moment breaks, cycle after cycle where the interval is
the same.
"""
USER_AGENT: Final = f"gitops-dsf-agent/{__version__}"
ERROR_BODY_LIMIT: Final = 64 * 1024
"""Bytes of an error answer that are read for its text."""
CHUNK: Final = 1 << 20
"""Bytes per read and write: each costs some 50 calls of Python, whatever its size."""

Body = bytes | bytearray | memoryview


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Time-outs in seconds, sizes in bytes."""

    connect_seconds: float = 10.0
    total_seconds: float = 30.0
    """From the first byte of the request to the last of the answer; upstream's 30 s."""
    answer_bytes: int = 64 << 20
    per_origin: int = 8


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request. ``body`` is a sequence of parts that go out one after another, never joined. ``expected``
    bytes of answer.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: tuple[Body, ...] | None = None
    trust: ssl.SSLContext | None = None
    """What to trust over https; None is the system's CAs."""
    expected: int = 0
    arrives: Callable[[int], None] = lambda _size: None
    """Hears of every piece of the answer before it is kept, and may refuse it by an exception."""
    doubtful: bool = False
    """The last call of this scorer to this endpoint gave no answer; see Admission."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A status and the whole body; the body of an error is cut at ERROR_BODY_LIMIT."""

    status: int
    headers: httpx.Headers
    body: bytearray
    ascii: bool = False
    """The body is known to be ASCII alone: told by each piece as it came, which spares a pass over the whole.
    """

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


def read_widely() -> None:
    """Makes asyncio and httpx's engine read CHUNK bytes at a time, for the whole process.

    asyncio takes 256 KiB from a socket at once and httpx's engine asks for 64: a quarter of the CPU of an
    answer of 20 MB. Both sizes are constants of the connection classes and nothing else; a network backend of
    our own would cost httpx's proxies.
    """
    # There is no public name for it; where a future Python has none at all, answers are only read in smaller
    # pieces.
    with suppress(AttributeError):
        selector_events._SelectorTransport.max_size = CHUNK  # type: ignore[attr-defined]  # noqa: SLF001
    httpcore.AsyncHTTP11Connection.READ_NUM_BYTES = CHUNK


class Transport:
    """Owns the connections. One httpx client per trust, because a client with its own CA set costs 38 ms and
    0.8 MB.
    """

    def __init__(self, *, limits: Limits) -> None:
        self._limits = limits
        self._admission = Admission(per_origin=limits.per_origin)
        self._turns = Turns()
        self._clients: dict[ssl.SSLContext | None, httpx.AsyncClient] = {}
        self._retirement = Retirement(grace=limits.total_seconds)
        self._system: ssl.SSLContext | None = None
        self._plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    async def call(self, call: Call) -> Answer:
        """Sends and reads one call. Raises CallError; an HTTP error status is an Answer, not an exception."""
        async with self._admission.origin(_origin(call.url), doubtful=call.doubtful):
            with callfault.named(url=call.url, seconds=self._limits.total_seconds):
                async with asyncio.timeout(self._limits.total_seconds):
                    return await self._exchange(call)

    async def _exchange(self, call: Call) -> Answer:
        async with self._open(call) as response:
            good = 200 <= response.status_code < 300
            limit = self._limits.answer_bytes if good else ERROR_BODY_LIMIT
            try:
                body = await answers.read(
                    response,
                    limit=limit,
                    turns=self._turns,
                    cut=not good,
                    compressed=True,
                    expected=call.expected,
                    arrives=call.arrives,
                )
            except TooLargeError as error:
                msg = f"{error} (--max-answer-bytes)"
                raise TooLargeError(msg) from error
            return Answer(
                status=response.status_code, headers=response.headers, body=body.content, ascii=body.ascii
            )

    @asynccontextmanager
    async def _open(self, call: Call) -> AsyncIterator[httpx.Response]:
        headers = {
            "User-Agent": USER_AGENT,
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            **call.headers,
        }
        content: AsyncIterator[bytes] | None = None
        if call.body is not None:
            headers["Content-Length"] = str(sum(len(part) for part in call.body))
            content = _stream(call.body)
        client = self._client(call)
        async with client.stream(call.method, call.url, headers=headers, content=content) as response:
            yield response

    def _client(self, call: Call) -> httpx.AsyncClient:
        trust = self._trust(call)
        client = self._clients.get(trust)
        if client is None:
            client = httpx.AsyncClient(
                verify=trust,
                # The pool never refuses: a full pool would be the failure of a scorer that did nothing wrong.
                # Admission bounds it.
                limits=httpx.Limits(
                    max_connections=None, max_keepalive_connections=64, keepalive_expiry=IDLE_SECONDS
                ),
                timeout=httpx.Timeout(
                    self._limits.total_seconds, connect=self._limits.connect_seconds, pool=None
                ),
                follow_redirects=False,
            )
            self._clients[trust] = bound(client, turns=self._turns)
        return client

    def _trust(self, call: Call) -> ssl.SSLContext:
        if not call.url.lower().startswith("https:"):
            return self._plain
        if call.trust is not None:
            return call.trust
        if self._system is None:
            self._system = httpx.create_ssl_context()
        return self._system

    def forget(self, trust: ssl.SSLContext) -> None:
        """Lets go of the connections of a trust that nobody uses any more (a replaced CA)."""
        client = self._clients.pop(trust, None)
        if client is not None:
            self._retirement.add(client)

    async def close(self) -> None:
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()
        await self._retirement.close()


async def _stream(parts: tuple[Body, ...]) -> AsyncIterator[bytes]:
    for part in parts:
        view = memoryview(part)
        for start in range(0, len(view), CHUNK):
            yield bytes(view[start : start + CHUNK])


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".lower()
