"""Child processes of the hub suite: started with a log file, awaited, and always ended.

`Processes` owns every child it starts. Each child leads its own session, so that stopping it
reaches what it started itself; on Linux the kernel kills it when this process dies without stopping
it. After start-up `check_listeners` fails when any of them listens on something else than loopback.
"""

import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import httpx

from tests.hub.controlplane.waiting import MAX_WAIT_SECONDS

LAUNCH = Path(__file__).with_name("launch.py")
POLL_SECONDS = 0.05
STOP_SECONDS = 10.0
CLOSE_SECONDS = 3.0  # at the end the data goes too, so there is nothing to finish
TAIL_LINES = 30
LISTEN = "0A"
LOOPBACK = re.compile(r"[0-9A-F]{6}7F|0{24}01000000|0{16}FFFF0000[0-9A-F]{6}7F")
"""Addresses of proc_pid_net(5), as a little-endian machine writes them."""

Probe = Callable[[], str | None]
"""Returns None when the program is ready, otherwise what is still missing. Must not raise for a
program that starts.
"""


def answering(
    url: str,
    *,
    trust: ssl.SSLContext | bool = True,
    statuses: Sequence[int] = (200,),
    text: str = "",
) -> Probe:
    """A probe that is content with one of these statuses and this text in the answer."""

    def probe() -> str | None:
        try:
            answer = httpx.get(url, verify=trust, timeout=5, trust_env=False)
        except httpx.TransportError as error:
            return f"{url}: {type(error).__name__}: {error}"
        if answer.status_code in statuses and text in answer.text:
            return None
        return f"{url}: {answer.status_code} {answer.text[-400:]}"

    return probe


def lacking(what: str, programs: Iterable[str], packages: str) -> str | None:
    """Why something cannot be done here without Debian's packages, or None."""
    absent = [name for name in programs if shutil.which(name) is None]
    return f"{what} {', '.join(absent)}: apt-get install {packages}" if absent else None


class ProcessError(Exception):
    """A program did not start, ended early, or listens where it must not; the message shows the end
    of its log.
    """


@dataclass(kw_only=True)
class Process:
    """One child."""

    name: str
    log: Path
    child: "subprocess.Popen[bytes]"
    begun: int = 0
    """Bytes that the log held when this run began: every run of a name writes to one file."""

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def running(self) -> bool:
        return self.child.poll() is None

    def written(self) -> str:
        """What this run wrote so far, and no other of its name."""
        with self.log.open("rb") as log:
            log.seek(self.begun)
            return log.read().decode("utf-8", errors="replace")

    def tail(self, lines: int = TAIL_LINES) -> str:
        """The last lines of its log, each indented."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return "\n".join(f"    {line[:600]}" for line in text.splitlines()[-lines:])


class Processes:
    """The children of one control plane; a context manager that leaves none behind."""

    def __init__(self, *, logs: Path) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self._logs = logs
        self._running: dict[str, Process] = {}
        self._started: list[int] = []
        # PR_SET_PDEATHSIG fires when the *thread* that forked ends, so one thread that lives as
        # long as we do forks.
        self._forker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="forker")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def running(self) -> Mapping[str, Process]:
        return dict(self._running)

    def left_behind(self) -> list[int]:
        """Living processes that we started, or that those started, and that no longer run under a
        name.
        """
        ours = session_members(self._started)
        named = {process.pid for process in self._running.values()}
        return sorted(pid for pid, leader in ours.items() if leader not in named)

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        again: bool = False,
    ) -> Process:
        """Start a program under a name that no running one has; does not wait for it.

        With `again` a program that panics is started again, as a kubelet would.

        `environment` is added to PATH, HOME and the locale; nothing else of ours is inherited, so a
        KUBECONFIG or a proxy of the person who runs the tests has no effect.
        """
        if name in self._running:
            raise ProcessError(f"{name} is already running as process {self._running[name].pid}")
        folder = folder or self._logs
        kept = {
            key: os.environ[key]
            for key in ("PATH", "LANG", "LC_ALL", "TMPDIR")
            if key in os.environ
        }
        settings = {**kept, "HOME": str(folder), **(environment or {})}
        arguments = [str(part) for part in command]
        process = self._spawn(name, arguments, settings, folder, again=again)
        self._running[name] = process
        return process

    def ready(self, process: Process, probe: Probe) -> None:
        """Wait until `probe` is content. ProcessError when it ends first or the time is up."""
        deadline = time.monotonic() + MAX_WAIT_SECONDS
        while (missing := probe()) is not None:
            trouble = ""
            if not process.running:
                self._running.pop(process.name, None)
                trouble = f"ended with {process.child.returncode} before it was ready"
            elif time.monotonic() > deadline:
                trouble = f"was not ready within {MAX_WAIT_SECONDS:.0f} s: {missing}"
            if trouble:
                raise ProcessError(f"{process.name} {trouble}; its log ends:\n{process.tail()}")
            time.sleep(POLL_SECONDS)

    def stop(self, name: str) -> None:
        """End one program and everything in its session; a name that does not run is left alone."""
        process = self._running.pop(name, None)
        if process is not None:
            self._end([process], patience=STOP_SECONDS)

    def close(self) -> None:
        """End all, the youngest first; the forking thread goes last."""
        processes = list(reversed(self._running.values()))
        self._running.clear()
        try:
            self._end(processes, patience=CLOSE_SECONDS)
        finally:
            self._forker.shutdown(wait=True)

    def check_listeners(self) -> None:
        """ProcessError when a program, or what it started, listens on more than loopback."""
        names = {process.pid: name for name, process in self._running.items()}
        wrong = [
            f"{names[leader]} on {address}"
            for pid, leader in session_members(names).items()
            for address in exposed(pid)
        ]
        if wrong:
            raise ProcessError("listening beyond loopback: " + "; ".join(wrong))

    def _spawn(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        *,
        again: bool,
    ) -> Process:
        log = self._logs / f"{name}.log"
        begun = log.stat().st_size if log.exists() else 0
        python = [sys.executable, "-I", "-S", str(LAUNCH)]
        launched = [*python, str(os.getpid()), "again" if again else "once", *command]

        def fork() -> "subprocess.Popen[bytes]":
            with log.open("ab") as output:
                return subprocess.Popen(
                    launched,
                    cwd=folder,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )

        child = self._forker.submit(fork).result()
        self._started.append(child.pid)
        return Process(name=name, log=log, child=child, begun=begun)

    def _end(self, processes: Sequence[Process], *, patience: float) -> None:
        leaders = [process.pid for process in processes]
        for process in processes:
            if process.running:
                _signal(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and any(process.running for process in processes):
            time.sleep(POLL_SECONDS / 5)
        # What is left, children that outlived their leader included, gets no further warning.
        for pid in session_members(leaders):
            _signal(pid, signal.SIGKILL, group=pid in leaders)
        for process in processes:
            process.child.wait()


def _signal(pid: int, number: signal.Signals, *, group: bool = True) -> None:
    with suppress(ProcessLookupError):
        (os.killpg if group else os.kill)(pid, number)


def session_members(leaders: Iterable[int]) -> dict[int, int]:
    """Living process id -> session leader, for all processes in the sessions of `leaders` (the
    leaders included).
    """
    wanted = set(leaders)
    members: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        # pid (comm) state ppid pgrp session ...; comm may hold spaces and parentheses.
        fields = stat.rpartition(")")[2].split()
        if fields[0] != "Z" and int(fields[3]) in wanted:
            members[int(entry.name)] = int(fields[3])
    return members


def exposed(pid: int) -> list[str]:
    """Where a process listens beyond loopback, as the kernel writes addresses.

    One that has ended nowhere.
    """
    proc, wide = Path(f"/proc/{pid}"), dict[str, str]()
    try:
        for table in ("tcp", "tcp6"):
            for row in (proc / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
                columns = row.split()
                if columns[3] == LISTEN and not LOOPBACK.match(columns[1]):
                    wide[f"socket:[{columns[9]}]"] = columns[1]
        held = (
            [str(descriptor.readlink()) for descriptor in (proc / "fd").iterdir()] if wide else []
        )
    except OSError:
        return []
    return [wide[target] for target in held if target in wide]
