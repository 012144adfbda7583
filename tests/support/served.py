"""Serves the API server of tests to commands, which block.

In memory there are no sockets, no HTTP and no thread of the server: it answers in the thread that
asks, one request at a time. tests/integration/runtime/test_in_memory.py compares what a command
gets with what it gets on a socket.

Not there: watches, answers that take time, bytes that are not HTTP (`PeerFault.writes`), TLS,
proxies, and connections that are used again. A test of these, or of another process, serves on the
wire.
"""

import asyncio
import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

import httpx

from tests.support.agent.http import REASON, PeerFault, SentReply
from tests.support.apiserver import FakeApiServer
from tests.support.leanhttp import LeanRequest, LeanResponse, tell_sent

HOST: Final = "served-in-memory-"
PREFIX: Final = f"http://{HOST}"
NUMBERS: Final = count(1)
ANSWERED_ON_WIRE: Final = httpx.Client.stream


class _Served:
    """A server in memory."""

    def __init__(self, server: FakeApiServer) -> None:
        self._server = server
        self._lock = threading.Lock()

    def exchange(self, request: LeanRequest) -> LeanResponse:
        """Sends a request and returns the answer. Raises the errors of httpx."""
        seen = request.asked_at_once(at=time.monotonic())
        tell_sent(request.trace)
        with self._lock:
            self._server.seen.append(seen)
            answer = self._server.handler(seen)
        if isinstance(answer, PeerFault):
            assert answer == PeerFault(), (
                "a fault in the midst of an answer needs a server on the wire"
            )
            raise _failed(httpx.ReadError, errno.ECONNRESET)
        assert isinstance(answer, SentReply), "an answer that takes time needs a server on the wire"
        headers = {"Content-Length": str(len(answer.body))} | dict(answer.headers)
        return LeanResponse(answer.status, headers, answer.body, reason=REASON)


SERVED: Final = dict[str, _Served]()
"""By host."""


class _Exchange:
    """`with client.stream(...)` without httpx."""

    def __init__(self, client: httpx.Client, request: LeanRequest) -> None:
        self._client, self._request = client, request

    def __enter__(self) -> LeanResponse:
        assert not self._client.is_closed
        served = SERVED.get(self._request.host)
        if served is None:
            raise _failed(httpx.ConnectError, errno.ECONNREFUSED)
        return served.exchange(self._request)

    def __exit__(self, *_error: object) -> None:
        """The answer is complete."""


def _failed(kind: type[httpx.TransportError], number: int) -> httpx.TransportError:
    """What httpx raises for an error of a socket."""
    cause = OSError(number, os.strerror(number))
    error = kind(str(cause))
    error.__cause__ = cause
    return error


def _stream(client: httpx.Client, method: str, url: str | httpx.URL, **how: Any) -> Any:
    """In place of the method of httpx, for servers in memory."""
    if isinstance(url, str) and url.startswith(PREFIX):
        return _Exchange(client, LeanRequest(client, method, url, **how))
    return ANSWERED_ON_WIRE(client, method, url, **how)


@contextmanager
def serving(server: FakeApiServer) -> Iterator[FakeApiServer]:
    """Serves the commands of this process until the block ends."""
    host = f"{HOST}{next(NUMBERS)}"
    SERVED[host] = _Served(server)
    server.address = f"http://{host}"
    httpx.Client.stream = _stream  # type: ignore[method-assign,assignment]
    try:
        yield server
    finally:
        server.address = ""
        del SERVED[host]


@contextmanager
def serving_on_wire(server: FakeApiServer) -> Iterator[FakeApiServer]:
    """Serves on 127.0.0.1, from a thread, until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result()
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
