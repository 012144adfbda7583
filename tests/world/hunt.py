"""Faults of the product that are put back, one at a time: the world must find each without being told which.

`tests/world/planted/*.patch` are the faults. `python -m tests.world.hunt NAME` applies one to a copy
of the packages, and runs seeds on it until a law breaks or the CPU time is used up.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
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


@dataclass(frozen=True, kw_only=True)
class Outcome:
    name: str
    found: bool
    seconds: float
    """Until it was found."""
    text: str


def names() -> list[str]:
    return sorted(path.stem for path in PATCHES.glob("*.patch"))


def hunt(name: str, *, seconds: float = CPU_SECONDS, first: int = 1, workers: int = 1) -> Outcome:
    """Looks for a planted fault. Raises CalledProcessError if its patch does not apply any more."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="gitops-dsf-planted-") as folder:
        copy = Path(folder)
        planted_in(copy, name)
        environment = os.environ | {
            "PYTHONPATH": folder,
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        began = time.monotonic()
        flags = ["--first", str(first), "--seconds", str(seconds), "--workers", str(workers), "--no-shrink"]
        done = subprocess.run(
            [sys.executable, "-m", "tests.world", *flags],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return Outcome(
            name=name,
            found=done.returncode == 1,
            seconds=time.monotonic() - began,
            text=done.stdout[-3000:] + done.stderr[-2000:],
        )


def planted_in(copy: Path, name: str) -> None:
    """A copy of the packages with one fault. Raises CalledProcessError."""
    for path, _package in PACKAGES:
        shutil.copytree(
            ROOT / path, copy / path, ignore=shutil.ignore_patterns("__pycache__", "hub", "golden")
        )
    patch = PATCHES / f"{name}.patch"
    subprocess.run(["patch", "-s", "-p1", "-i", str(patch)], cwd=copy, check=True)
    for path, package in PACKAGES:
        if path != package:
            shutil.move(copy / path, copy / package)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.world.hunt", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"of {', '.join(names())} (default: all)")
    parser.add_argument("--seconds", type=float, default=CPU_SECONDS, help="for each (default: 600)")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--workers", type=int, default=1)
    flags = parser.parse_args()
    missed = 0
    for name in flags.name or names():
        outcome = hunt(name, seconds=flags.seconds, first=flags.first, workers=flags.workers)
        missed += not outcome.found
        law = next(
            (line for line in outcome.text.splitlines() if " broke a law: " in line), outcome.text[-500:]
        )
        print(
            f"{name}: {'found' if outcome.found else 'MISSED'} after {outcome.seconds:.0f} s. {law}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
