"""Starts the programs of the demo, and stops all of them at its end.

Ctrl-C, SIGTERM and a closed terminal are a request that is checked between two actions, never in
the middle of one.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Final, TypeVar

from gitops_dsf.errors import GitopsDsfError

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SLICE_SECONDS: Final = 0.1
START_SECONDS = 30.0
"""The time that a program may take until it does the awaited action."""
STOP_SECONDS = 6.0
TAIL_LINES = 12
"""The number of log lines of a program that ended by itself, in the message about it."""
T = TypeVar("T")


class StoppedError(Exception):
    """A signal ended the demo. ``number`` is the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Stop:
    """The request to end the demo."""

    def __init__(self) -> None:
        self._number: int | None = None

    def listen(self) -> None:
        """Installs the signal handlers for the rest of the process."""
        for number in SIGNALS:
            signal.signal(number, self._request)

    def check(self) -> None:
        """Raises StoppedError after a signal."""
        if self._number is not None:
            raise StoppedError(self._number)

    def sleep(self, seconds: float) -> None:
        """Sleeps. Raises StoppedError soon after a signal."""
        end = time.monotonic() + seconds
        self.check()
        while (remaining := end - time.monotonic()) > 0:
            # Python goes on with a sleep after a signal's handler, so a sleep must be short.
            time.sleep(min(remaining, _SLICE_SECONDS))
            self.check()

    def _request(self, number: int, _frame: FrameType | None) -> None:
        # An exception here could interrupt the start of a program, which nothing would stop then.
        self._number = number


class Programs:
    """Starts programs in process groups of their own, so that Ctrl-C reaches only the demo."""

    def __init__(self, *, logs: Path, register: Path, stop: Stop) -> None:
        """``register`` lists the running programs, PID and name on a line.

        It is removed at the end.
        """
        self.logs = logs
        self._register = register
        self._stop = stop
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Starts a program with PATH and the given environment only.

        Its output goes to a log of its name.
        """
        self.logs.mkdir(parents=True, exist_ok=True)
        # No proxies, no credentials and no Python settings of the user.
        base: dict[str, str] = {}
        for key in ("PATH", "HOME", "LANG", "TMPDIR"):
            if key in os.environ:
                base[key] = os.environ[key]
        with self._log(name).open("wb") as out:
            self._running[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                # `port` waits for a line of the log, which must not wait in a buffer of Python.
                env={**base, "PYTHONUNBUFFERED": "1", **(environment or {})},
                start_new_session=True,
            )
        # Whoever ends the demo by SIGKILL finds here what it left behind.
        lines = (f"{process.pid} {name}\n" for name, process in self._running.items())
        self._register.write_text("".join(lines), "utf-8")

    def port(self, name: str, pattern: str) -> int:
        """Waits until the log shows the port that a program listens on.

        The port is the first group of the pattern.
        """
        log = self._log(name)
        ports = self.until(
            lambda: re.findall(pattern, log.read_text("utf-8", "replace")), what=f"{name} listens"
        )
        return int(ports[0])

    def _log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def until(self, condition: Callable[[], T], *, what: str) -> T:
        """Waits for a condition, and returns its answer.

        Raises GitopsDsfError with ``what`` when a program ends or START_SECONDS pass, and
        StoppedError on a signal.
        """
        end = time.monotonic() + START_SECONDS
        while not (fulfilled := condition()):
            self.check()
            if time.monotonic() > end:
                raise GitopsDsfError(
                    f"not within {START_SECONDS:.0f} s: {what}; the logs in {self.logs} may say why"
                )
            self._stop.sleep(0.2)
        return fulfilled

    def check(self) -> None:
        """Raises GitopsDsfError if any program has ended."""
        for name, process in self._running.items():
            if (code := process.poll()) is not None:
                log = self._log(name)
                last = "\n    ".join(log.read_text("utf-8", "replace").splitlines()[-TAIL_LINES:])
                raise GitopsDsfError(
                    f"{name} ended by itself with code {code}. The end of {log}:\n    {last}"
                )

    def stop(self) -> int:
        """Stops all, the last started first, by SIGKILL after STOP_SECONDS.

        Returns how many there were.
        """
        ending = [*reversed(self._running.values())]
        # All at once, and then one wait for all: they end side by side.
        for process in ending:
            process.terminate()
        end = time.monotonic() + STOP_SECONDS
        for process in ending:
            try:
                process.wait(timeout=max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()
        self._register.unlink(missing_ok=True)
        return len(ending)
