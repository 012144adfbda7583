"""The network of the world: an httpx transport whose other end is in memory.

A request leaves its program after a delay, arrives, takes effect and is answered, each as its own
moment. What is under way goes on when its program is frozen or killed, as packets do. `Trouble`,
which the faults draw, says what goes wrong on the way.
"""

import asyncio
import json
import math
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

import httpx

from tests.support.agent.http import PeerFault, RecordedRequest, SentReply
from tests.support.leanhttp import (
    LeanRequest,
    LeanResponse,
    LeanStream,
    Trace,
    in_lower_case,
    tell_sending,
)
from tests.world.loop import NOBODY, PROGRAM, Program, later, world_loop


class OpenWatch:
    """An open watch: the server's end. The client's end is `Incoming`."""

    def __init__(self) -> None:
        self.client: Incoming | None = None
        self._unread: list[Callable[[], None]] = []
        """What waits for the client."""
        self.ended = self.muted = False
        self.lag = 0.0
        """Seconds by which everything arrives late."""
        self.on_end: Callable[[], None] = lambda: None
        self.headers: Mapping[str, str] = {}
        """Of the answer that opens it."""

    def send(self, line: bytes) -> None:
        if self.client is not None and not self.ended and not self.muted:
            self.client.arrive(line)

    def when_read(self, act: Callable[[], None]) -> None:
        """Does something as soon as the client has the watch; never if it dies before."""
        if self.client is None:
            self._unread.append(act)
        else:
            act()

    def read_by(self, client: "Incoming") -> None:
        self.client = client
        acts, self._unread = self._unread, []
        for act in acts:
            act()

    def mute(self) -> None:
        """Nothing is sent any more, and it stays open."""
        self.muted = True

    def end(self, *, broken: bool = False) -> None:
        """The server ends it, or the connection breaks."""
        if not self.ended:
            self.ended = True
            self.on_end()
            if self.client is not None and not self.muted:
                self.client.arrive(None, broken=broken)


Answer = SentReply | PeerFault | OpenWatch


class WorldServer(Protocol):
    """Answers at once; what it has under way is its own matter."""

    def answered(self, seen: RecordedRequest) -> Answer: ...

    def elsewhere(self, seen: RecordedRequest) -> Answer:
        """The answer of another replica of it, which may be behind."""
        return self.answered(seen)


@dataclass(frozen=True, kw_only=True)
class NetworkTrouble:
    """What goes wrong with one request."""

    refuse: SentReply | None = None
    """The answer of a server that does nothing."""
    lost: bool = False
    """The request takes effect, and its answer never arrives."""
    unsent: bool = False
    """The connection breaks before the request arrives."""
    slow: float = 0.0
    """Seconds more until the answer."""
    late: float = 0.0
    """Seconds more until it arrives."""
    cut: float | None = None
    """A watch breaks after so many seconds."""
    other: bool = False
    """A list or watch is answered by another API server, which is behind."""
    first: Callable[[], None] | None = None
    """Right before it takes effect, this happens."""
    gone: bool = False
    """A watch is opened, says a bookmark, and ends with an ERROR event of 410."""


NONE: Final = NetworkTrouble()


class Network:
    """By host.

    Delays are drawn by program, so that one program's requests do not change another's.
    """

    def __init__(self, *, seed: int) -> None:
        self._seed = seed
        self._random: dict[str, random.Random] = {}
        self.hosts: dict[str, WorldServer] = {}
        self.trouble: Callable[[Program, RecordedRequest, str], NetworkTrouble] = (
            lambda _program, _seen, _host: NONE
        )
        self.unreachable: Callable[[Program, str], bool] = lambda _program, _host: False
        """Whether this program has no way to this host now."""
        self.requester: Program | None = None
        """Whose request a server answers now."""
        self.sent: float | None = None
        """When it was sent."""
        self.count: Callable[[Program, RecordedRequest, str], None] = (
            lambda _program, _seen, _host: None
        )
        self.writing: Counter[tuple[Program, str]] = Counter()
        """Changes of objects that a program waits for the answer to, by its path."""
        self.refused: Callable[[Program, RecordedRequest, int], None] = (
            lambda _program, _seen, _status: None
        )
        """Called for each request that a fault refuses, with the status."""
        self.refusal: Callable[[str, SentReply], SentReply] = lambda _host, reply: reply
        """The refusal of a fault, as this host answers it."""
        self.served: Callable[[Program, RecordedRequest, SentReply], None] = (
            lambda _program, _seen, _reply: None
        )
        """Called for each answer of a server that its program gets, if it waits for it."""

    def random_of(self, program: Program) -> random.Random:
        if program.name not in self._random:
            self._random[program.name] = random.Random(f"{self._seed} {program.name}")
        return self._random[program.name]

    def delay(self, program: Program) -> float:
        """Seconds of one way: a few milliseconds, rarely a tenth of a second."""
        drawn = self.random_of(program).random()
        return 0.001 + 0.004 * drawn + (0.1 if drawn > 0.99 else 0.0)

    async def send(
        self, seen: RecordedRequest, *, host: str, trace: Trace | None, read: float | None
    ) -> "Arrived":
        """Sends a request, and returns when its answer begins. Raises the errors of httpx."""
        program = PROGRAM.get()
        assert program is not None, f"nobody's request: {seen.method} {seen.target}"
        if host not in self.hosts or self.unreachable(program, host):
            await asyncio.sleep(self.delay(program))
            raise httpx.ConnectError("All connection attempts failed")
        trouble = self.trouble(program, seen, host)
        if not program.runs:
            # It was just killed or frozen, right before it sends.
            await asyncio.sleep(0)
        await tell_sending(trace)
        self.count(program, seen, host)
        exchange = _Exchange(self, program, host, seen, trouble, read)
        if seen.method not in {"PUT", "PATCH"}:
            return await exchange.answer()
        change = program, seen.path
        self.writing[change] += 1
        try:
            return await exchange.answer()
        finally:
            self.writing[change] -= 1
            if not self.writing[change]:
                del self.writing[change]

    async def exchange(
        self, program: Program, seen: RecordedRequest, *, host: str, read: float | None
    ) -> "Arrived":
        """Sends at once what another process sends for a program. Raises the errors of httpx."""
        if self.unreachable(program, host):
            raise httpx.ConnectError("All connection attempts failed")
        self.count(program, seen, host)
        trouble = self.trouble(program, seen, host)
        return await _Exchange(self, program, host, seen, trouble, read).answer()


@dataclass(frozen=True, slots=True)
class Arrived:
    """The beginning of an answer, and its content or the watch that it opens."""

    status: int
    headers: Mapping[str, str]
    content: "bytes | Incoming"


class Incoming(LeanStream, httpx.AsyncByteStream):
    """The client's end of a watch."""

    def __init__(
        self, network: Network, program: Program, watch: OpenWatch, *, read: float | None
    ) -> None:
        self._network, self._program, self._watch, self._read = network, program, watch, read
        self._pieces: asyncio.Queue[tuple[bytes | None, bool]] = asyncio.Queue()
        self._last = 0.0
        watch.read_by(self)

    def arrive(self, line: bytes | None, *, broken: bool = False) -> None:
        """In the order of sending, after the delay of the network."""
        loop = world_loop()
        way = self._network.delay(self._program) + self._watch.lag
        self._last = max(self._last, loop.time() + way)
        loop.call_at(self._last, self._pieces.put_nowait, (line, broken), context=NOBODY)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            try:
                async with asyncio.timeout(self._read):
                    line, broken = await self._pieces.get()
            except TimeoutError as error:
                raise httpx.ReadTimeout("the watch is silent") from error
            if broken:
                raise httpx.ReadError("the connection broke")
            if line is None:
                return
            yield line

    async def aclose(self) -> None:
        self._watch.client = None
        self._watch.end()


class _Exchange:
    """One request and its answer."""

    def __init__(
        self,
        network: Network,
        program: Program,
        host: str,
        seen: RecordedRequest,
        trouble: NetworkTrouble,
        read: float | None,
    ) -> None:
        """`read` is for how many seconds the client waits for the answer."""
        self._network, self._program, self._host, self._seen = network, program, host, seen
        self._trouble, self._read = trouble, read
        loop = world_loop()
        self._answer: asyncio.Future[Answer] = loop.create_future()
        self._sent = now = loop.time()
        self._patient_until = math.inf if read is None else now + read
        arrival = now + network.delay(program) + trouble.late
        loop.call_at(arrival, self._arrive, context=NOBODY)
        if arrival > self._patient_until:
            loop.call_at(self._patient_until, self._give_up, context=NOBODY)

    def _arrive(self) -> None:
        trouble, network = self._trouble, self._network
        if trouble.unsent:
            self._settle(PeerFault())
            return
        answer: Answer
        if trouble.first is not None:
            trouble.first()
        if trouble.refuse is not None:
            answer = network.refusal(self._host, trouble.refuse)
            network.refused(self._program, self._seen, answer.status)
        else:
            network.requester, network.sent = self._program, self._sent
            server = network.hosts[self._host]
            answer = server.elsewhere(self._seen) if trouble.other else server.answered(self._seen)
            network.requester = network.sent = None
            if isinstance(answer, SentReply) and not trouble.lost:
                network.served(self._program, self._seen, answer)
        if trouble.lost and not isinstance(answer, OpenWatch):
            answer = PeerFault(hang=trouble.slow > 0)
        if isinstance(answer, OpenWatch) and trouble.gone:
            version = getattr(network.hosts[self._host], "version", 0)
            later(0.02, answer.when_read, partial(_end_with_gone, answer, version))
        if isinstance(answer, OpenWatch) and trouble.cut is not None:
            later(trouble.cut, lambda: answer.end(broken=True))
        loop = world_loop()
        back = loop.time() + network.delay(self._program) + trouble.slow
        if back > self._patient_until or (isinstance(answer, PeerFault) and answer.hang):
            if loop.time() <= self._patient_until < math.inf:
                loop.call_at(self._patient_until, self._give_up, context=NOBODY)
            if isinstance(answer, OpenWatch):
                loop.call_at(back, answer.end, context=NOBODY)
        else:
            loop.call_at(back, self._settle, answer, context=NOBODY)

    def _settle(self, answer: Answer) -> None:
        if not self._answer.done():
            self._answer.set_result(answer)
        elif isinstance(answer, OpenWatch):
            answer.end()

    def _give_up(self) -> None:
        if not self._answer.done():
            self._answer.set_exception(httpx.ReadTimeout("no answer in time"))

    async def answer(self) -> Arrived:
        answer = await self._answer
        if isinstance(answer, SentReply):
            return Arrived(answer.status, answer.headers, answer.body)
        if isinstance(answer, PeerFault):
            raise httpx.ReadError("the connection broke")
        return Arrived(
            200, answer.headers, Incoming(self._network, self._program, answer, read=self._read)
        )


def _end_with_gone(watch: OpenWatch, version: int) -> None:
    bookmark = {"metadata": {"resourceVersion": str(version)}}
    watch.send(json.dumps({"type": "BOOKMARK", "object": bookmark}).encode() + b"\n")
    status = {"kind": "Status", "code": 410, "message": "too old resource version"}
    watch.send(json.dumps({"type": "ERROR", "object": status}).encode() + b"\n")
    watch.end()


class _LeanExchange:
    """`async with client.stream(...)` without httpx."""

    def __init__(self, network: Network, request: LeanRequest) -> None:
        self._network, self._request = network, request

    async def __aenter__(self) -> LeanResponse:
        request = self._request
        arrived = await self._network.send(
            await request.asked(at=world_loop().time()),
            host=request.host,
            trace=request.trace,
            read=request.read_seconds,
        )
        self._response = LeanResponse(arrived.status, arrived.headers, arrived.content)
        return self._response

    async def __aexit__(self, *_error: object) -> None:
        await self._response.aclose()


def install(network: Network, *, lean: bool = True) -> None:
    """Replaces the network of this process: every httpx client, whoever creates it.

    Unless `lean`, the requests go through all of httpx down to its transport. The history is the
    same, byte for byte (a test compares them), and the world three times as slow.
    """

    async def handle(_transport: Any, request: httpx.Request) -> httpx.Response:
        limits: Mapping[str, float | None] = request.extensions.get("timeout", {})
        seen = RecordedRequest(
            method=request.method,
            target=request.url.raw_path.decode(),
            headers=in_lower_case(request.headers),
            body=await request.aread(),
            at=world_loop().time(),
        )
        arrived = await network.send(
            seen,
            host=request.url.host,
            trace=request.extensions.get("trace"),
            read=limits.get("read"),
        )
        content = arrived.content
        stream = content if isinstance(content, Incoming) else httpx.ByteStream(content)
        return httpx.Response(arrived.status, headers=dict(arrived.headers), stream=stream)

    async def close(_transport: Any) -> None: ...

    def stream(client: httpx.AsyncClient, method: str, url: str, **how: Any) -> _LeanExchange:
        return _LeanExchange(network, LeanRequest(client, method, url, **how))

    for name, replacement in (("handle_async_request", handle), ("aclose", close)):
        setattr(httpx.AsyncHTTPTransport, name, replacement)
    if lean:
        setattr(httpx.AsyncClient, "stream", stream)  # noqa: B010 - mypy knows that it is a method
