"""One process, measured from outside: seconds, CPU and peak memory as the kernel counts them."""

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
COMPILED = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
"""Programs are measured as they are installed: compiled."""


def allocator(image: str) -> dict[str, str]:
    """The environment variables of the allocator that an image has."""
    text = Path("images/Containerfile").read_text(encoding="utf-8")
    _, _, stage = text.partition(f" AS {image}\n")
    words = stage.partition("\nFROM ")[0].split()
    return dict(word.split("=", 1) for word in words if word.startswith(("MALLOC_", "GLIBC_")))


@dataclass(frozen=True)
class Figure:
    """One measured number against its goal, the smaller the better. Without a goal it is only shown."""

    what: str
    value: float
    goal: float | None = None
    unit: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a run took: seconds on the clock, seconds of CPU, peak bytes of memory; and what it printed."""

    wall: float
    cpu: float
    memory: int
    output: str = ""

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
    """The options of a benchmark: a number by default, or one of some names, which may be repeated."""
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
    """Prints a Markdown table line by line. Returns the exit code: 1 when a figure misses its goal."""
    print("| what | measured | goal | | |\n|---|---|---|---|---|")
    missed = False
    for each in figures:
        goal = "" if each.goal is None else f"{each.goal:g} {each.unit}"
        bad = each.goal is not None and each.value > each.goal
        verdict = "MISSED" if bad else "ok" if goal else ""
        print(
            f"| {each.what} | {each.value:.3g} {each.unit} | {goal} | {verdict} | {each.note} |",
            flush=True,
        )
        missed = missed or bad
    return int(missed)


def memory(pid: int, kind: str = "VmHWM") -> float:
    """Megabytes of a process, the peak by default."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(kind))


def run(command: Sequence[str]) -> Cost:
    """Runs a program. Exits with what it printed when it fails: a failure's figures mean nothing."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=COMPILED
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        # The end is enough, and this process must stay small: a child's peak is never counted below its
        # parent's.
        output.seek(max(0, output.seek(0, os.SEEK_END) - 4000))
        text = output.read().decode("utf-8", "replace")
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{text}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(
        wall=wall, cpu=usage.ru_utime + usage.ru_stime, memory=usage.ru_maxrss * unit, output=text
    )


def best(
    command: Sequence[str], *, repeats: int, before: Callable[[], object] = lambda: None
) -> Cost:
    """The fastest of several runs, with the largest memory. Dirty pages are written back before each."""
    costs = []
    for _ in range(repeats):
        os.sync()
        before()
        costs.append(run(command))
    fastest = min(costs, key=lambda cost: cost.wall)
    return replace(
        fastest, cpu=min(cost.cpu for cost in costs), memory=max(cost.memory for cost in costs)
    )
