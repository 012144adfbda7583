"""Which TCP sockets a set of processes listens on, read from /proc (Linux), and whether all of them are
loopback.
"""

import ipaddress
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

LISTEN = "0A"  # TCP_LISTEN in the `st` column, proc_pid_net(5)


@dataclass(frozen=True, order=True)
class Listener:
    pid: int
    address: str
    port: int

    @property
    def loopback(self) -> bool:
        return ipaddress.ip_address(self.address).is_loopback


def listeners(pids: Iterable[int]) -> list[Listener]:
    """Every listening socket of these processes, sorted. A process that ended meanwhile has none."""
    sockets = {**_listening(Path("/proc/net/tcp")), **_listening(Path("/proc/net/tcp6"))}
    found: list[Listener] = []
    for pid in pids:
        found.extend(Listener(pid, *sockets[inode]) for inode in _inodes(pid) if inode in sockets)
    return sorted(found)


def session_members(leaders: Iterable[int]) -> dict[int, int]:
    """Living process id -> session leader, for all processes in the sessions of `leaders` (the leaders
    included).
    """
    wanted = set(leaders)
    members: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        # pid (comm) state ppid pgrp session ...; comm may hold spaces and parentheses.
        fields = stat.rpartition(")")[2].split()
        if fields[0] != "Z" and int(fields[3]) in wanted:
            members[int(entry.name)] = int(fields[3])
    return members


def _inodes(pid: int) -> set[str]:
    found: set[str] = set()
    try:
        descriptors = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return found
    for descriptor in descriptors:
        try:
            target = str(descriptor.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def _listening(table: Path) -> dict[str, tuple[str, int]]:
    try:
        rows = table.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return {}
    found: dict[str, tuple[str, int]] = {}
    for row in rows:
        columns = row.split()
        if columns[3] == LISTEN:
            address, _, port = columns[1].partition(":")
            found[columns[9]] = (_address(address), int(port, 16))
    return found


def _address(text: str) -> str:
    """The kernel prints addresses as 32-bit words in host order."""
    words = [int(text[start : start + 8], 16) for start in range(0, len(text), 8)]
    packed = b"".join(struct.pack("=I", word) for word in words)
    if len(packed) == 4:
        return socket.inet_ntop(socket.AF_INET, packed)
    address = ipaddress.IPv6Address(packed)
    return str(address.ipv4_mapped or address)
