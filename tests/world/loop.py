"""An event loop without sockets, on virtual time, in which programs can be frozen and killed.

Every callback belongs to the program whose context scheduled it (`PROGRAM`), as every instruction
of a real system belongs to a process. That is enough to model what happens to processes:

- a frozen program (SIGSTOP, a paused virtual machine) runs nothing, while its clock goes on. When it thaws,
  everything that became due meanwhile runs, with the memory of before;
- a killed program never runs again, at whatever await it was.

The loop guarantees the same order of callbacks for the same seed: there are no threads, no sockets
and no real time, tasks have numbers in place of addresses as their hash, and functions for an
executor run at once.
"""

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

EPOCH: Final = 1_780_000_000.0
"""Unix time when every world begins."""
STEPS: Final = 200_000
"""Callbacks at one moment after which a program is said to run in circles."""


class Program:
    """A process of the world: what belongs to it runs, waits while it is frozen, or never runs again."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frozen = False
        self.killed = False
        self.skew = 0.0
        """Seconds by which its wall clock is ahead."""
        self.backlog: deque[asyncio.Handle] = deque()
        """What became due while it was frozen."""

    @property
    def runs(self) -> bool:
        return not (self.frozen or self.killed)


PROGRAM: ContextVar[Program | None] = ContextVar("program", default=None)


class NumberedTask(asyncio.Task[T]):
    """A task whose hash is its number: a set of tasks has the same order in each run."""

    def __init__(self, coro: Coroutine[Any, Any, T], *, number: int, **how: Any) -> None:
        self._number = number
        self.program = PROGRAM.get()
        super().__init__(coro, **how)

    def __hash__(self) -> int:
        return self._number


class WorldLoop(asyncio.SelectorEventLoop):
    """`time()` begins at 0 and jumps to the next timer as soon as nothing is ready."""

    def __init__(self) -> None:
        self._now = 0.0
        self._numbers = itertools.count()
        self._steps = 0
        self.before_jump: Callable[[], None] = lambda: None
        """Called each time when everything that is due has run, before time goes on."""
        super().__init__()
        self.set_task_factory(self._task)

    def time(self) -> float:
        return self._now

    def wall(self) -> float:
        """Unix time of the hub, and of every program whose clock is right."""
        return EPOCH + self._now

    def _task(self, _loop: Any, coro: Any, **how: Any) -> Any:
        return NumberedTask(coro, number=next(self._numbers), loop=self, **how)

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        context = context or copy_context()
        handle = asyncio.Handle(callback, args, self, context)
        self._queue_of(context).append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def _queue_of(self, context: Context) -> deque[asyncio.Handle]:
        program = context.get(PROGRAM)
        if program is None or program.runs:
            ready: deque[asyncio.Handle] = self._ready  # type: ignore[attr-defined]
            return ready
        return program.backlog

    def run_in_executor(
        self, _executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """At once: other callbacks run between the call and its answer, but not beside the function."""
        future = self.create_future()
        try:
            answer = func(*args)
        except Exception as error:  # noqa: BLE001 - the caller gets it
            self.call_soon(_fail, future, error)
        else:
            self.call_soon(_settle, future, answer)
        return future

    async def create_server(self, *_args: Any, **_how: Any) -> Any:
        """Pages of programs have no port here: nobody asks for them."""
        return _NoServer()

    def add_signal_handler(self, sig: int, callback: Callable[[Unpack[Ts]], object], *args: *Ts) -> None:
        """Programs of the world are stopped by `kill`, or by cancelling their root task."""

    def freeze(self, program: Program) -> None:
        program.frozen = True
        ready: deque[asyncio.Handle] = self._ready  # type: ignore[attr-defined]
        kept = [handle for handle in ready if handle._context.get(PROGRAM) is not program]  # type: ignore[attr-defined]
        program.backlog.extend(handle for handle in ready if handle._context.get(PROGRAM) is program)  # type: ignore[attr-defined]
        ready.clear()
        ready.extend(kept)

    def thaw(self, program: Program) -> None:
        program.frozen = False
        self._ready.extend(program.backlog)  # type: ignore[attr-defined]
        program.backlog.clear()

    def kill(self, program: Program) -> None:
        """Nothing of the program runs any more, not even what would clean up."""
        self.freeze(program)
        program.killed = True
        for task in asyncio.all_tasks(self):
            if isinstance(task, NumberedTask) and task.program is program:
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                GRAVEYARD.append(task)

    def _run_once(self) -> None:
        """Runs what is ready, or goes on to the next timer."""
        ready: deque[asyncio.Handle] = self._ready  # type: ignore[attr-defined]
        scheduled: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        if not ready and not self._stopping:  # type: ignore[attr-defined]
            self.before_jump()
            while scheduled and scheduled[0]._cancelled:
                heapq.heappop(scheduled)._scheduled = False  # type: ignore[attr-defined]
            if not ready:
                if not scheduled:
                    msg = "everything waits, and no timer is left"
                    raise RuntimeError(msg)
                if scheduled[0].when() > self._now:
                    self._now = scheduled[0].when()
                    self._steps = 0
        while scheduled and scheduled[0].when() <= self._now:
            timer = heapq.heappop(scheduled)
            timer._scheduled = False  # type: ignore[attr-defined]
            if not timer._cancelled:
                self._queue_of(timer._context).append(timer)  # type: ignore[attr-defined]
        self._steps += 1
        if self._steps > STEPS:
            msg = f"{STEPS} rounds of callbacks at one moment: {ready[0] if ready else 'nothing'}"
            raise RuntimeError(msg)
        for _ in range(len(ready)):
            if not ready:
                break
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()


GRAVEYARD: Final[list[Any]] = []
"""Tasks of killed programs. They are kept, because collecting a coroutine would run its `finally`."""


class _NoServer:
    """In place of a listening server."""

    class _Socket:
        def getsockname(self) -> tuple[str, int]:
            return "127.0.0.1", 1

    sockets = (_Socket(),)

    def close(self) -> None: ...

    async def wait_closed(self) -> None: ...

    async def start_serving(self) -> None: ...


def _settle(future: asyncio.Future[T], answer: T) -> None:
    if not future.cancelled():
        future.set_result(answer)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.cancelled():
        future.set_exception(error)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Like asyncio.run. Tasks that are left at the end stay as they are: the process ends soon."""
    loop = WorldLoop()
    asyncio.set_event_loop(loop)
    return loop.run_until_complete(main)


NOBODY: Final = Context()
"""The context of what belongs to no program, and so outlives all of them."""


def later(seconds: float, what: Callable[[Unpack[Ts]], object], *args: *Ts) -> None:
    """Does something later, whatever becomes of the program that runs now."""
    world_loop().call_later(seconds, what, *args, context=NOBODY)


def world_loop() -> WorldLoop:
    """The running loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, WorldLoop)
    return loop
