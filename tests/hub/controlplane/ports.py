"""Free TCP ports on 127.0.0.1 for servers that must be told their port before they start.

Ports are drawn below the range from which the kernel serves outgoing connections: otherwise a
client could sit on the port of a server that restarts, and the restart would fail. Where several
processes run the tests, each draws from its own part of the ports, for the same reason.
"""

import os
import random
import socket
from pathlib import Path

RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")
LOWEST = 15000

_given: set[int] = set()
_random = random.SystemRandom()


def free_port() -> int:
    """A port that nothing listens on now and that this process has not given out before."""
    highest = _first_ephemeral() - 1
    # Which process of the test run this is: pytest-xdist calls them gw0, gw1 and so on.
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    for _ in range(1000):
        port = _random.randrange(LOWEST + worker, highest + 1, workers)
        if port not in _given and _bindable(port):
            _given.add(port)
            return port
    raise RuntimeError(
        f"no free port on 127.0.0.1 between {LOWEST} and {highest}: end other servers and try again"
    )


def _first_ephemeral() -> int:
    try:
        first = int(RANGE_FILE.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        first = 32768
    return first if first > LOWEST + 1000 else 32768


def _bindable(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
