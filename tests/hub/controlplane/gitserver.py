"""A git server on 127.0.0.1: bare repositories served over HTTP by git's own http-backend; it can go away and
return.

Fetches and pushes work as with a hosted forge, without credentials unless an account is named. While stopped,
connections are refused.
"""

import base64
import http.client
import os
import subprocess
import threading
import time
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self
from urllib.parse import unquote, urlsplit

from tests.hub.controlplane.gitrepository import GitRepository, git
from tests.hub.controlplane.ports import free_port

COPY_BYTES = 1 << 16


@dataclass(kw_only=True)
class Manners:
    """How the server treats its clients; may be changed while it serves."""

    account: str = ""
    """user:password that every request must bring; empty: none."""
    push_seconds: float = 0.0
    """Before a push is looked at."""
    status: int = 0
    """What every request is answered with instead; 0: nothing."""
    requests: int = 0
    """That came so far."""
    pushes: int = 0
    """That began so far."""


class GitServer:
    """Serves every repository below `folder`; a context manager. The port stays the same over stop
    and start.
    """

    def __init__(self, *, folder: Path) -> None:
        self.manners = Manners()
        self._bare = folder / "bare"
        self._clones = folder / "clones"
        self._bare.mkdir(parents=True)
        self._port = free_port()
        self._backend = _backend()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def running(self) -> bool:
        return self._server is not None

    def create(self, name: str) -> GitRepository:
        """A new repository with an empty first commit on `main`, and a clone to commit from."""
        return GitRepository.create(
            url=f"{self.url}/{name}.git", bare=self._bare / f"{name}.git", clone=self._clones / name
        )

    def start(self) -> None:
        """Serve; nothing happens when it serves already."""
        if self._server is not None:
            return
        backend, root, manners = self._backend, self._bare, self.manners

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                _answer(self, backend=backend, root=root, manners=manners)

            def do_POST(self) -> None:
                _answer(self, backend=backend, root=root, manners=manners)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """The tests speak of what a client sees."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="git-server"
        )
        self._thread.start()

    def stop(self) -> None:
        """Refuse connections from now on; nothing happens when it is stopped already."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server = None


@cache
def _backend() -> Path:
    return Path(git("--exec-path", folder=Path.cwd()).strip()) / "git-http-backend"


def _refused(request: BaseHTTPRequestHandler, manners: Manners) -> bool:
    """Whether the request was answered already: with a fault, or with 401 as a forge does (RFC 7617)."""
    wanted = "Basic " + base64.b64encode(manners.account.encode()).decode()
    wrong = bool(manners.account) and request.headers.get("Authorization") != wanted
    status = manners.status or (401 if wrong else 0)
    if status:
        request.send_response(status)
        if status == 401:
            request.send_header("WWW-Authenticate", 'Basic realm="git"')
        request.send_header("Content-Length", "0")
        request.send_header("Connection", "close")
        request.end_headers()
    return bool(status)


def _answer(request: BaseHTTPRequestHandler, *, backend: Path, root: Path, manners: Manners) -> None:
    """One request through http-backend (CGI, RFC 3875), streamed both ways. The connection ends with the
    answer.
    """
    address = urlsplit(request.path)
    manners.requests += 1
    body = _body(request)
    request.close_connection = True
    if _refused(request, manners):
        return
    if request.command == "POST" and address.path.endswith("/git-receive-pack"):
        manners.pushes += 1
        time.sleep(manners.push_seconds)
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "HOME": str(root),
        "REMOTE_ADDR": "127.0.0.1",
        "REQUEST_METHOD": request.command,
        "PATH_INFO": unquote(address.path),
        "QUERY_STRING": address.query,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
    }
    with subprocess.Popen(
        [str(backend)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a pipe of git-http-backend is missing")
        feeder = threading.Thread(target=_feed, args=(process.stdin, body), name="git-body")
        feeder.start()
        headers = http.client.parse_headers(process.stdout)
        status = headers.get("Status", "200 OK")
        request.send_response(int(status.split()[0]))
        for name, value in headers.items():
            if name.lower() != "status":
                request.send_header(name, value)
        request.send_header("Connection", "close")
        request.end_headers()
        while block := process.stdout.read(COPY_BYTES):
            request.wfile.write(block)
        feeder.join()


def _body(request: BaseHTTPRequestHandler) -> bytes:
    """The whole body; git sends packs above 1 MiB in chunks (RFC 9112, section 7.1)."""
    if request.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length", "0")))
    parts = []
    while size := int(request.rfile.readline().split(b";")[0], 16):
        parts.append(request.rfile.read(size))
        request.rfile.readline()
    request.rfile.readline()
    return b"".join(parts)


def _feed(stdin: BinaryIO, body: bytes) -> None:
    """http-backend may end without reading everything; its answer says why."""
    try:
        with stdin:
            stdin.write(body)
    except BrokenPipeError:
        return
