"""The server of both programs' pages, and peers that misbehave."""

import asyncio
import http.client
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from dsf_runtime.pages import Page, PageServer
from tests.support.waiting import until

SIZE = 8 << 20


async def test_a_peer_that_reads_nothing_is_dropped() -> None:
    """With the bytes that were written for it. Other peers are served meanwhile."""

    async def large(_accept: str) -> Page:
        return Page(parts=[b"x" * SIZE])

    server = PageServer(host="127.0.0.1", port=0, metrics=large, ready=Page, write_seconds=0.5)
    await server.start()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert f"Content-Length: {SIZE}".encode() in head
        other, speaker = await asyncio.open_connection("127.0.0.1", server.port)
        speaker.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert (await other.read()).endswith(b"ok\n")
        speaker.close()
        await until(lambda: not server.connections)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(SIZE)
        writer.close()
    finally:
        await server.close()


SCRAPE = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
COST_SECONDS = 0.005
"""Of the processor, for one scrape. That of an agent with 50,000 series takes longer."""


SERVER = f"""
import asyncio, time
from dsf_runtime.pages import Page, PageServer

async def scrape(_accept):
    end = time.thread_time() + {COST_SECONDS}
    while time.thread_time() < end:
        pass
    return Page(parts=[b"x" * 4096] * 4)

async def main():
    server = PageServer(host="127.0.0.1", port=0, metrics=scrape, ready=Page)
    await server.start()
    print(server.port, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@contextmanager
def serving() -> Iterator[int]:
    """A server in a process of its own, as in both programs. Gives its port."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@contextmanager
def scraping(port: int, *, connections: int, pipelined: int) -> Iterator[None]:
    """So many connections that never stop to scrape, and that are opened again when they are closed."""
    stop = threading.Event()

    def flood() -> None:
        found = selectors.DefaultSelector()

        def opened() -> None:
            peer = socket.create_connection(("127.0.0.1", port), timeout=30)
            peer.setblocking(False)
            found.register(peer, selectors.EVENT_READ)
            with suppress(OSError):
                peer.send(SCRAPE * pipelined)

        for _ in range(connections):
            opened()
        while not stop.is_set():
            for key, _ in found.select(0.1):
                peer = key.fileobj
                assert isinstance(peer, socket.socket)
                try:
                    content = peer.recv(1 << 16)
                    if content:
                        peer.send(SCRAPE * content.count(b"HTTP/1.1"))
                        continue
                except BlockingIOError:
                    continue
                except OSError:
                    pass
                found.unregister(peer)
                peer.close()
                opened()
            time.sleep(0.01)  # leave the processor to the server
        for key in list(found.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)


@pytest.mark.real_time
@pytest.mark.parametrize(("connections", "pipelined"), [(90, 200), (90, 1), (3, 1)])
def test_scrapes_starve_no_probe(connections: int, pipelined: int) -> None:
    """As the kubelet probes: a connection for each, and a second for the answer."""
    answered = []
    with serving() as port, scraping(port, connections=connections, pipelined=pipelined):
        for _ in range(20):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
            try:
                client.request("GET", "/healthz")
                answered.append(client.getresponse().status)
            except (OSError, http.client.HTTPException) as error:
                answered.append(repr(error))  # type: ignore[arg-type]
            finally:
                client.close()
    assert answered == [200] * 20
