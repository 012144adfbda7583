"""/metrics, /healthz and /readyz as seen by scrapers and probes."""

import asyncio
from pathlib import Path

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text_format

from dsf_runtime.pages import MAX_CONNECTIONS
from tests.support.agent.apis import scores
from tests.support.agent.configmap import entry
from tests.support.agent.http import HttpFake
from tests.support.agent.place import Place
from tests.support.agent.running import running
from tests.support.waiting import until


async def test_both_formats(place: Place) -> None:
    async with HttpFake(scores(1.5, -2.0)) as api:
        place.put(entry("cpu", scoring=api.url))
        async with place.agent() as agent:
            await until(lambda: agent.scorer()["state"] == "running", what="scored")
            for accept, parse, kind in (
                ("text/plain", text_format, "text/plain"),
                ("application/openmetrics-text;version=1.0.0", openmetrics, "application/openmetrics-text"),
            ):
                for coding in ("identity", "gzip", "br, gzip;q=0.5"):
                    answer = await agent.get("/metrics", Accept=accept, Accept_Encoding=coding)
                    assert answer.headers["content-type"].startswith(kind)
                    assert "content-encoding" not in answer.headers
                    families = {family.name: family for family in parse(answer.text)}
                    values = {
                        sample.labels["ds_node"]: sample.value for sample in families["dynamic_score"].samples
                    }
                    assert values == {"n0": 1.5, "n1": -2.0}
                    assert "process_open_fds" in families


async def test_probes_and_requests_that_are_not_served(place: Place) -> None:
    place.put()
    async with place.agent() as agent:
        await until(lambda: agent.agent.detail()[0], what="the file was seen")
        assert (await agent.get("/healthz")).text == "ok\n"
        assert (await agent.get("/")).status_code == 404
        port = agent.agent.server.port
        assert (
            await _raw(port, b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        ).startswith(b"HTTP/1.1 405")
        assert (await _raw(port, b"HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).endswith(
            b"\r\n\r\n"
        )
        assert await _raw(port, b"\x16\x03\x01 this is TLS\r\n\r\n") == b""
        assert await _raw(port, b"GET /" + b"x" * 200_000) == b""
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        two = await _raw(
            port,
            b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /readyz HTTP/1.1\r\nHost: x\r\nConnection:"
            b" close\r\n\r\n",
        )
        assert two.count(b"HTTP/1.1 200") == 2
        assert b'"seen": true' in two
        for _, writer in silent:
            writer.close()
            await writer.wait_closed()


async def test_idle_connections_do_not_block_the_probes(tmp_path: Path) -> None:
    """There are more than the server keeps. The one that is idle for the longest time is closed."""
    async with running("--config-dir", tmp_path / "none", "--publish", f"dir:{tmp_path / 'out'}") as agent:
        silent = [
            await asyncio.open_connection("127.0.0.1", agent.agent.server.port)
            for _ in range(MAX_CONNECTIONS + 5)
        ]
        for _ in range(3):
            assert (await agent.get("/healthz")).status_code == 200
        async with asyncio.timeout(60):
            assert await silent[0][0].read() == b""
        for reader, _ in silent[-MAX_CONNECTIONS // 2 :]:
            assert not reader.at_eof()
        for _, writer in silent:
            writer.close()


async def _raw(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    if not data.startswith((b"GET /healthz", b"HEAD")):
        writer.write_eof()
    try:
        async with asyncio.timeout(60):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()
