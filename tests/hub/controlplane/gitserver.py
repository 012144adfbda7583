"""A git server on 127.0.0.1: bare repositories served over HTTP by git's own http-backend.

Fetches and pushes work as with a hosted forge, without credentials unless an account is named.
"""

import base64
import http.client
import os
import subprocess
import threading
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from tests.hub.controlplane.gitrepository import GitRepository, git
from tests.support.threadserver import Handler, ThreadServer

COPY_BYTES = 1 << 16


@dataclass(kw_only=True)
class Manners:
    """How the server treats its clients; may be changed while it serves."""

    account: str = ""
    """user:password that every request must bring; empty: none."""
    away: bool = False
    """Connections end without an answer."""
    push_seconds: float = 0.0
    """Before a push is looked at."""
    requests: int = 0
    """That came so far."""


class GitServer(ThreadServer):
    """Serves every repository below `folder`; a context manager."""

    def __init__(self, *, folder: Path) -> None:
        self.manners = manners = Manners()
        self._folder = folder
        root = folder / "bare"
        root.mkdir(parents=True)

        class GitHandler(Handler):
            protocol_version = "HTTP/1.1"

            def serve(self) -> None:
                _answer(self, root=root, manners=manners)

        super().__init__(GitHandler)

    def create(self, name: str) -> GitRepository:
        """A new repository with an empty first commit on `main`, and a clone to commit from."""
        bare, clone = self._folder / "bare" / f"{name}.git", self._folder / "clones" / name
        return GitRepository.create(url=f"{self.url}/{name}.git", bare=bare, clone=clone)


@cache
def _backend() -> Path:
    return Path(git("--exec-path", folder=Path.cwd()).strip()) / "git-http-backend"


def _answer(request: Handler, *, root: Path, manners: Manners) -> None:
    """One request through http-backend (CGI, RFC 3875), streamed both ways.

    The connection ends with the answer.
    """
    address = urlsplit(request.path)
    manners.requests += 1
    body = _body(request)
    request.close_connection = True
    if manners.away:
        return
    wanted = "Basic " + base64.b64encode(manners.account.encode()).decode()
    if manners.account and request.headers.get("Authorization") != wanted:
        # As a forge does (RFC 7617).
        request.send_response(401)
        request.send_header("WWW-Authenticate", 'Basic realm="git"')
        request.send_header("Content-Length", "0")
        request.send_header("Connection", "close")
        request.end_headers()
        return
    if request.command == "POST" and address.path.endswith("/git-receive-pack"):
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
        [_backend()], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
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


def _body(request: Handler) -> bytes:
    """The whole body; git sends packs above 1 MiB in chunks (RFC 9112, section 7.1)."""
    if request.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return request.body()
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
