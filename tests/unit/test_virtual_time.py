"""The event loop of the tests: when its clock jumps, when it stands still, and when it runs as the
real one.
"""

import asyncio
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.support.virtual_time import LoopClock, wall


async def test_an_hour_takes_no_time() -> None:
    began, unix = time.monotonic(), wall()
    await asyncio.sleep(3600)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3600):
            await asyncio.Event().wait()
    assert asyncio.get_running_loop().time() == pytest.approx(7200)
    assert LoopClock().monotonic() == pytest.approx(7200)
    assert wall() - unix == pytest.approx(7200)
    assert time.monotonic() - began < 60


async def test_timers_keep_their_order() -> None:
    seen: list[int] = []

    async def after(seconds: int) -> None:
        await asyncio.sleep(seconds)
        seen.append(seconds)

    await asyncio.gather(*(after(seconds) for seconds in (5, 1, 3, 2, 4)))
    assert seen == [1, 2, 3, 4, 5]


async def test_a_conversation_on_a_socket_takes_no_time() -> None:
    """The pause of the server is the only time that passes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            await asyncio.sleep(10)
            writer.write(line)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    for number in range(100):
        writer.write(b"%d\n" % number)
        assert await reader.readline() == b"%d\n" % number
    assert asyncio.get_running_loop().time() == pytest.approx(1000)
    writer.close()
    await writer.wait_closed()
    server.close()
    await server.wait_closed()


async def test_a_limit_does_not_pass_while_a_thread_or_a_process_works() -> None:
    async with asyncio.timeout(0.05):
        await asyncio.to_thread(time.sleep, 0.2)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-S", "-c", "import time; time.sleep(0.2)"
        )
        assert await process.wait() == 0
    assert asyncio.get_running_loop().time() < 0.05


async def test_a_server_outside_the_loop_has_real_time() -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(0.2)
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        reader, writer = await asyncio.open_connection(*server.server_address)
        async with asyncio.timeout(60):
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            assert b" 204 " in await reader.readline()
        assert 0.1 < asyncio.get_running_loop().time() < 60
        writer.close()
        await writer.wait_closed()
        server.shutdown()
        thread.join()


@pytest.mark.real_time
async def test_a_test_may_ask_for_the_real_clock() -> None:
    assert asyncio.get_running_loop().time() == pytest.approx(time.monotonic(), abs=10)
    assert wall() == pytest.approx(time.time(), abs=10)
