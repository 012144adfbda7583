"""How long the generator takes, from the installed wheel: `python -m benchmarks.bench_render`.

Builds the wheels, installs them with the locked dependencies into a virtual environment of their own and runs
`gitops-dsf` there as people do: one process per measurement, on real files. Seconds and CPU are the minimum
of several runs, memory is the largest resident set of all. Beside them: copying the same tree (the floor),
and `kubectl kustomize` over the same ManifestWorks where kubectl is on PATH or named with --kubectl. Exits
with 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from benchmarks import fleet
from benchmarks.measure import HEAD, Row, best

ROOT = Path(__file__).resolve().parents[1]
HELP_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True)
class Size:
    """A repository, and its targets in seconds and megabytes."""

    clusters: int
    scorers: int
    applications: int
    render: float | None = None
    again: float | None = None
    validate: float | None = None
    megabytes: float | None = None
    kustomize: bool = False

    def __str__(self) -> str:
        return f"{self.clusters:,} x {self.scorers} x {self.applications:,}"

    def scaled(self, factor: float) -> Size:
        """A smaller one for a quick look, with the same targets."""
        return replace(
            self,
            clusters=max(8, int(self.clusters * factor)),
            scorers=max(10, int(self.scorers * factor)),
            applications=max(1, int(self.applications * factor)),
        )


SIZES = (
    Size(clusters=1000, scorers=50, applications=100),
    Size(
        clusters=2000,
        scorers=50,
        applications=100,
        render=1.5,
        again=1.2,
        validate=0.8,
        megabytes=120,
        kustomize=True,
    ),
    Size(clusters=4000, scorers=50, applications=100),
    Size(clusters=2000, scorers=200, applications=1000, render=5.0, megabytes=200),
)


class Bench:
    """One installed program, and a folder to work in."""

    def __init__(self, *, program: Path, work: Path, repeats: int, kubectl: str | None) -> None:
        self.program = str(program)
        self.work = work
        self.repeats = repeats
        self.kubectl = kubectl

    def size(self, size: Size) -> Iterator[Row]:
        """Every measurement of one repository."""
        root, copy = self.work / "fleet", self.work / "copy"
        for path in (root, copy):
            shutil.rmtree(path, ignore_errors=True)
        fleet.write(root, clusters=size.clusters, scorers=size.scorers, applications=size.applications)
        rendered = root / "rendered"
        cost = best([self.program, "validate", str(root)], repeats=self.repeats)
        yield Row(what=f"{size}: validate", cost=cost, seconds=size.validate)
        first = best(
            [self.program, "render", str(root)],
            repeats=self.repeats,
            before=lambda: shutil.rmtree(rendered, ignore_errors=True),
        )
        files = [path for path in rendered.rglob("*") if path.is_file()]
        note = f"{len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.0f} MB"
        yield Row(
            what=f"{size}: render from nothing",
            cost=first,
            seconds=size.render,
            megabytes=size.megabytes,
            note=note,
        )
        floor = best(
            [shutil.which("cp") or "cp", "-R", str(rendered), str(copy)],
            repeats=self.repeats,
            before=lambda: shutil.rmtree(copy, ignore_errors=True),
        )
        yield Row(
            what=f"{size}: floor: cp -R of that tree",
            cost=floor,
            note=f"render takes {first.wall / floor.wall:.1f} times that",
        )
        shutil.rmtree(copy)
        cost = best(
            [self.program, "render", str(root)], repeats=self.repeats, before=lambda: fleet.edit_scorer(root)
        )
        yield Row(
            what=f"{size}: render after one scorer edit",
            cost=cost,
            seconds=size.again,
            note=cost.output.rpartition("; ")[2].strip(),
        )
        cost = best([self.program, "render", "--check", str(root)], repeats=self.repeats)
        yield Row(what=f"{size}: render --check, nothing stale", cost=cost)
        if self.kubectl and size.kustomize:
            yield self._kustomize(size, rendered)
        shutil.rmtree(root)

    def helps(self) -> Iterator[Row]:
        """The slowest --help of all verbs."""
        listed = subprocess.run([self.program, "--help"], capture_output=True, text=True, check=True).stdout
        verbs = [
            line.split()[0]
            for line in listed.partition("VERB")[2].splitlines()
            if line.startswith("    ") and line[4:5].isalpha()
        ]
        costs = {verb: best([self.program, verb, "--help"], repeats=3 * self.repeats) for verb in verbs}
        slowest = max(costs, key=lambda verb: costs[verb].wall)
        yield Row(
            what=f"--help of {len(verbs)} verbs, the slowest",
            cost=costs[slowest],
            seconds=HELP_SECONDS,
            note=slowest,
        )

    def _kustomize(self, size: Size, rendered: Path) -> Row:
        works = sorted(
            path.relative_to(rendered).as_posix() for path in rendered.rglob("*.manifestwork.yaml")
        )
        listing = rendered / "kustomization.yaml"
        listing.write_text("resources:\n" + "".join(f"- {path}\n" for path in works), encoding="utf-8")
        cost = best([str(self.kubectl), "kustomize", str(rendered)], repeats=1)
        listing.unlink()
        return Row(what=f"{size}: for comparison: kubectl kustomize of the works", cost=cost)


def install(folder: Path) -> Path:
    """The wheels of this checkout in a virtual environment of their own, with the dependencies of the lock
    file.
    """
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    command = [
        uv,
        "sync",
        "--quiet",
        "--frozen",
        "--no-editable",
        "--no-default-groups",
        "--compile-bytecode",
        "--project",
        str(ROOT),
    ]
    subprocess.run(command, check=True, env={**os.environ, "UV_PROJECT_ENVIRONMENT": str(folder)})
    return folder / "bin" / "gitops-dsf"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the sizes, for a quick look")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each measurement")
    parser.add_argument(
        "--kubectl",
        default=shutil.which("kubectl"),
        help="kubectl for the comparison; left out when there is none",
    )
    parser.add_argument(
        "--work", type=Path, help="folder to work in; a temporary one by default, about 1 GB is needed"
    )
    args = parser.parse_args()
    missed = False
    with tempfile.TemporaryDirectory(prefix="gitops-dsf-bench-", dir=args.work) as name:
        work = Path(name)
        bench = Bench(program=install(work / "venv"), work=work, repeats=args.repeats, kubectl=args.kubectl)
        print(HEAD)
        rows = (row for size in SIZES for row in bench.size(size.scaled(args.scale)))
        for row in chain(rows, bench.helps()):
            print(row.line(), flush=True)
            missed = missed or row.missed
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
