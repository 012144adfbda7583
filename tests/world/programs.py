"""The programs of the product in the world.

Replicas of the reconciler, the agents, and the hub scorer, as they run in production, and the
kubelets that start them again.
"""

import asyncio
import logging
import ssl
import traceback
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from typing import Final

from dsf_agent.configuration import settings as agent_settings
from dsf_agent.configuration.settings import Waits
from dsf_agent.process import build
from dsf_agent.process.supervise import Supervisor
from dsf_runtime.access import Access
from gitops_dsf.errors import HubError
from gitops_dsf.reconciler import run as reconciler
from gitops_dsf.reconciler.settings import GitSettings, ReconcilerSettings
from gitops_dsf.repository.model.repository import FleetRepositorySpec
from tests.support.apiserver import kubeconfig
from tests.world import git
from tests.world.apiserver import TOKEN
from tests.world.loop import PROGRAM, Program, later, world_loop
from tests.world.upgrade import OLDER

HUB_URL: Final = "http://hub"
AUTHOR: Final = "gitops-dsf <gitops-dsf@example.com>"
"""Of what the reconciler commits."""
RESTART_SECONDS: Final = 12.0
"""Until the kubelet starts a container again."""
WAITS: Final = Waits(poll=20.0)
"""An agent looks at its files more rarely than in production, or most of a world would be reads of
files.
"""
LOG: Final = logging.getLogger("world")


class ProgramPod:
    """A program that the kubelet starts again whenever it ended. Each start is a new `Program`."""

    def __init__(self, name: str, main: Callable[[Program], Awaitable[None]]) -> None:
        self.name, self._main = name, main
        self.program = Program(name)
        self.task: asyncio.Task[None] | None = None
        self.on_error: Callable[[str, BaseException], None] = lambda _name, _error: None
        self.skew = 0.0
        self.stopped = False
        self.on_touch: Callable[[], None] = lambda: None
        """Called when it is killed, started after that, frozen or thawed; not when it ended by
        itself.
        """

    def start(self) -> None:
        """Starts a new process."""
        self.stopped = False
        if self.program.killed:
            self.on_touch()
        self.program = program = Program(self.name)
        program.skew = self.skew
        context = copy_context()
        context.run(PROGRAM.set, program)
        self.task = world_loop().create_task(self._run(program), context=context)

    async def _run(self, program: Program) -> None:
        try:
            await self._main(program)
        except HubError as error:
            LOG.info("%s ended: %s", self.name, error)
        except (OSError, ExceptionGroup, RuntimeError) as error:
            self.on_error(self.name, error)
            traceback.print_exception(error)
        if not self.stopped:
            later(RESTART_SECONDS, self._again, program)

    def _again(self, program: Program) -> None:
        if self.program is program and not self.stopped:
            self.start()

    def kill(self, *, back: float = RESTART_SECONDS) -> None:
        """As with SIGKILL, at whatever await it is; the kubelet starts it again."""
        gone = self.program
        self.on_touch()
        world_loop().kill(gone)
        later(back, self._again, gone)

    def stop(self) -> None:
        """For good, as when its Deployment goes."""
        self.stopped = True
        world_loop().kill(self.program)

    def freeze(self) -> None:
        self.on_touch()
        world_loop().freeze(self.program)

    def thaw(self) -> None:
        self.on_touch()
        if not self.program.killed:
            world_loop().thaw(self.program)


def clock_of(program: Program) -> Callable[[], float]:
    """The wall clock of its machine."""
    loop = world_loop()
    return lambda: loop.wall() + program.skew


def reconciler_pod(
    name: str,
    spec: Callable[[], FleetRepositorySpec],
    *,
    folder: Path,
    secret: Path,
    is_older: Callable[[], bool],
) -> ProgramPod:
    """A replica, with the settings, the Secret and the version that are there when it starts."""
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    access = Access(host=HUB_URL, trust=trust, authorization=f"Bearer {TOKEN}")

    repository = GitSettings(
        url=git.URL, author=AUTHOR, credentials=secret, branch=git.MAIN, work_dir=folder / name
    )

    async def main(program: Program) -> None:
        settings = ReconcilerSettings(
            spec=spec(), metrics_host="127.0.0.1", metrics_port=0, replica=name, git=repository
        )
        program.is_older = is_older()
        OLDER.set(program.is_older)
        await reconciler.run(settings, load=lambda: access, wall=clock_of(program))

    return ProgramPod(name, main)


def agent_pod(cluster: str, *, files: Path, folder: Path) -> ProgramPod:
    """The agent of a cluster."""
    hub = kubeconfig(folder / f"{cluster}.kubeconfig", server=HUB_URL, token=TOKEN)
    flags = ["--cluster-name", cluster, "--hub-kubeconfig", str(hub)]
    return _pod(f"agent/{cluster}", files, flags)


def hub_scorer_pod(*, files: Path, folder: Path) -> ProgramPod:
    """The program that runs scorers for all clusters on the hub."""
    hub = kubeconfig(folder / "hub-scorer.kubeconfig", server=HUB_URL, token=TOKEN)
    flags = ["--clusters", str(files / "clusters"), "--hub-kubeconfig", str(hub)]
    return _pod("hub-scorer", files, flags)


def _pod(name: str, files: Path, flags: list[str]) -> ProgramPod:
    arguments = ["run", "--config-dir", str(files), "--metrics-address", "127.0.0.1:0", *flags]
    read = agent_settings.read(agent_settings.parser().parse_args(arguments), {})
    settings = replace(read, waits=WAITS)

    async def main(program: Program) -> None:
        agent = Supervisor(adapters=build.Adapters(settings, wall=clock_of(program)))
        await agent.run()

    return ProgramPod(name, main)
