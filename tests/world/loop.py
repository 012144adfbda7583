"""An event loop without sockets, on virtual time, in which programs can be frozen and killed.

Every callback belongs to the program whose context scheduled it (`PROGRAM`), as every instruction
of a real system belongs to a process. That is enough to model what happens to processes:

- a frozen program (SIGSTOP, a paused virtual machine) runs nothing, while its clock goes on. When
  it thaws, everything that became due meanwhile runs, with the memory of before;
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
PATIENT_STEPS: Final = 1000
"""Rounds of callbacks at one moment after which the clock moves on by itself."""
STEPS: Final = 200_000
"""Callbacks at one moment after which a program is said to run in circles."""


class ScheduledCall:
    """A callback with its context, as asyncio.TimerHandle, and made in a third of the time."""

    __slots__ = ("args", "at", "callback", "context", "is_cancelled")

    def __init__(
        self, callback: Callable[..., object], args: tuple[Any, ...], context: Context, at: float
    ) -> None:
        self.callback, self.args, self.context, self.at = callback, args, context, at
        self.is_cancelled = False

    def cancel(self) -> None:
        if not self.is_cancelled:
            self.is_cancelled = True
            # What it holds is free before its time comes.
            self.args = ()

    def cancelled(self) -> bool:
        return self.is_cancelled

    def when(self) -> float:
        return self.at

    def __repr__(self) -> str:
        """Without addresses, because a history may hold it."""
        return f"<{getattr(self.callback, '__qualname__', 'callback')} at {self.at}>"


class Program:
    """A process of the world: what belongs to it runs, waits while it is frozen, or never runs
    again.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.frozen = False
        self.killed = False
        self.is_older = False
        """Whether it is of an older version."""
        self.skew = 0.0
        """Seconds by which its wall clock is ahead."""
        self.backlog: deque[ScheduledCall] = deque()
        """What became due while it was frozen."""

        self.runs = True
        """Whether it is neither frozen nor killed."""


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
        self._timer_numbers = itertools.count()
        self._timers: list[tuple[float, int, ScheduledCall]] = []
        self._due: deque[ScheduledCall] = deque()
        self._steps = 0
        super().__init__()
        self.set_task_factory(self._task)

    def time(self) -> float:
        return self._now

    def wall(self) -> float:
        """Unix time of the hub, and of every program whose clock is right."""
        return EPOCH + self._now

    def _task(self, _loop: Any, coro: Any, **how: Any) -> Any:
        return NumberedTask(coro, number=next(self._numbers), loop=self, **how)

    def call_soon(  # type: ignore[override]
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> ScheduledCall:
        if context is None:
            context = copy_context()
        call = ScheduledCall(callback, args, context, self._now)
        program = context.get(PROGRAM)
        if program is None or program.runs:
            self._due.append(call)
        else:
            program.backlog.append(call)
        return call

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> ScheduledCall:
        """Of two calls at the same time the earlier one runs first."""
        call = ScheduledCall(callback, args, copy_context() if context is None else context, when)
        heapq.heappush(self._timers, (when, next(self._timer_numbers), call))
        return call

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> ScheduledCall:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def run_in_executor(
        self, _executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """At once: other callbacks run between the call and its answer, but not beside the
        function.
        """
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

    def add_signal_handler(
        self, sig: int, callback: Callable[[Unpack[Ts]], object], *args: *Ts
    ) -> None:
        """Programs of the world are stopped by `kill`, or by cancelling their root task."""

    def freeze(self, program: Program) -> None:
        program.frozen, program.runs = True, False
        due = list(self._due)
        program.backlog.extend(call for call in due if call.context.get(PROGRAM) is program)
        self._due.clear()
        self._due.extend(call for call in due if call.context.get(PROGRAM) is not program)

    def thaw(self, program: Program) -> None:
        program.frozen, program.runs = False, not program.killed
        self._due.extend(program.backlog)
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
        """Runs what is ready and goes on to the next timer, until the loop is stopped.

        asyncio calls this method again and again. It returns only at the end, because a call for
        each moment takes longer than what most moments do.
        """
        due, timers = self._due, self._timers
        while True:
            if not due and not self._stopping:  # type: ignore[attr-defined]
                while timers and timers[0][2].is_cancelled:
                    heapq.heappop(timers)
                if not timers:
                    msg = "everything waits, and no timer is left"
                    raise RuntimeError(msg)
                if timers[0][0] > self._now:
                    self._now = timers[0][0]
                    self._steps = 0
            now = self._now
            while timers and timers[0][0] <= now:
                call = heapq.heappop(timers)[2]
                if not call.is_cancelled:
                    program = call.context.get(PROGRAM)
                    (due if program is None or program.runs else program.backlog).append(call)
            self._steps += 1
            if self._steps > PATIENT_STEPS:
                self._run_in_circles()
            for _ in range(len(due)):
                if not due:
                    break
                call = due.popleft()
                if not call.is_cancelled:
                    try:
                        call.context.run(call.callback, *call.args)
                    except (SystemExit, KeyboardInterrupt):
                        raise
                    except BaseException as error:  # noqa: BLE001 - as asyncio.Handle
                        self.call_exception_handler({"message": f"in {call!r}", "exception": error})
            if self._stopping:  # type: ignore[attr-defined]
                return

    def _run_in_circles(self) -> None:
        """Many rounds of callbacks at one moment.

        A program that waits for less than its clock can tell would wait for ever. A real clock
        moves.
        """
        self._now += 1e-6
        if self._steps > STEPS:
            due = self._due
            programs = {call.context.get(PROGRAM) for call in due}
            names = ", ".join(
                sorted(program.name if program is not None else "nobody" for program in programs)
            )
            msg = (
                f"{STEPS} rounds of callbacks at one moment, of {names}:"
                f" {due[0] if due else 'nothing'}"
            )
            raise RuntimeError(msg)


GRAVEYARD: Final[list[Any]] = []
"""Tasks of killed programs. They are kept, because collecting a coroutine would run its
`finally`.
"""


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
