"""Forks for each client: `server.py ADDRESS`.

It imports nothing until the first client comes. It ends with its standard input, and so do its
forks.
"""

import ast
import atexit
import contextlib
import gc
import importlib
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final, NoReturn

PACKAGES: Final = ("gitops_dsf", "dsf_agent", "dsf_runtime", "dsf_scorer", "dsf_wire")
MODULES: Final = {"gitops-dsf": "gitops_dsf", "gitops-dsf-agent": "dsf_agent"}
IGNORED: Final = (b"PYTHONUNBUFFERED", b"PYTHONDONTWRITEBYTECODE")
"""Variables of the interpreter with which a fork can still be what a new Python would be."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A program that a client wants to run."""

    arguments: Sequence[str]
    cwd: str
    environment: Mapping[bytes, bytes]
    streams: Sequence[int]


class Server:
    """One connection for each program that runs."""

    def __init__(self, address: str) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address)
        self._listener.listen(64)
        self._running: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        for end in (self._woken, self._wake):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake.fileno())
        for readable in (self._listener, self._woken, sys.stdin):
            self._selector.register(readable, selectors.EVENT_READ)

    def is_wanted(self) -> bool:
        """Waits for the first client. False if there will be none."""
        return sys.stdin not in [key.fileobj for key, _ in self._selector.select()]

    def serve(self) -> Request | None:
        """Returns None at the end, and in each fork the request that the fork has to run."""
        while True:
            ready = [key.fileobj for key, _ in self._selector.select()]
            if sys.stdin in ready:
                for pid in self._running:
                    os.kill(pid, signal.SIGKILL)
                return None
            if self._woken in ready:
                self._woken.recv(4096)
                self._collect()
            for pid in [pid for pid, client in self._running.items() if client in ready]:
                self._forward(pid)
            if self._listener in ready:
                client = self._listener.accept()[0]
                try:
                    request = received(client)
                except (OSError, EOFError):  # it was killed, as tests do
                    client.close()
                    continue
                if (pid := os.fork()) == 0:
                    self._close(client)
                    return request
                for stream in request.streams:
                    os.close(stream)
                self._running[pid] = client
                self._selector.register(client, selectors.EVENT_READ)

    def _collect(self) -> None:
        """Tells clients how their programs ended."""
        for pid in list(self._running):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                client = self._running.pop(pid)
                with contextlib.suppress(KeyError):
                    self._selector.unregister(client)
                with contextlib.suppress(OSError), client:
                    client.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, signed=True))

    def _forward(self, pid: int) -> None:
        """Sends the signals of a client to its program.

        A client that was killed takes its program along.
        """
        try:
            numbers = self._running[pid].recv(64)
        except ConnectionResetError:
            numbers = b""
        for number in numbers or [signal.SIGKILL]:
            os.kill(pid, number)
        if not numbers:
            self._selector.unregister(self._running[pid])

    def _close(self, client: socket.socket) -> None:
        """Leaves a fork nothing of the server."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for each in (client, self._listener, self._woken, self._wake, *self._running.values()):
            each.close()


def received(client: socket.socket) -> Request:
    """Raises EOFError if the client ends before it has said all."""
    head, streams, _, _ = socket.recv_fds(client, 4, 3)
    missing, content = int.from_bytes(head), b""
    while (
        len(head) == 4 and len(content) < missing and (part := client.recv(missing - len(content)))
    ):
        content += part
    if not missing or len(content) < missing:
        for stream in streams:
            os.close(stream)
        msg = "a client ended in the middle of its request"
        raise EOFError(msg)
    arguments, cwd, environment = ast.literal_eval(content.decode())
    return Request(arguments=arguments, cwd=cwd, environment=environment, streams=streams)


def run(request: Request) -> NoReturn:
    """Becomes the program."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request.cwd)
    os.environb.clear()
    os.environb.update(request.environment)
    time.tzset()
    line_by_line = b"PYTHONUNBUFFERED" in request.environment or os.isatty(1)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", 1 if line_by_line else -1, "utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, "utf-8", "backslashreplace", closefd=False)
    program, *arguments = request.arguments
    code: object = 0
    try:
        become(program, arguments)
    except SystemExit as ended:
        code = ended.code
    except KeyboardInterrupt:
        traceback.print_exc()
        code = -signal.SIGINT
    except BaseException:  # noqa: BLE001 - the interpreter does it, too
        traceback.print_exc()
        code = 1
    if not (code is None or isinstance(code, int)):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    if code == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code or 0)


def become(program: str, arguments: list[str]) -> None:
    """Runs what `python [-P] [-u] -m MODULE`, `-c CODE` or one of our programs runs; anything else
    in a new Python.
    """
    name = Path(program).name
    strange = [key for key in os.environb if key.startswith(b"PYTHON") and key not in IGNORED]
    given = ["-P", "-m", MODULES[name], *arguments] if name in MODULES else list(arguments)
    options = []
    while given and given[0] in {"-P", "-u"}:
        options.append(given.pop(0))
    if strange or len(given) < 2 or given[0] not in {"-m", "-c"}:
        os.execv(sys.executable, [sys.executable, *options, *given])  # noqa: S606 - what a test runs
    kind, what, *rest = given
    sys.executable = str(Path(program).with_name("python"))
    if "-P" not in options:
        sys.path.insert(0, str(Path.cwd()))
    sys.argv = [program if name in MODULES else kind, *rest]
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), main.__dict__)  # noqa: S102 - what a test runs


def import_all() -> None:
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        for found in pkgutil.walk_packages(path, f"{package}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    # It imports half of itself in the first event loop.
    anyio = importlib.import_module("anyio")
    anyio.run(anyio.sleep, 0)
    # Otherwise each fork that writes a fleet makes it anew.
    importlib.import_module("gitops_dsf.schema.editor").bundle()


def main() -> None:
    server = Server(sys.argv[1])
    print("ready", flush=True)
    if not server.is_wanted():
        return
    # Imports leave next to no garbage, and looking for it takes a fifth of their time.
    gc.disable()
    import_all()
    gc.freeze()
    gc.enable()
    request = server.serve()
    if request is not None:
        run(request)


if __name__ == "__main__":
    main()
