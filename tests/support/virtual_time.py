"""An event loop whose clock jumps to the next timer while nothing else happens.

Hours in milliseconds, over real sockets.

The clock stands still while the loop computes, while data is in transit between sockets of the
loop, while a thread of an executor works for it, and while a child process of it runs. So a test
sees the same times on every machine, even a busy one.

While the loop has a connection to a server that is not its own, such as one in another thread, the
clock runs in real time. The loop cannot see other things, such as a child process that serves
during the whole test. These need a loop with the real clock.
"""

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

DELIVERY_SECONDS: Final = 0.001
"""Real time before a jump, for the kernel to deliver data. An idle machine needs none."""
SMALL_JUMP_SECONDS: Final = 0.1
"""Jumps up to this length do not wait: a test that polls makes thousands of them."""
WORK_SECONDS: Final = 60.0
"""Real time after which threads and processes that do not end are an error."""


class _Selector(selectors.DefaultSelector):
    """A selector in virtual time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.working: Callable[[], bool] = lambda: False
        self.connected: Callable[[], bool] = lambda: False

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            # A loop that has more to do at once need not look at its own pipe, which only wakes it.
            return super().select(0) if len(self.get_map()) > 1 else []
        events = super().select(0)
        if events:
            return events
        if timeout is None or self.working():
            events = super().select(WORK_SECONDS)
            if not events:
                msg = (
                    f"nothing happened for {WORK_SECONDS:.0f} s of real time, and no timer may pass"
                )
                raise RuntimeError(msg)
            return events
        if self.connected():
            began = time.monotonic()
            events = super().select(timeout)
            self.now += time.monotonic() - began
            return events
        if timeout > SMALL_JUMP_SECONDS and len(self.get_map()) > 1:
            # There is more than the loop's own pipe.
            events = super().select(DELIVERY_SECONDS)
        if not events:
            self.now += timeout
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """``time()`` begins at 0 and advances only while everything waits."""

    def __init__(self) -> None:
        self._clock = _Selector()
        self._jobs = 0
        self._processes: list[asyncio.SubprocessTransport] = []
        self._ports: set[int] = set()
        """Ports of the loop's own servers."""
        self._connections: list[asyncio.Transport] = []
        """Connections to other servers."""
        super().__init__(self._clock)
        self._clock.working, self._clock.connected = self._working, self._connected
        self._began = time.time()

    def time(self) -> float:
        return self._clock.now

    def wall(self) -> float:
        """Unix time: the real time when the loop was created, plus the time that has passed in the
        loop.
        """
        return self._began + self._clock.now

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self._jobs += 1
        future.add_done_callback(self._done)
        return future

    async def subprocess_exec(self, *args: Any, **kwargs: Any) -> Any:
        transport, protocol = await super().subprocess_exec(*args, **kwargs)
        self._processes.append(transport)
        return transport, protocol

    async def create_server(self, *args: Any, **kwargs: Any) -> asyncio.Server:
        server = await super().create_server(*args, **kwargs)
        self._ports.update(one.getsockname()[1] for one in server.sockets)
        return server

    async def create_connection(self, *args: Any, **kwargs: Any) -> Any:
        transport, protocol = await super().create_connection(*args, **kwargs)
        peer = transport.get_extra_info("peername")
        if peer is not None and peer[1] not in self._ports:
            self._connections.append(transport)
        return transport, protocol

    def _connected(self) -> bool:
        self._connections = [
            connection for connection in self._connections if not connection.is_closing()
        ]
        return bool(self._connections)

    def _done(self, _future: asyncio.Future[Any]) -> None:
        self._jobs -= 1

    def _working(self) -> bool:
        self._processes = [
            process for process in self._processes if process.get_returncode() is None
        ]
        return bool(self._jobs or self._processes)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Like asyncio.run, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def wall() -> float:
    """Unix time of the running loop, for servers; outside a virtual loop the real time."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return time.time()
    return loop.wall() if isinstance(loop, VirtualLoop) else time.time()
