"""The process between a node's network and this machine, without a node: it answers names, and connects."""

import asyncio
import struct

import pytest

from tests.hub.controlplane import nodenetwork
from tests.hub.controlplane.ports import free_port

NAMES = {"headroom.scoring.svc.cluster.local": "10.0.0.20"}
A, AAAA = 1, 28


def query(name: str, kind: int) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!6H", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!2H", kind, 1)


def test_a_known_name_has_its_address() -> None:
    asked = query("Headroom.scoring.SVC.cluster.local", A)
    answer = nodenetwork.answer(asked, NAMES)
    assert struct.unpack_from("!6H", answer) == (7, 0x8580, 1, 1, 0, 0)
    assert answer[12:].startswith(asked[12:])
    assert answer.endswith(bytes([0, 4, 10, 0, 0, 20]))


def test_a_known_name_has_no_other_record() -> None:
    """No error: the name exists. Resolvers ask for both kinds of addresses at once."""
    answer = nodenetwork.answer(query("headroom.scoring.svc.cluster.local", AAAA), NAMES)
    assert struct.unpack_from("!6H", answer) == (7, 0x8580, 1, 0, 0, 0)


def test_another_name_does_not_exist() -> None:
    """So that resolvers go on to the next domain of their search list."""
    answer = nodenetwork.answer(query("headroom.scoring.svc.example.com", A), NAMES)
    assert struct.unpack_from("!6H", answer)[1] == 0x8583


@pytest.mark.real_time
async def test_both_directions_are_relayed_until_their_ends() -> None:
    """A client that has finished sending still gets the answer."""

    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read()).upper())
        await writer.drain()
        writer.close()

    outer = await asyncio.start_server(shout, "127.0.0.1", 0)
    target = f"127.0.0.1:{outer.sockets[0].getsockname()[1]}"
    inner = await asyncio.start_server(lambda r, w: nodenetwork.relay(r, w, target), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", inner.sockets[0].getsockname()[1])
    writer.write(b"hello")
    writer.write_eof()
    assert await reader.read() == b"HELLO"
    writer.close()
    for server in (inner, outer):
        server.close()
        await server.wait_closed()


@pytest.mark.real_time
async def test_a_program_that_does_not_listen_ends_the_connection() -> None:
    target = f"127.0.0.1:{free_port()}"
    inner = await asyncio.start_server(lambda r, w: nodenetwork.relay(r, w, target), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", inner.sockets[0].getsockname()[1])
    assert await reader.read() == b""
    writer.close()
    inner.close()
    await inner.wait_closed()
