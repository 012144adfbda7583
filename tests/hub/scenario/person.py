"""A person at a shell: commands as they are typed, files as they are edited, and the time of each step."""

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.hub.controlplane.waiting import wait_for

COMMAND_SECONDS = 1500

T = TypeVar("T")


@dataclass(kw_only=True)
class Person:
    """Works in `folder`. `times` has the seconds of each step."""

    folder: Path
    environment: Mapping[str, str]
    times: list[tuple[str, float]] = field(default_factory=list)

    def run(self, *commands: str, step: str) -> str:
        """Run the commands in one shell; what they printed. AssertionError when one fails."""
        started = time.monotonic()
        script = "\n".join(f"printf '%s\\n' {shlex.quote(f'$ {each}')}\n{each}" for each in commands)
        answer = subprocess.run(
            ["sh", "-euc", script],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        self.times.append((step, time.monotonic() - started))
        assert answer.returncode == 0, answer.stdout
        return answer.stdout

    def write(self, path: str, text: str) -> None:
        """A file that is written in an editor."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def until(
        self, look: Callable[[], T | None], *, step: str, timeout: float, seen: Callable[[], object]
    ) -> T:
        """Wait for something that the programs do by themselves. `step` says what has happened then."""
        started = time.monotonic()
        found = wait_for(look, what=step, timeout=timeout, seen=seen)
        self.times.append((step, time.monotonic() - started))
        return found
