"""How long the generator takes.

    python -m benchmarks.bench_render [--scale 0.1] [--repeats 5]

One process of `gitops-dsf` per measurement, on real files. Seconds and CPU are the minimum of
several runs, memory is the largest resident set of all. Exits with 1 when a target is missed.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from benchmarks import fleet
from benchmarks.measure import Cost, Figure, best, options, shown

PROGRAM = str(Path(sys.executable).with_name("gitops-dsf"))


def ordinary(work: Path, *, scale: float, repeats: int) -> Iterator[Figure]:
    """2,000 clusters, 50 scorers, 100 applications."""
    root = work / "fleet"
    _write(root, scorers=50, applications=100, scale=scale)
    yield from best([PROGRAM, "validate", str(root)], repeats=repeats).figures(
        "validate", seconds=0.8
    )
    yield from _from_nothing(root, repeats=repeats).figures(
        "render from nothing", seconds=1.5, megabytes=120, note=_size(root)
    )
    cost = best(
        [PROGRAM, "render", str(root)], repeats=repeats, before=lambda: fleet.edit_scorer(root)
    )
    note = cost.output.rpartition("; ")[2].strip()
    yield from cost.figures("render after one scorer edit", seconds=1.2, megabytes=70, note=note)
    cost = best([PROGRAM, "render", "--check", str(root)], repeats=repeats)
    yield from cost.figures("render --check, nothing stale")


def large(work: Path, *, scale: float, repeats: int) -> Iterator[Figure]:
    """2,000 clusters, 200 scorers, 1,000 applications."""
    root = work / "large"
    _write(root, scorers=200, applications=1000, scale=scale)
    yield from _from_nothing(root, repeats=repeats).figures(
        "render of 200 scorers, 1,000 applications", seconds=5, megabytes=200, note=_size(root)
    )


def _write(root: Path, *, scorers: int, applications: int, scale: float) -> None:
    fleet.write(
        root,
        clusters=_scaled(2000, scale),
        scorers=_scaled(scorers, scale),
        applications=_scaled(applications, scale),
    )


def _scaled(size: int, scale: float) -> int:
    # Ten scorers have every kind that `fleet` makes, and fewer would leave one out.
    return max(10, int(size * scale))


def _from_nothing(root: Path, *, repeats: int) -> Cost:
    return best(
        [PROGRAM, "render", str(root)],
        repeats=repeats,
        # Files that are the same are not written again, so a second render is another thing.
        before=lambda: shutil.rmtree(root / "rendered", ignore_errors=True),
    )


def _size(root: Path) -> str:
    count = 0
    size = 0
    for path in (root / "rendered").rglob("*"):
        if path.is_file():
            count += 1
            size += path.stat().st_size
    return f"{count} files, {size / 1e6:.0f} MB"


def main() -> int:
    sizes = vars(options(__doc__, scale=1.0, repeats=5))
    with tempfile.TemporaryDirectory(prefix="gitops-dsf-bench-") as name:
        return shown(chain(ordinary(Path(name), **sizes), large(Path(name), **sizes)))


if __name__ == "__main__":
    sys.exit(main())
