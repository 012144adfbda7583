"""`gitops-dsf` as a test changes it: `python program.py SPEED CHANGES ARGUMENT...`.

SPEED is how many times as fast the clock of its event loop runs, so that waits and time limits are
that much shorter. The clock of the hub, which it learns from answers, and how long a watch may be
silent, stay as they are.

CHANGES is empty, or a list with commas of:

- `connection`: it stops itself (SIGSTOP) once, when it is about to take a connection for its first
  deletion;
- `body`: the same, when the headers of that request were sent, and after the last look at its
  claim;
- `unfenced`: it writes whatever it knows of its claim on the Lease.

After SIGCONT it continues where it was.
"""

import asyncio
import os
import selectors
import signal
import sys
import time
from typing import Any

import httpcore
import httpx

from dsf_runtime import apiserver, clock, informer
from gitops_dsf.cli.main import main
from gitops_dsf.hub import score_states
from gitops_dsf.reconciler.hub.api import HubApi

Method = Any


class FastLoop(asyncio.SelectorEventLoop):
    """Its clock runs `speed` times as fast as the machine's."""

    def __init__(self, speed: float) -> None:
        self._speed, self._began = speed, time.monotonic()
        super().__init__(_Selector(speed))

    def time(self) -> float:
        return self._began + (time.monotonic() - self._began) * self._speed


class _Selector(selectors.DefaultSelector):
    """Waits for seconds of that loop."""

    def __init__(self, speed: float) -> None:
        super().__init__()
        self._speed = speed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(timeout if timeout is None else timeout / self._speed)


def hasten(speed: float) -> None:
    """Makes every event loop from now on fast.

    The one wait by the hub's clock is shortened itself.
    """
    events: Any = asyncio.events
    events.new_event_loop = lambda: FastLoop(speed)
    of_the_hub: Any = clock.HubClock.__init__
    of_the_hub.__kwdefaults__["steady"] = time.monotonic
    rules: Any = score_states
    rules.GRACE_SECONDS /= speed
    # API servers send a bookmark every minute of the real clock.
    requests: Any = apiserver
    requests.SILENCE *= speed
    watches: Any = informer
    watches.STALE_SECONDS *= speed


def stopping(original: Method, method: str) -> Method:
    """The same coroutine function.

    It stops the process before it begins with the first such request.
    """
    done: list[bool] = []

    async def replaced(self: Any, request: Any) -> Any:
        if request.method in {method, method.encode()} and not done:
            done.append(True)
            os.kill(os.getpid(), signal.SIGSTOP)
        return await original(self, request)

    return replaced


def change(words: list[str]) -> None:
    if "unfenced" in words:
        api: Any = HubApi
        api._ask = lambda *_: None
    if "connection" in words:
        transport: Any = httpx.AsyncHTTPTransport
        transport.handle_async_request = stopping(transport.handle_async_request, "DELETE")
    if "body" in words:
        owner: Any = httpcore.AsyncHTTP11Connection
        owner._send_request_body = stopping(owner._send_request_body, "DELETE")


if __name__ == "__main__":
    hasten(float(sys.argv[1]))
    change(sys.argv[2].split(","))
    sys.exit(main(sys.argv[3:]))
