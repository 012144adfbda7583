"""One process, measured from outside: seconds, CPU and peak memory as the kernel counts them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

MEGABYTE = 1_000_000
COMPILED = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
"""Programs are measured as they are installed: compiled."""
HEAD = f"{'what':<58}{'seconds':>8}{'target':>8}{'cpu':>8}{'MB':>6}{'limit':>6}"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a run took: seconds on the clock, seconds of CPU, bytes of memory at the peak; and what it
    printed.
    """

    wall: float
    cpu: float
    memory: int
    output: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of the table; targets are seconds and megabytes."""

    what: str
    cost: Cost
    seconds: float | None = None
    megabytes: float | None = None
    note: str = ""

    @property
    def missed(self) -> bool:
        slow = self.seconds is not None and self.cost.wall > self.seconds
        return slow or (self.megabytes is not None and self.cost.memory > self.megabytes * MEGABYTE)

    def line(self) -> str:
        target = f"{self.seconds:.2f}" if self.seconds is not None else ""
        limit = f"{self.megabytes:.0f}" if self.megabytes is not None else ""
        has_target = self.seconds is not None or self.megabytes is not None
        verdict = ("MISSED" if self.missed else "ok") if has_target else ""
        numbers = f"{self.cost.wall:>8.2f}{target:>8}{self.cost.cpu:>8.2f}{self.cost.memory / MEGABYTE:>6.0f}{limit:>6}"  # noqa: E501
        return f"{self.what:<58}{numbers}  {verdict:<7}{self.note}".rstrip()


@dataclass(frozen=True)
class Figure:
    """One measured number against its goal, the smaller the better. Without a goal it is only shown."""

    what: str
    value: float
    goal: float | None = None
    unit: str = ""
    note: str = ""

    @property
    def good(self) -> bool:
        return self.goal is None or self.value <= self.goal


def shown(figures: Sequence[Figure]) -> int:
    """Prints a Markdown table. Returns the exit code: 1 when a figure misses its goal."""
    print("| what | measured | goal | | |\n|---|---|---|---|---|")
    for each in figures:
        goal = "" if each.goal is None else f"{each.goal:g} {each.unit}"
        verdict = "" if each.goal is None else "ok" if each.good else "MISSED"
        print(f"| {each.what} | {each.value:.3g} {each.unit} | {goal} | {verdict} | {each.note} |")
    return int(not all(each.good for each in figures))


def run(command: Sequence[str]) -> Cost:
    """Runs a program to its end. Exits with what it printed when it fails: a benchmark of a failure measures
    nothing.
    """
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
    return Cost(wall=wall, cpu=usage.ru_utime + usage.ru_stime, memory=usage.ru_maxrss * unit, output=text)


def best(command: Sequence[str], *, repeats: int, before: Callable[[], object] = lambda: None) -> Cost:
    """The fastest of several runs, with the largest memory of all. What is dirty is written back first: its
    cost is not this program's.
    """
    costs = []
    for _ in range(repeats):
        os.sync()
        before()
        costs.append(run(command))
    fastest = min(costs, key=lambda cost: cost.wall)
    return replace(fastest, cpu=min(cost.cpu for cost in costs), memory=max(cost.memory for cost in costs))
