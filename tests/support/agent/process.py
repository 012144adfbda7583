"""The agent as a process, started by the installed command, and its pages."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.waiting import until
from tests.support.withouttls import PLAIN

COMMAND = Path(sys.executable).with_name("gitops-dsf-agent")


class AgentProcess:
    """A running agent. ``log`` grows while it runs."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.log = ""
        self.port = 0
        self._reader = asyncio.create_task(self._read())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def ready(self) -> dict[str, Any]:
        answer = await self._get("/readyz")
        plain: dict[str, Any] = answer.json()
        return plain

    async def metrics(self) -> dict[str, float]:
        """Every sample as ``name{labels}`` to value."""
        text = (await self._get("/metrics")).text
        found = (
            line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#")
        )
        return {name: float(value) for name, _, value in found}

    async def _get(self, path: str) -> httpx.Response:
        async with httpx.AsyncClient(trust_env=False, verify=PLAIN, timeout=30) as client:
            return await client.get(self.url + path)

    async def terminate(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = await asyncio.wait_for(self.process.wait(), timeout=120)
        await self._reader
        return code

    def resident(self) -> int:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            text = line.decode()
            self.log += text
            if "serving /metrics on port" in text:
                self.port = int(text.split("on port ")[1].split()[0].rstrip('",}'))


@asynccontextmanager
async def agent(
    *arguments: str | Path, environ: Mapping[str, str] | None = None, command: Path = COMMAND
) -> AsyncIterator[AgentProcess]:
    """Runs ``gitops-dsf-agent run`` with these flags until the block ends, at the latest."""
    flags = ["run", "--metrics-address", "127.0.0.1:0", *map(str, arguments)]
    if "--splay" not in flags:
        flags += ["--splay", "0"]
    process = await asyncio.create_subprocess_exec(
        command,
        *flags,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", **(environ or {})},
    )
    running = AgentProcess(process)
    try:
        await until(
            lambda: running.port > 0 or process.returncode is not None, what="the agent listens"
        )
        assert running.port, running.log
        yield running
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        await running._reader
