"""The agent inside the test's own event loop, over real sockets and files.

``Place`` keeps the files.
"""

import asyncio
import itertools
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from dsf_agent.configuration import settings
from dsf_agent.configuration.settings import Waits
from dsf_agent.process import build, check
from dsf_agent.process.supervise import Supervisor
from tests.support import yamlfast
from tests.support.agent.http import HttpFake
from tests.support.agent.hub import kubeconfig
from tests.support.virtual_time import wall
from tests.support.waiting import until
from tests.support.withouttls import PLAIN

_COUNTER = itertools.count()


class ConfigMapVolume:
    """A ConfigMap as the kubelet mounts it: a dated directory, and a symlink ``..data`` that it
    replaces.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def put(self, *entries: dict[str, Any]) -> None:
        """Replaces the content with these summaries."""
        self.swap({"summaries": json.dumps(entries, indent=2).encode()})

    def put_raw(self, content: bytes) -> None:
        self.swap({"summaries": content})

    def swap(self, files: dict[str, bytes]) -> None:
        """As the kubelet's AtomicWriter: a new directory, a link that is renamed to ``..data``."""
        fresh = self.directory / f"..2026_01_01_{next(_COUNTER):09d}"
        fresh.mkdir()
        for name, content in files.items():
            (fresh / name).write_bytes(content)
        link = self.directory / "..data"
        old = link.readlink() if link.is_symlink() else None
        temporary = self.directory / "..data_tmp"
        temporary.symlink_to(fresh.name)
        os.replace(temporary, link)  # noqa: PTH105 - the very call
        for name in files:
            visible = self.directory / name
            if not visible.is_symlink():
                visible.symlink_to(Path("..data") / name)
        for visible in self.directory.iterdir():
            if not visible.name.startswith("..") and visible.name not in files:
                visible.unlink()
        if old is not None:
            shutil.rmtree(self.directory / old)


def entry(name: str, *, scoring: str, source: str = "", **more: Any) -> dict[str, Any]:
    """A summary with the sixteen upstream keys and further ones."""
    plain = {
        "name": name,
        "scoreName": f"{name}-score",
        "sourceType": "Prometheus" if source else "None",
        "sourceEndpoint": f"{source}/api/v1/query_range" if source else "",
        "sourceEndpointAuthName": "",
        "sourceEndpointAuthKey": "",
        "sourceQuery": "up" if source else "",
        "sourceRange": 300 if source else 0,
        "sourceStep": 30 if source else 0,
        "scoringEndpoint": f"{scoring}/scoring",
        "scoringInterval": 30,
        "scoringEndpointAuthName": "",
        "scoringEndpointAuthKey": "",
        "location": "Internal",
        "scoreDestination": "AddOnPlacementScore",
        "scoreDimensionFormat": "${node}",
    }
    return {**plain, **more}


SHORT = Waits(poll=5, grace=0.5, prune=0.2, hub=10)
"""Looks at files seldom: tests run for minutes, in which a file changes once or twice."""


class RunningAgent:
    """An agent that runs in the loop of the test."""

    def __init__(self, agent: Supervisor, task: asyncio.Task[int]) -> None:
        self.agent = agent
        self.task = task

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.agent.server.port}"

    def scorer(self) -> dict[str, Any]:
        """The first scorer in /readyz, or empty values before the file was read."""
        scorers: list[dict[str, Any]] = self.agent.ready().detail["scorers"]
        return {"state": None, "reason": None, "message": "", "failures": 0} | (
            scorers[0] if scorers else {}
        )

    async def get(self, path: str, **headers: str) -> httpx.Response:
        async with httpx.AsyncClient(trust_env=False, verify=PLAIN, timeout=30) as client:
            return await client.get(
                self.url + path,
                headers={name.replace("_", "-"): value for name, value in headers.items()},
            )

    async def shown(self) -> str:
        """Everything that people can read, besides the log."""
        return (await self.get("/metrics")).text + (await self.get("/readyz")).text

    async def samples(self) -> dict[str, float]:
        """Every sample of /metrics, ``name{labels}`` to value. No client asks for the page."""
        page = await self.agent.server.metrics("text/plain")
        text = b"".join(page.parts).decode()
        # Not splitlines, because a label may contain a Unicode line separator.
        found = (
            line.rpartition(" ") for line in text.split("\n") if line and not line.startswith("#")
        )
        return {name: float(value) for name, _, value in found}

    async def failures(self) -> dict[str, set[str]]:
        """The counted reasons by score name."""
        counted: dict[str, set[str]] = {}
        for labels in await self._failures():
            counted.setdefault(labels["score_name"], set()).add(labels["reason"])
        return counted

    async def stages(self) -> set[str]:
        """The stages with counted failures."""
        return {labels["stage"] for labels in await self._failures()}

    async def _failures(self) -> list[dict[str, str]]:
        counted = [
            name
            for name, value in (await self.samples()).items()
            if name.startswith("gitops_dsf_agent_failures_total{") and value
        ]
        return [
            {
                key: text.strip('"')
                for key, text in (item.split("=", 1) for item in name[:-1].split("{")[1].split(","))
            }
            for name in counted
        ]

    async def exposed(self) -> set[str]:
        """Score names that have dynamic_score samples now."""
        return {
            name.split('ds_score_name="')[1].rstrip('"}')
            for name in await self.samples()
            if name.startswith("dynamic_score{")
        }


@asynccontextmanager
async def running(
    *flags: str | Path, waits: Waits = SHORT, per_origin: int = 8, clock: Callable[[], float] = wall
) -> AsyncIterator[RunningAgent]:
    """Runs ``gitops-dsf-agent run`` on a free port, without splay and with short delays."""
    address = ["--metrics-address", "127.0.0.1:0"]
    defaults = ["run", *address, "--cluster-name", "c1", "--splay", "0"]
    read = settings.read(settings.parser().parse_args([*defaults, *map(str, flags)]), {})
    limits = replace(read.limits, per_origin=per_origin)
    chosen = replace(read, waits=waits, limits=limits)
    agent = Supervisor(adapters=build.Adapters(chosen, wall=clock))
    task = asyncio.create_task(agent.run(), name="agent")
    try:
        await until(lambda: agent.server.port or task.done(), what="the agent listens")
        yield RunningAgent(agent, task)
    finally:
        agent.stop()
        await asyncio.wait_for(task, timeout=60)


async def checked(*flags: str | Path) -> int:
    """Runs ``gitops-dsf-agent check``. Returns the exit code."""
    arguments = settings.parser().parse_args(["check", *map(str, flags)])
    read = settings.read(arguments, {})
    return await check.run(build.Adapters(read, wall=wall), only=arguments.scorer)


class AgentFolder:
    """One folder. Without ``hub`` the agent writes its scores to ``out``."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "out"
        self.volume = ConfigMapVolume(folder / "config")

    def put(self, *entries: dict[str, Any]) -> None:
        self.volume.put(*entries)

    def flags(
        self, *more: str | Path, hub: HttpFake | None = None, spoke: HttpFake | None = None
    ) -> list[str | Path]:
        found: list[str | Path] = ["--config-dir", self.volume.directory, *more]
        if spoke is not None:
            found += ["--spoke-kubeconfig", kubeconfig(self.folder / "spoke", server=spoke.url)]
        if hub is None:
            return [*found, "--publish", f"dir:{self.out}"]
        return [*found, "--hub-kubeconfig", kubeconfig(self.folder / "kubeconfig", server=hub.url)]

    def agent(
        self,
        *more: str | Path,
        hub: HttpFake | None = None,
        spoke: HttpFake | None = None,
        **how: Any,
    ) -> AbstractAsyncContextManager[RunningAgent]:
        """Runs an agent in the test's loop; ``how`` is for ``running``."""
        return running(*self.flags(*more, hub=hub, spoke=spoke), **how)

    def written(self) -> bool:
        """Whether scores were published. A file may have only the condition that says why not."""
        return any("\n  scores:" in file.read_text() for file in self.out.glob("*.yaml"))

    def items(self, name: str = "cpu") -> dict[str, int]:
        """The published items of a scorer; empty before the first write."""
        file = self.out / f"{name}-score.yaml"
        if not file.exists():
            return {}
        scores = yamlfast.load(file.read_text(encoding="utf-8"))["status"].get("scores", [])
        return {one["name"]: one["value"] for one in scores}
