"""An honest server that sends every answer in chunks: a real server on 127.0.0.1."""

import asyncio
import ssl
from contextlib import suppress
from types import TracebackType
from typing import Self

PAUSE_TURNS = 40
"""Turns of the event loop in a pause. The client, in the same loop, reads all that was sent meanwhile."""


class ChunkedServer:
    """``async with ChunkedServer(body, size=512) as server: server.url``. With ``pauses`` it waits after each
    of the first chunks.
    """

    def __init__(self, body: bytes, *, size: int, pauses: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.body, self.size = body, size
        self._pauses, self._tls = pauses, tls
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while True:
                    await self._one(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        _, _, length = head.partition(b"content-length:")
        if length:
            await reader.readexactly(int(length.split(b"\r\n")[0]))
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        pauses = self._pauses
        for at in range(0, len(self.body), self.size):
            chunk = self.body[at : at + self.size]
            writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            if pauses:
                pauses -= 1
                await writer.drain()
                for _ in range(PAUSE_TURNS):
                    await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
