"""Calls of metric sources and scoring APIs, limited in time, size and number.

Each call has a connection of its own, and redirects are not followed. A failure has a reason.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import httpx

from dsf_agent import __version__
from dsf_agent.errors import AgentError, kind_reason
from dsf_runtime import answers, webclient
from dsf_runtime.answers import TooLargeError
from dsf_runtime.calls import CallFault, as_call_faults
from dsf_wire.retryafter import retry_after

USER_AGENT: Final = f"gitops-dsf-agent/{__version__}"
ERROR_BODY_LIMIT: Final = 64 * 1024
"""Bytes of an error answer that are read for the message."""
SCORES_PART: Final = 4
"""The answer of a scoring API may have this part of the bytes of a source's."""
CHUNK: Final = 256 << 10
"""Bytes per write: each costs about 50 Python calls."""

Body = bytes | memoryview


@dataclass(frozen=True, kw_only=True)
class CallLimits:
    """Limits of calls. Time-outs are in seconds, sizes in bytes."""

    connect_seconds: float = 10.0
    total_seconds: float
    """The time limit from the first byte of the request to the last byte of the answer.

    The upstream agent uses 30 s too.
    """
    answer_bytes: int
    """Largest answer of a source.

    That of a scoring API may have a quarter: of 64 MiB, 50,000 results.
    """
    per_origin: int = 8


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request: a POST with a body, whose parts are sent without being joined, or else a GET."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: tuple[Body, ...] | None = None
    trust: ssl.SSLContext | None = None
    """The CAs to trust for https. None means the system's CAs."""
    scores: bool = False
    """Whether the answer has scores, which need fewer bytes than series."""
    on_bytes: Callable[[int], None] = lambda _size: None
    """Called with the size of each piece before it is kept. It may raise an exception to refuse it.
    """
    unresponsive: bool = False
    """Whether the last call of this scorer to this endpoint got no answer; see OriginLimit."""
    max_bytes: int | None = None
    """Most bytes of the answer, if fewer than the transport accepts."""


@dataclass(frozen=True, kw_only=True)
class PeerAnswer:
    """A status and the whole body, as it arrived. That of an error is cut at ERROR_BODY_LIMIT."""

    status: int
    chunks: list[bytes]
    location: str = ""
    """The target of a redirect."""
    retry_after: float | None = None
    """Seconds that the peer asks us to wait."""

    @property
    def body(self) -> bytes:
        """The whole body. Joining it costs its size in memory once more."""
        return b"".join(self.chunks)

    @property
    def ok(self) -> bool:
        """Whether the status is one of success."""
        return 200 <= self.status < 300


class _Origin:
    """The slots of one origin."""

    def __init__(self, max_calls: int) -> None:
        self.all = asyncio.Semaphore(max_calls)
        self.of_unresponsive = asyncio.Semaphore((max_calls + 1) // 2)


class OriginLimit:
    """Limits concurrent calls per origin (scheme, host, port), in order.

    Scorers whose last call got no answer share half of the slots, so that peers that hang leave the
    other half to those that answer. To wait for a slot is not a failure.
    """

    def __init__(self, *, per_origin: int) -> None:
        self._per_origin = per_origin
        self._origins: WeakValueDictionary[str, _Origin] = WeakValueDictionary()
        """Origins that are used or waited for."""

    @asynccontextmanager
    async def slot(self, name: str, *, unresponsive: bool = False) -> AsyncIterator[None]:
        """Holds a slot of this origin.

        ``unresponsive``: the last call of this caller got no answer.
        """
        origin = self._origins.get(name)
        if origin is None:
            origin = _Origin(self._per_origin)
            self._origins[name] = origin
        # The half first. In the other order, whoever waits for it would hold one of all slots.
        async with origin.of_unresponsive if unresponsive else nullcontext(), origin.all:
            yield


class Transport:
    """Owns the connections: one httpx client per set of CAs. Each costs 38 ms and 0.8 MB."""

    def __init__(self, *, limits: CallLimits, wall: Callable[[], float] = time.time) -> None:
        self._limits = limits
        self._wall = wall
        self._origin_limit = OriginLimit(per_origin=limits.per_origin)
        self._clients: dict[ssl.SSLContext | None, httpx.AsyncClient] = {}
        self._system = webclient.SystemTrust()

    async def call(self, call: Call) -> PeerAnswer:
        """Sends one call. An HTTP error status is a PeerAnswer, other failures raise AgentError."""
        async with self._origin_limit.slot(_origin(call.url), unresponsive=call.unresponsive):
            try:
                with as_call_faults(url=call.url, seconds=self._limits.total_seconds):
                    async with asyncio.timeout(self._limits.total_seconds):
                        return await self._exchange(call)
            except CallFault as fault:
                raise AgentError(str(fault), reason=kind_reason(fault.kind)) from fault

    async def _exchange(self, call: Call) -> PeerAnswer:
        async with self._open(call) as response:
            good = 200 <= response.status_code < 300
            max_bytes = self._limits.answer_bytes // (SCORES_PART if call.scores else 1)
            if call.max_bytes is not None:
                max_bytes = min(max_bytes, call.max_bytes)
            limit = max_bytes if good else ERROR_BODY_LIMIT
            try:
                chunks = await answers.chunks(
                    response, limit=limit, cut=not good, on_bytes=call.on_bytes
                )
            except TooLargeError as error:
                # No flag sets this bound, so the message names none.
                if call.max_bytes is not None:
                    raise
                part = f"1/{SCORES_PART} of " if call.scores else ""
                raise TooLargeError(f"{error} ({part}--max-answer-bytes)") from error
            return PeerAnswer(
                status=response.status_code,
                chunks=chunks,
                location=response.headers.get("location", ""),
                retry_after=retry_after(response.headers, now=self._wall()),
            )

    def _open(self, call: Call) -> AbstractAsyncContextManager[httpx.Response]:
        headers = {
            "User-Agent": USER_AGENT,
            "Accept": "application/json",
            **call.headers,
            # Without compression: a small body could unpack to any size.
            **answers.IDENTITY,
        }
        content: AsyncIterator[bytes] | None = None
        if call.body is not None:
            headers["Content-Length"] = str(sum(len(part) for part in call.body))
            content = _stream(call.body)
        method = "GET" if call.body is None else "POST"
        return self._client(call).stream(method, call.url, headers=headers, content=content)

    def _client(self, call: Call) -> httpx.AsyncClient:
        trust = self._trust(call)
        client = self._clients.get(trust)
        if client is None:
            client = webclient.client(
                verify=trust,
                # The pool has no limit, because a full pool would be an error of a healthy scorer.
                # OriginLimit limits the calls. No connection is used twice: peers close idle ones
                # at any moment, and one that sends a second answer would answer the next scorer
                # with it.
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
                timeout=httpx.Timeout(
                    self._limits.total_seconds, connect=self._limits.connect_seconds, pool=None
                ),
            )
            self._clients[trust] = client
        return client

    def _trust(self, call: Call) -> ssl.SSLContext:
        # The same client for all calls with http, whatever their CAs are.
        if call.trust is not None and call.url.lower().startswith("https:"):
            return call.trust
        return self._system.for_url(call.url)

    def forget(self, trust: ssl.SSLContext) -> None:
        """Uses these CAs no more, after they were replaced.

        Calls that run close their own connections.
        """
        self._clients.pop(trust, None)

    async def close(self) -> None:
        """Closes all connections."""
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()


async def _stream(parts: tuple[Body, ...]) -> AsyncIterator[bytes]:
    """The body in chunks. Small parts, such as commas, are sent with the next one."""
    small = b""
    for part in parts:
        view = memoryview(part)
        for start in range(0, len(view), CHUNK):
            small += bytes(view[start : start + CHUNK])
            if len(small) > CHUNK // 2:
                yield small
                small = b""
    if small:
        yield small


def _origin(url: str) -> str:
    # Scheme and host are the same in any case (RFC 3986), and a login belongs to no origin.
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".lower()
