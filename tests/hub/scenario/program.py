"""`gitops-dsf` that stops itself, or that does not ask its own fence: `python stopped.py HOW ARGUMENT...`.

HOW is a list of words with commas between them:

- `connection`: it stops itself (SIGSTOP) once, when it is about to take a connection for its first deletion;
- `body`: the same, when the headers of that request were sent, and after the last look at its claim;
- `unfenced`: it deletes whatever it knows of its claim on the Lease and of the leader before it.

After SIGCONT it goes on where it was.
"""

import os
import signal
import sys
from typing import Any

import httpcore
import httpx

from gitops_dsf.cli.main import main
from gitops_dsf.reconciler.hub.fence import Fence

Method = Any


def stopping(original: Method, method: str) -> Method:
    """The same coroutine function. It stops the process before it begins with the first such request."""
    done: list[bool] = []

    async def replaced(self: Any, request: Any) -> Any:
        if request.method in {method, method.encode()} and not done:
            done.append(True)
            os.kill(os.getpid(), signal.SIGSTOP)
        return await original(self, request)

    return replaced


def install(how: str) -> None:
    words = how.split(",")
    if "unfenced" in words:
        fence: Any = Fence
        fence.deletion = fence.write = lambda _: None
    if "connection" in words:
        transport: Any = httpx.AsyncHTTPTransport
        transport.handle_async_request = stopping(transport.handle_async_request, "DELETE")
    if "body" in words:
        owner: Any = httpcore.AsyncHTTP11Connection
        owner._send_request_body = stopping(owner._send_request_body, "DELETE")


if __name__ == "__main__":
    install(sys.argv[1])
    sys.exit(main(sys.argv[2:]))
