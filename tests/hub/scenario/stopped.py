"""`gitops-dsf` that stops itself (SIGSTOP) once, when it is about to send its first deletion: `python stopped.py WHERE ARGUMENT...`.

WHERE is `connection`: before a connection is taken from the pool; or `body`: when the headers of the request were sent, and everything that
looks before the body has looked. What continues it sees the same process go on where it was.
"""

import os
import signal
import sys
from typing import Any

import httpcore
import httpx

from gitops_dsf.cli.main import main

Method = Any


def stopping(original: Method, method: str) -> Method:
    """The same coroutine function, which stops the process before it begins with the first request of this method."""
    done: list[bool] = []

    async def replaced(self: Any, request: Any) -> Any:
        if request.method in {method, method.encode()} and not done:
            done.append(True)
            os.kill(os.getpid(), signal.SIGSTOP)
        return await original(self, request)

    return replaced


def install(where: str) -> None:
    if where == "connection":
        httpx.AsyncHTTPTransport.handle_async_request = stopping(httpx.AsyncHTTPTransport.handle_async_request, "DELETE")  # type: ignore[method-assign]
    else:
        owner: Any = httpcore.AsyncHTTP11Connection
        owner._send_request_body = stopping(owner._send_request_body, "DELETE")


if __name__ == "__main__":
    install(sys.argv[1])
    sys.exit(main(sys.argv[2:]))
