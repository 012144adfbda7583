"""Faults of the product that are put back, one at a time.

The world must find each without being told which.

`tests/world/planted/*.patch` are the faults. `python -m tests.world.hunt NAME` applies one to a
copy of the packages, and runs seeds on it until a law breaks or the CPU time is used up.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PATCHES: Final = Path(__file__).parent / "planted"
PACKAGES: Final = (
    ("gitops_dsf", "gitops_dsf"),
    ("agent/dsf_agent", "dsf_agent"),
    ("packages/runtime/dsf_runtime", "dsf_runtime"),
    ("packages/wire/dsf_wire", "dsf_wire"),
    ("tests", "tests"),
)
"""What a world imports, and where it lies."""
CPU_SECONDS: Final = 600.0
BROKEN: Final = " broke a law: "
SIZE: Final = ("--clusters", "4", "--applications", "5", "--hours", "2")
"""Of the worlds: small ones meet more faults in the same time."""


@dataclass(frozen=True, kw_only=True)
class HuntOutcome:
    name: str
    found: bool
    seconds: float
    """Of CPU until it was found."""
    seeds: int
    """That were run."""
    text: str


def names() -> list[str]:
    return sorted(path.stem for path in PATCHES.glob("*.patch"))


def hunt(name: str, *, seconds: float, first: int) -> HuntOutcome:
    """Looks for a planted fault. Raises CalledProcessError if its patch does not apply any more."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="gitops-dsf-planted-") as folder:
        copy = Path(folder)
        planted_in(copy, name)
        environment = os.environ | {
            "PYTHONPATH": folder,
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        flags = ["--first", str(first), "--cpu", str(seconds), "--only-new", "--workers", "1"]
        before = _cpu()
        done = subprocess.run(
            [sys.executable, "-m", "tests.world", *flags, *SIZE, "--no-shrink"],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode and (BROKEN not in done.stdout or f"{BROKEN}crash" in done.stdout):
            msg = f"the world does not run: {done.stdout[-2000:]} {done.stderr[-2000:]}"
            raise RuntimeError(msg)
        return HuntOutcome(
            name=name,
            found=done.returncode != 0,
            seconds=_cpu() - before,
            seeds=sum(line.startswith("seed ") for line in done.stdout.splitlines()),
            text=done.stdout + done.stderr[-2000:],
        )


def _cpu() -> float:
    """Seconds of CPU of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def planted_in(copy: Path, name: str) -> None:
    """A copy of the packages with one fault. Raises CalledProcessError."""
    for path, _package in PACKAGES:
        left_out = ("__pycache__", *(("hub", "golden") if path == "tests" else ()))
        shutil.copytree(ROOT / path, copy / path, ignore=shutil.ignore_patterns(*left_out))
    patch = PATCHES / f"{name}.patch"
    subprocess.run(["patch", "-s", "-p1", "-i", str(patch)], cwd=copy, check=True)
    for path, package in PACKAGES:
        if path != package:
            shutil.move(copy / path, copy / package)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.world.hunt", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"of {', '.join(names())} (default: all)")
    parser.add_argument(
        "--seconds", type=float, default=CPU_SECONDS, help="for each (default: 600)"
    )
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    flags = parser.parse_args()
    missed = 0
    for name in flags.name or names():
        outcome = hunt(name, seconds=flags.seconds, first=flags.first)
        missed += not outcome.found
        law = next(
            (line for line in outcome.text.splitlines() if BROKEN in line), outcome.text[-500:]
        )
        print(
            f"{name}: {'found' if outcome.found else 'MISSED'} after"
            f" {outcome.seconds:.0f} s of CPU and"
            f" {outcome.seeds} seeds. {law}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
