"""A real HTTP/1.1 server on 127.0.0.1. The test chooses its answers and its faults on the wire."""

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

REASON: Final = "Whatever"
"""The reason phrase of every status: no client may depend on it."""


@dataclass(frozen=True, kw_only=True)
class RecordedRequest:
    """A received request. Header names are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    at: float
    peer_certificate: dict[str, Any] | None = None

    @cached_property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    @cached_property
    def query(self) -> dict[str, str]:
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.target).query).items()}

    @property
    def form(self) -> dict[str, str]:
        return {name: values[-1] for name, values in parse_qs(self.body.decode()).items()}

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, kw_only=True)
class SentReply:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, plain: object, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> "SentReply":
        return cls(
            status=status,
            body=msgspec.json.encode(plain),
            headers={"Content-Type": "application/json", **(headers or {})},
        )


@dataclass(frozen=True, kw_only=True)
class PeerFault:
    """An invalid answer: its bytes, their timing, and how the connection ends."""

    writes: tuple[bytes, ...] = ()
    pause: float = 0.0
    """Seconds before each write."""
    hang: bool = False
    """Repeats until the peer closes. Otherwise the connection is reset after the last write."""


@dataclass(frozen=True, kw_only=True)
class Stream:
    """An answer that lasts until its pieces end, or until the peer closes.

    The pieces are chunks, or what comes after another head.
    """

    pieces: AsyncIterator[bytes]
    head: bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


Answer = SentReply | PeerFault | Stream
Handler = Callable[[RecordedRequest], Awaitable[Answer] | Answer]


class HttpFake:
    """``async with HttpFake(handler) as fake: fake.url``. ``seen`` holds every request in order."""

    def __init__(
        self, handler: Handler, *, tls: ssl.SSLContext | None = None, port: int = 0
    ) -> None:
        self.handler = handler
        self.seen: list[RecordedRequest] = []
        self.connections = 0
        self.open = 0
        self._tls = tls
        self._port = port
        self._server: asyncio.Server | None = None
        self._reservation: socket.socket | None = None
        """Has the port while the server refuses connections."""
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        return self._port

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def to(self, name: str) -> list[RecordedRequest]:
        """Requests whose path begins with this name."""
        return [seen for seen in self.seen if seen.path.startswith(f"/{name}/")]

    async def start(self) -> None:
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", self._port, ssl=self._tls, backlog=512, reuse_port=True
        )
        self._port = self._server.sockets[0].getsockname()[1]
        self._release_port()

    async def refuse(self) -> None:
        """Refuses connections, and ends those that are open, until it is started again.

        The port stays its own. Else another server could get it and answer its clients.
        """
        self._reservation = socket.socket()
        self._reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._reservation.bind(("127.0.0.1", self._port))
        await self._end()

    async def stop(self) -> None:
        self._release_port()
        await self._end()

    async def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        self.drop()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _release_port(self) -> None:
        if self._reservation is not None:
            self._reservation.close()
            self._reservation = None

    def drop(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    def use_tls(self, context: ssl.SSLContext) -> None:
        self._tls = context

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.open += 1
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            self._tasks.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines if line)
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        seen = RecordedRequest(
            method=method,
            target=target,
            headers=headers,
            body=body,
            at=asyncio.get_running_loop().time(),
            peer_certificate=writer.get_extra_info("peercert"),
        )
        self.seen.append(seen)
        answer = self.handler(seen)
        if isinstance(answer, Awaitable):
            answer = await answer
        if isinstance(answer, PeerFault):
            return await self._fault(answer, reader, writer)
        if isinstance(answer, Stream):
            return await self._stream(answer, reader, writer)
        named = {"Content-Length": str(len(answer.body)), **answer.headers}
        lines = [
            f"HTTP/1.1 {answer.status} {REASON}",
            *(f"{name}: {value}" for name, value in named.items()),
        ]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        writer.write(answer.body)
        await writer.drain()
        return True

    @staticmethod
    async def _stream(
        stream: Stream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        async def pump() -> None:
            async for piece in stream.pieces:
                writer.write(piece)
                await writer.drain()

        writer.write(stream.head)
        tasks = [asyncio.create_task(pump()), asyncio.create_task(reader.read())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not tasks[0].done():
                writer.transport.abort()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return False

    async def _fault(
        self, fault: PeerFault, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        for piece in fault.writes:
            await asyncio.sleep(fault.pause)
            writer.write(piece)
            await writer.drain()
        if fault.hang:
            await reader.read()
        raw: socket.socket | None = writer.get_extra_info("socket")
        if raw is not None:
            # Linger zero: the peer sees a reset, not an orderly end.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return False


def chunk(data: bytes) -> bytes:
    """One chunk of a stream; an empty one ends it."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def head(*, length: int | None = None, status: int = 200, extra: str = "") -> bytes:
    """The first bytes of an answer, for faults."""
    lines = [f"HTTP/1.1 {status} {REASON}", "Content-Type: application/json"]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    if extra:
        lines.append(extra)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def series(count: int, *, points: int = 3, **labels: str) -> list[dict[str, Any]]:
    return [
        {
            "metric": {"node": f"n{index}", **labels},
            "values": [[1_700_000_000 + 30 * point, str(index + point)] for point in range(points)],
        }
        for index in range(count)
    ]


def matrix(result: Sequence[Mapping[str, Any]], **more: object) -> SentReply:
    return SentReply.of(
        {"status": "success", "data": {"resultType": "matrix", "result": result}, **more}
    )


def prometheus(result: Sequence[Mapping[str, Any]]) -> Callable[[RecordedRequest], SentReply]:
    answer = matrix(result)
    return lambda _seen: answer


def prometheus_error(kind: str, text: str, *, status: int = 400) -> SentReply:
    return SentReply.of({"status": "error", "errorType": kind, "error": text}, status=status)


def last_values(seen: RecordedRequest) -> SentReply:
    return SentReply.of(
        {
            "results": [
                {"metric": one["metric"], "score": float(one["values"][-1][1])}
                for one in seen.json()["data"]
            ]
        }
    )


def scores(*values: float | str, **labels: str) -> Callable[[RecordedRequest], SentReply]:
    answer = SentReply.of(
        {
            "results": [
                {"metric": {"node": f"n{index}", **labels}, "score": value}
                for index, value in enumerate(values)
            ]
        }
    )
    return lambda _seen: answer


class FakeScoring:
    """A scoring API whose scores a test changes."""

    def __init__(self, *values: float) -> None:
        self.values = values

    def __call__(self, seen: RecordedRequest) -> SentReply:
        return scores(*self.values)(seen)
