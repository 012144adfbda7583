"""Starts the programs of the demo, and stops all of them at its end."""

import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from demo.signals import Stop
from gitops_dsf.errors import GitopsDsfError

START_SECONDS = 30.0
STOP_SECONDS = 6.0
TAIL_LINES = 12
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Program:
    """A running program. Its output goes to ``log``."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path


class Programs:
    """Starts programs in their own process groups, so that Ctrl-C reaches only the demo, which stops them in
    order.
    """

    def __init__(self, *, logs: Path, register: Path, stop: Stop) -> None:
        """``register`` lists the running programs, one line with PID and name for each. It is removed at the
        end.
        """
        self._logs = logs
        self._register = register
        self._stop = stop
        self._running: list[Program] = []

    def start(
        self, name: str, command: Sequence[str | Path], *, environment: Mapping[str, str] | None = None
    ) -> Program:
        """Starts a program with PATH and the given environment only."""
        self._logs.mkdir(parents=True, exist_ok=True)
        log = self._logs / f"{name}.log"
        base = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "TMPDIR") if key in os.environ}
        with log.open("wb") as out:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**base, "PYTHONUNBUFFERED": "1", **(environment or {})},
                start_new_session=True,
            )
        program = Program(name=name, process=process, log=log)
        self._running.append(program)
        self._register.write_text(
            "".join(f"{item.process.pid} {item.name}\n" for item in self._running), "utf-8"
        )
        return program

    def port(self, program: Program, pattern: str) -> int:
        """Waits until the log shows the port that the program listens on, the first group of the pattern."""
        found = self.until(
            lambda: re.findall(pattern, program.log.read_text("utf-8", "replace")),
            what=f"{program.name} listens",
        )
        return int(found[0])

    def until(self, condition: Callable[[], T], *, what: str) -> T:
        """Waits for a condition, and returns its answer. Raises GitopsDsfError with ``what`` when a program
        ends or START_SECONDS pass, and StoppedError on a signal.
        """
        end = time.monotonic() + START_SECONDS
        while not (found := condition()):
            self.check()
            if time.monotonic() > end:
                raise GitopsDsfError(
                    f"not within {START_SECONDS:.0f} s: {what}; the logs in {self._logs} may say why"
                )
            self._stop.sleep(0.2)
        return found

    def check(self) -> None:
        """Raises GitopsDsfError if any program has ended."""
        for program in self._running:
            code = program.process.poll()
            if code is not None:
                last = "\n    ".join(program.log.read_text("utf-8", "replace").splitlines()[-TAIL_LINES:])
                raise GitopsDsfError(
                    f"{program.name} ended by itself with code {code}. The end of {program.log}:\n    {last}"
                )

    def stop(self) -> int:
        """Stops all, the last started first: SIGTERM to each, SIGKILL to those that still run after
        STOP_SECONDS. Returns how many there were.
        """
        ending = self._running[::-1]
        for program in ending:
            program.process.terminate()
        end = time.monotonic() + STOP_SECONDS
        for program in ending:
            try:
                program.process.wait(timeout=max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                program.process.kill()
                program.process.wait()
        self._running.clear()
        self._register.unlink(missing_ok=True)
        return len(ending)
