"""How long the generator takes: `python -m benchmarks.bench_render`.

One process of `gitops-dsf` per measurement, on real files. Seconds and CPU are the minimum of several runs,
memory is the largest resident set of all. The floor is copying the same tree. Exits with 1 when a target is
missed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from benchmarks import fleet
from benchmarks.measure import HEAD, Cost, Row, best

PROGRAM = str(Path(sys.executable).with_name("gitops-dsf"))


def ordinary(work: Path, *, scale: float, repeats: int) -> Iterator[Row]:
    """2,000 clusters, 50 scorers, 100 applications."""
    root, copy = work / "fleet", work / "copy"
    _write(root, scorers=50, applications=100, scale=scale)
    cost = best([PROGRAM, "validate", str(root)], repeats=repeats)
    yield Row(what="validate", cost=cost, seconds=0.8)
    first = _from_nothing(root, repeats=repeats)
    yield Row(what="render from nothing", cost=first, seconds=1.5, megabytes=120, note=_size(root))
    floor = best(
        ["cp", "-R", str(root / "rendered"), str(copy)],
        repeats=repeats,
        before=lambda: shutil.rmtree(copy, ignore_errors=True),
    )
    note = f"render takes {first.wall / floor.wall:.1f} times that"
    yield Row(what="floor: cp -R of that tree", cost=floor, note=note)
    cost = best([PROGRAM, "render", str(root)], repeats=repeats, before=lambda: fleet.edit_scorer(root))
    note = cost.output.rpartition("; ")[2].strip()
    yield Row(what="render after one scorer edit", cost=cost, seconds=1.2, note=note)
    cost = best([PROGRAM, "render", "--check", str(root)], repeats=repeats)
    yield Row(what="render --check, nothing stale", cost=cost)


def large(work: Path, *, scale: float, repeats: int) -> Iterator[Row]:
    """2,000 clusters, 200 scorers, 1,000 applications."""
    root = work / "large"
    _write(root, scorers=200, applications=1000, scale=scale)
    cost = _from_nothing(root, repeats=repeats)
    yield Row(
        what="render of 200 scorers, 1,000 applications",
        cost=cost,
        seconds=5.0,
        megabytes=200,
        note=_size(root),
    )


def helps(*, repeats: int) -> Iterator[Row]:
    """The slowest --help of all verbs."""
    listed = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
    verbs = [
        line.split()[0]
        for line in listed.partition("VERB")[2].splitlines()
        if line.startswith("    ") and line[4:5].isalpha()
    ]
    costs = {verb: best([PROGRAM, verb, "--help"], repeats=repeats) for verb in verbs}
    slowest = max(costs, key=lambda verb: costs[verb].wall)
    what = f"--help of {len(verbs)} verbs, the slowest"
    yield Row(what=what, cost=costs[slowest], seconds=0.1, note=slowest)


def _write(root: Path, *, scorers: int, applications: int, scale: float) -> None:
    sizes = (2000, scorers, applications)
    clusters, scorers, applications = (max(10, int(size * scale)) for size in sizes)
    fleet.write(root, clusters=clusters, scorers=scorers, applications=applications)


def _from_nothing(root: Path, *, repeats: int) -> Cost:
    return best(
        [PROGRAM, "render", str(root)],
        repeats=repeats,
        before=lambda: shutil.rmtree(root / "rendered", ignore_errors=True),
    )


def _size(root: Path) -> str:
    files = [path for path in (root / "rendered").rglob("*") if path.is_file()]
    return f"{len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.0f} MB"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the sizes, for a quick look")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each measurement")
    args = parser.parse_args()
    missed = False
    print(HEAD)
    with tempfile.TemporaryDirectory(prefix="gitops-dsf-bench-") as name:
        work, sizes = Path(name), {"scale": args.scale, "repeats": args.repeats}
        rows = chain(ordinary(work, **sizes), large(work, **sizes), helps(repeats=3 * args.repeats))
        for row in rows:
            print(row.line(), flush=True)
            missed = missed or row.missed
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
