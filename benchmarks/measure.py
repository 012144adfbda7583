"""Measures one process from outside: seconds, CPU and peak memory, as the kernel counts them.

Where other programs share the machine, seconds say little and CPU says more, because a process that
waits for a core uses none. Neither is exact: a busy machine also makes caches cold.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

MEGABYTE = 1_000_000
# Programs are measured as they are installed: compiled.
COMPILED = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}

MAX_SHOWN_OUTPUT = 4000
"""Bytes of the end of a program's output that are kept."""


def allocator(image: str) -> dict[str, str]:
    """The environment variables of the allocator that an image has."""
    # Read from the file of the images, so that a figure never stands for settings of the past.
    text = Path("images/Containerfile").read_text(encoding="utf-8")
    _, _, stage = text.partition(f" AS {image}\n")
    words = stage.partition("\nFROM ")[0].split()
    return dict(word.split("=", 1) for word in words if word.startswith(("MALLOC_", "GLIBC_")))


@dataclass(frozen=True)
class Figure:
    """One measured number against its goal, the smaller the better.

    Without a goal it is only shown.
    """

    what: str
    value: float
    goal: float | None = None
    unit: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a run took, and what it printed."""

    wall: float
    """Seconds on the clock."""
    cpu: float
    """Seconds of CPU, of all threads."""
    memory: int
    """Peak bytes."""
    output: str = ""
    """The end of it."""

    def figures(
        self,
        what: str,
        *,
        seconds: float | None = None,
        megabytes: float | None = None,
        note: str = "",
    ) -> Iterator[Figure]:
        """Seconds and memory against their goals."""
        yield Figure(what, self.wall, seconds, "s", f"{self.cpu:.2f} s of CPU {note}".strip())
        yield Figure(f"{what}: memory", self.memory / MEGABYTE, megabytes, "MB")


def options(about: str | None, **defaults: float | Sequence[str]) -> argparse.Namespace:
    """The options of a benchmark.

    Each is a number with a default, or one of some names, which may be repeated.
    """
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in defaults.items():
        if isinstance(default, int | float):
            parser.add_argument(
                f"--{name}", type=type(default), default=default, help="%(default)s"
            )
        else:
            parser.add_argument(f"--{name}", choices=default, action="append")
    return parser.parse_args()


def shown(figures: Iterable[Figure]) -> int:
    """Prints a Markdown table line by line, as figures come.

    Returns the exit code: 1 when a figure misses its goal.
    """
    print("| what | measured | goal | | |\n|---|---|---|---|---|")
    exit_code = 0
    for figure in figures:
        cells = [figure.what, f"{figure.value:.3g} {figure.unit}"]
        if figure.goal is None:
            cells += ["", ""]
        elif figure.value > figure.goal:
            cells += [f"{figure.goal:g} {figure.unit}", "MISSED"]
            exit_code = 1
        else:
            cells += [f"{figure.goal:g} {figure.unit}", "ok"]
        # At once: the next figure may take minutes, and people wait before the screen.
        print("|", " | ".join([*cells, figure.note]), "|", flush=True)
    return exit_code


def memory(pid: int, kind: str = "VmHWM") -> float:
    """Megabytes of a process, the peak by default."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(kind):
            # The kernel writes kB and means 1,024 bytes.
            return int(line.split()[1]) / 1024
    raise AssertionError(f"the kernel does not tell {kind} of process {pid}")


def run(command: Sequence[str]) -> Cost:
    """Runs a program, and measures it.

    Exits with what it printed when it fails, because its figures mean nothing.
    """
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=COMPILED
        )
        # Only wait4 tells the usage of one child; getrusage has the largest peak of all so far.
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        # The end is enough, and this process must stay small: a child's peak is never counted below
        # its parent's.
        output.seek(max(0, output.seek(0, os.SEEK_END) - MAX_SHOWN_OUTPUT))
        text = output.read().decode("utf-8", "replace")
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{text}")
    # Linux counts it in kilobytes, macOS in bytes.
    memory = usage.ru_maxrss
    if sys.platform != "darwin":
        memory *= 1024
    return Cost(wall=wall, cpu=usage.ru_utime + usage.ru_stime, memory=memory, output=text)


def best(
    command: Sequence[str], *, repeats: int, before: Callable[[], object] = lambda: None
) -> Cost:
    """The fastest of several runs, with the largest memory."""
    costs: list[Cost] = []
    for _ in range(repeats):
        # A run must not pay for the pages that the one before it has written.
        os.sync()
        before()
        costs.append(run(command))
    # What else the machine does can only make a run slower. Memory has no such excuse.
    fastest = min(costs, key=lambda cost: cost.wall)
    return replace(
        fastest, cpu=min(cost.cpu for cost in costs), memory=max(cost.memory for cost in costs)
    )
