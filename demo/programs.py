"""Starts the programs of the demo, and stops all of them at its end."""

import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from demo.errors import DemoError
from demo.signals import Stop

START_SECONDS = 30.0
STOP_SECONDS = 6.0
TAIL_LINES = 12


@dataclass(frozen=True, kw_only=True)
class Program:
    """A running program. Its output goes to ``log``."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def said(self, pattern: str) -> str | None:
        """The first group of the first match in the log."""
        with suppress(OSError):
            if found := re.search(pattern, self.log.read_text("utf-8", "replace")):
                return found.group(1)
        return None

    def tail(self) -> str:
        """The last lines of the log, for a message."""
        lines = self.log.read_text("utf-8", "replace").splitlines()[-TAIL_LINES:]
        return "".join(f"\n    {line}" for line in lines)


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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(
        self, name: str, command: Sequence[str | Path], *, environment: Mapping[str, str] | None = None
    ) -> Program:
        """Starts a program with PATH and the given environment only. Raises DemoError if it cannot be
        started.
        """
        self._logs.mkdir(parents=True, exist_ok=True)
        log = self._logs / f"{name}.log"
        base = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "TMPDIR") if key in os.environ}
        try:
            with log.open("wb") as out:
                process = subprocess.Popen(
                    [str(word) for word in command],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env={**base, "PYTHONUNBUFFERED": "1", **(environment or {})},
                    start_new_session=True,
                )
        except OSError as error:
            msg = f"{name} cannot be started: {command[0]}: {error.strerror or error}"
            raise DemoError(msg) from error
        program = Program(name=name, process=process, log=log)
        self._running.append(program)
        self._register.write_text(
            "".join(f"{item.process.pid} {item.name}\n" for item in self._running), "utf-8"
        )
        return program

    def port(self, program: Program, pattern: str) -> int:
        """Waits until the log shows the port that the program listens on."""
        self.wait(lambda: program.said(pattern), what=f"{program.name} listens", program=program)
        return int(program.said(pattern) or 0)

    def wait(self, condition: Callable[[], object], *, what: str, program: Program) -> None:
        """Waits until the condition holds. Raises DemoError when the program ends or START_SECONDS pass, and
        StoppedError on a signal.
        """
        end = time.monotonic() + START_SECONDS
        while not condition():
            self.check()
            if time.monotonic() > end:
                msg = f"not within {START_SECONDS:.0f} s: {what}. The end of {program.log}:{program.tail()}"
                raise DemoError(msg)
            self._stop.sleep(0.05)

    def check(self) -> None:
        """Raises DemoError if any program has ended."""
        for program in self._running:
            code = program.process.poll()
            if code is not None:
                msg = (
                    f"{program.name} ended by itself with code {code}. The end of"
                    f" {program.log}:{program.tail()}"
                )
                raise DemoError(msg)

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
