"""Network namespaces of Linux: sockets made in another one."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNET = 0x40000000  # setns(2)


def enter(namespace: Path) -> None:
    """Move the calling thread into a network namespace, given as a file such as /proc/PID/ns/net."""
    libc = ctypes.CDLL(None, use_errno=True)
    with namespace.open("rb") as file:
        if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}: {os.strerror(ctypes.get_errno())}")


@contextmanager
def inside(namespace: Path) -> Iterator[None]:
    """Sockets that the calling thread makes in the block belong to the namespace for good."""
    with Path("/proc/thread-self/ns/net").open("rb") as before:
        enter(namespace)
        try:
            yield
        finally:
            enter(Path(f"/proc/thread-self/fd/{before.fileno()}"))
