"""Servers of tests in memory: the programs' clients reach them without sockets and without httpx.

`InMemory` stands before `HttpFake` among the bases of a server. The server answers as it does on a
socket; tests/integration/runtime/test_in_memory.py compares what the client of the API server gets.

Not there: bytes that are not HTTP (`Fault.writes`), TLS, proxies, and connections that are used
again. A test of these uses a server on the wire.
"""

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Awaitable
from functools import lru_cache
from itertools import count
from typing import Any, Final
from weakref import WeakValueDictionary

import httpx

from tests.support.agent.http import REASON, Answer, HttpFake, PeerFault, RecordedRequest, Stream
from tests.support.leanhttp import LeanRequest, LeanResponse, LeanStream, tell_sending

SCHEME: Final = "http://"
HOST: Final = "in-memory-"
PREFIX: Final = f"{SCHEME}{HOST}"
NUMBERS: Final = count(1)
SERVERS: Final = WeakValueDictionary[str, "InMemory"]()
"""By host."""
DISCONNECTED: Final = "Server disconnected without sending a response."
ANSWERED_ON_WIRE: Final = httpx.AsyncClient.stream


class InMemory(HttpFake):
    """A server that is not on a socket, unless the test says `on_wire`."""

    def __init__(self, *args: Any, on_wire: bool = False, **how: Any) -> None:
        assert on_wire or how.get("tls") is None, "TLS needs a server on the wire"
        super().__init__(*args, **how)
        self.on_wire = on_wire
        self._host = ""
        self._serves = False
        self._exchanges = set[_Exchange]()
        self._failed = list[Exception]()

    @property
    def url(self) -> str:
        return super().url if self.on_wire else f"{SCHEME}{self._host}"

    async def start(self) -> None:
        if self.on_wire:
            await super().start()
            return
        # A server that starts again keeps its address.
        self._host = self._host or f"{HOST}{next(NUMBERS)}"
        self._serves = True
        SERVERS[self._host] = self
        httpx.AsyncClient.stream = _stream  # type: ignore[method-assign,assignment]

    async def refuse(self) -> None:
        if self.on_wire:
            await super().refuse()
        else:
            self._serves = False
            await self._end()

    async def stop(self) -> None:
        """Raises what the handler raised.

        On the wire, a request that outlives its client leaves a socket open, which fails the test.
        """
        self._serves = False
        outlived = [each for each in self._exchanges if each.request.client.is_closed]
        await super().stop()
        assert not outlived, "a request outlived its client"
        if self._failed:
            failed, self._failed = self._failed, []
            raise failed[0]

    def keep(self, task: "asyncio.Task[Any]") -> None:
        """What works for a client: `drop` and `stop` end it."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def exchange(self, request: LeanRequest) -> LeanResponse:
        """Sends a request. Returns when the answer begins, and raises the errors of httpx."""
        # To connect gives others a turn.
        await asyncio.sleep(0)
        if not self._serves:
            refused = OSError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
            raise httpx.ConnectError("All connection attempts failed") from refused
        seen = await request.asked(at=asyncio.get_running_loop().time())
        await tell_sending(request.trace)
        return await self._arrived(request, await self._answered(seen, request.read_seconds))

    async def _answered(self, seen: RecordedRequest, read_seconds: float | None) -> Answer:
        self.seen.append(seen)
        answering = self._handled(seen)
        if not isinstance(answering, asyncio.Task):
            # The way back gives others a turn, too.
            await asyncio.sleep(0)
            return answering
        await asyncio.wait((answering,), timeout=read_seconds)
        if not answering.done():
            raise httpx.ReadTimeout("")
        if answering.cancelled() or answering.exception() is not None:
            raise httpx.RemoteProtocolError(DISCONNECTED)
        return answering.result()

    def _handled(self, seen: RecordedRequest) -> "Answer | asyncio.Task[Answer]":
        """What the handler says. If it takes time, it goes on even when the client goes away."""
        try:
            answer = self.handler(seen)
        except Exception as error:
            self._failed.append(error)
            raise httpx.RemoteProtocolError(DISCONNECTED) from error
        if not isinstance(answer, Awaitable):
            return answer
        task = asyncio.create_task(self._awaited(answer))
        self.keep(task)
        return task

    async def _awaited(self, answer: Awaitable[Answer]) -> Answer:
        try:
            return await answer
        except Exception as error:
            self._failed.append(error)
            raise

    async def _arrived(self, request: LeanRequest, answer: Answer) -> LeanResponse:
        if isinstance(answer, PeerFault):
            assert not answer.writes, "bytes that are not HTTP need a server on the wire"
            if answer.hang:
                hanging = asyncio.create_task(asyncio.Event().wait())
                self.keep(hanging)
                try:
                    await asyncio.wait((hanging,), timeout=request.read_seconds)
                finally:
                    given_up = not hanging.cancelled()
                    hanging.cancel()
                if given_up:
                    raise httpx.ReadTimeout("")
                raise httpx.RemoteProtocolError(DISCONNECTED)
            raise httpx.ReadError("")
        if isinstance(answer, Stream):
            status, headers = _head(answer.head)
            content = _Incoming(answer, read_seconds=request.read_seconds)
            self.keep(content.pump)
            return LeanResponse(status, headers, content, reason=REASON)
        length = {"Content-Length": str(len(answer.body))}
        headers = length | dict(answer.headers)
        return LeanResponse(answer.status, headers, answer.body, reason=REASON)


class _Exchange:
    """`async with client.stream(...)` without httpx."""

    def __init__(self, request: LeanRequest) -> None:
        self.request = request
        self._response: LeanResponse | None = None

    async def __aenter__(self) -> LeanResponse:
        if self.request.client.is_closed:
            msg = "Cannot send a request, as the client has been closed."
            raise RuntimeError(msg)
        self._server = SERVERS[self.request.host]
        self._server._exchanges.add(self)
        try:
            self._response = await self._server.exchange(self.request)
        except BaseException:
            self._server._exchanges.discard(self)
            raise
        return self._response

    async def __aexit__(self, *_error: object) -> None:
        self._server._exchanges.discard(self)
        if self._response is not None:
            await self._response.aclose()


def _stream(client: httpx.AsyncClient, method: str, url: str | httpx.URL, **how: Any) -> Any:
    """In place of the method of httpx, for servers in memory."""
    if isinstance(url, str) and url.startswith(PREFIX):
        return _Exchange(LeanRequest(client, method, url, **how))
    return ANSWERED_ON_WIRE(client, method, url, **how)


class _Incoming(LeanStream):
    """The client's end of an answer in chunks.

    The server writes whether or not anybody reads, as long as the buffers of a connection are not
    full.
    """

    def __init__(self, stream: Stream, *, read_seconds: float | None) -> None:
        self._arrived = asyncio.Queue[bytes | None]()
        self._read_seconds = read_seconds
        self._chunks = _Chunks()
        self.pump = asyncio.create_task(self._pump(stream))
        # Also when it is cancelled before it begins.
        self.pump.add_done_callback(lambda _pump: self._arrived.put_nowait(None))

    async def _pump(self, stream: Stream) -> None:
        pieces = stream.pieces
        try:
            async for piece in pieces:
                self._arrived.put_nowait(piece)
        finally:
            if hasattr(pieces, "aclose"):
                await pieces.aclose()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not self._chunks.ended:
            try:
                async with asyncio.timeout(self._read_seconds):
                    piece = await self._arrived.get()
            except TimeoutError as error:
                raise httpx.ReadTimeout("") from error
            if piece is None:
                msg = (
                    "peer closed connection without sending complete message body"
                    " (incomplete chunked read)"
                )
                raise httpx.RemoteProtocolError(msg)
            for data in self._chunks.of(piece):
                yield data

    async def aclose(self) -> None:
        self.pump.cancel()


class _Chunks:
    """Reads the chunks of an answer from pieces of any size."""

    def __init__(self) -> None:
        self.ended = False
        self._unread = b""
        self._left = 0
        """Bytes of the chunk that are not read, with the line end after it."""

    def of(self, piece: bytes) -> list[bytes]:
        """The data that this piece brings."""
        unread, data = self._unread + piece, list[bytes]()
        while unread and not self.ended:
            if not self._left:
                size, separator, rest = unread.partition(b"\r\n")
                if not separator:
                    break
                unread, self._left = rest, int(size, 16) + 2
                self.ended = self._left == 2
                continue
            taken = unread[: self._left]
            text = taken[: max(0, self._left - 2)]
            if text:
                data.append(text)
            self._left -= len(taken)
            unread = unread[len(taken) :]
        self._unread = unread
        return data


@lru_cache(maxsize=100)
def _head(head: bytes) -> tuple[int, dict[str, str]]:
    """The status and the headers of an answer in chunks."""
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    headers = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    assert headers.get("Transfer-Encoding") == "chunked", "other answers need a server on the wire"
    return int(first.split(" ")[1]), headers
