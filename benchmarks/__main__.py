"""Every benchmark of the project, one after another: `make bench`, or `python -m benchmarks render
simulator` for some of them.

A benchmark is a file bench_NAME.py beside this one that prints a table and exits with 1 when it misses a
target. They are never run at the same time: they would measure each other.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERDICTS = {0: "all targets met", 1: "a target was missed"}


def main() -> int:
    known = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which ones; all of {', '.join(known)} by default"
    )
    args = parser.parse_args()
    unknown = sorted(set(args.names) - known.keys())
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    results: list[tuple[str, int, float]] = []
    for name in args.names or known:
        print(f"== {name}", flush=True)
        start = time.perf_counter()
        command = [sys.executable, "-m", f"benchmarks.{known[name].stem}"]
        code = subprocess.run(command, check=False, cwd=HERE.parent).returncode
        results.append((name, code, time.perf_counter() - start))
        print(flush=True)
    for name, code, seconds in results:
        print(f"{name:<20}{VERDICTS.get(code, f'failed with exit code {code}'):<40}{seconds:>8.0f} s")
    return int(any(code for _, code, _ in results))


if __name__ == "__main__":
    sys.exit(main())
