"""What a node's network namespace needs of this machine: `python -m ... NAMESPACE SERVICES`.

Nothing of the machine's network reaches into the namespace, and the namespace has no route out.
This process listens in the namespace and connects outside of it. `SERVICES` is a JSON file with a
list of `{"name": DNS name, "address": IPv4, "ports": {port in the namespace: "host:port"
outside}}`. Names are answered at `DNS_ADDRESS`, as a cluster's DNS does.
"""

import asyncio
import ctypes
import json
import os
import socket
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

DNS_ADDRESS = "10.0.0.10"
CHUNK = 65536
CLONE_NEWNET = 0x40000000  # setns(2)
HEADER = struct.Struct("!6H")
A, IN, NO_SUCH_NAME = 1, 1, 3
ANSWER = 0x8580
"""Flags of an answer: authoritative, recursion available."""


def enter(namespace: Path) -> None:
    """Move the calling thread into a network namespace, given as a file such as
    /proc/PID/ns/net.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    with namespace.open("rb") as file:
        if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(
                ctypes.get_errno(), f"setns {namespace}: {os.strerror(ctypes.get_errno())}"
            )


@contextmanager
def inside(namespace: Path) -> Iterator[None]:
    """Sockets that the calling thread makes in the block belong to the namespace for good."""
    with Path("/proc/thread-self/ns/net").open("rb") as before:
        enter(namespace)
        try:
            yield
        finally:
            enter(Path(f"/proc/thread-self/fd/{before.fileno()}"))


class Names(asyncio.DatagramProtocol):
    """Answers A queries of known names; everything else does not exist."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if self._transport is not None:
            self._transport.sendto(answer(data, self._names), addr)


def answer(query: bytes, names: Mapping[str, str]) -> bytes:
    """The answer to a DNS query with one question (RFC 1035)."""
    identifier = HEADER.unpack_from(query)[0]
    labels, place = [], HEADER.size
    while length := query[place]:
        labels.append(query[place + 1 : place + 1 + length].decode("ascii").lower())
        place += 1 + length
    kind, _ = struct.unpack_from("!2H", query, place + 1)
    question = query[HEADER.size : place + 5]
    address = names.get(".".join(labels))
    if address is None:
        return HEADER.pack(identifier, ANSWER | NO_SUCH_NAME, 1, 0, 0, 0) + question
    if kind != A:
        return HEADER.pack(identifier, ANSWER, 1, 0, 0, 0) + question
    record = struct.pack("!HHHIH", 0xC00C, A, IN, 1, 4) + socket.inet_aton(address)
    return HEADER.pack(identifier, ANSWER, 1, 1, 0, 0) + question + record


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: str) -> None:
    """Connect a client to `target` until both sides have ended."""
    host, _, port = target.rpartition(":")
    try:
        inner, outer = await asyncio.open_connection(host, int(port))
        try:
            await asyncio.gather(copy(reader, outer), copy(inner, writer))
        finally:
            outer.close()
    except OSError:
        pass  # the client sees the end of its connection
    finally:
        writer.close()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(CHUNK):
        writer.write(chunk)
        await writer.drain()
    writer.write_eof()


async def serve(namespace: Path, services: list[dict[str, object]]) -> None:
    names: dict[str, str] = {}
    listening: list[tuple[socket.socket, str]] = []
    with inside(namespace):
        queries = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        queries.bind((DNS_ADDRESS, 53))
        for service in services:
            address, ports = str(service["address"]), service["ports"]
            assert isinstance(ports, dict)
            names[str(service["name"]).lower()] = address
            for port, target in ports.items():
                listening.append((socket.create_server((address, int(port))), str(target)))
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: Names(names), sock=queries)
    for server, target in listening:
        await asyncio.start_server(lambda r, w, target=target: relay(r, w, target), sock=server)  # type: ignore[misc]
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))))
