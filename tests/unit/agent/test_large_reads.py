"""The read sizes that the agent sets in asyncio and httpcore are those that their connections use."""

import asyncio
import inspect
from pathlib import Path

import httpcore

from dsf_agent.endpoints import transport


async def test_connections_use_large_reads() -> None:
    """If a newer Python or httpcore renames them, the agent only reads smaller pieces."""
    transport.use_large_reads()
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert writer.transport.max_size == transport.CHUNK  # type: ignore[attr-defined] # what asyncio hands to recv()
        writer.close()
        await writer.wait_closed()
    engine = Path(inspect.getfile(httpcore.AsyncHTTP11Connection.handle_async_request)).read_text()
    assert "self.READ_NUM_BYTES" in engine
    assert httpcore.AsyncHTTP11Connection.READ_NUM_BYTES == transport.CHUNK
