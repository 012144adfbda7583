"""CPU of the seeded world for a virtual day.

    python -m benchmarks.bench_world [--hours 2] [--seed 7]

Each case is a world in a process of its own, from its installation on, for `--hours` virtual hours.
The figures are its seconds of CPU for 24 hours at that rate, and how many times faster than real
time that is. A quiet world has no faults, but scores change, and applications follow them. In a
still one the capacity of each cluster changes by a point or two in place of eight, so applications
move rarely. Exits with 1 when a world is slower than it was: the goals are 1.3 times what was
measured on a busy machine with two cores.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.measure import Figure, options, shown
from tests.world import run
from tests.world.run import WorldOrder, WorldResult
from tests.world.world import Size


@dataclass(frozen=True, kw_only=True)
class Goals:
    """Seconds of CPU for a virtual day."""

    quiet: int
    still: int
    with_faults: int


SMALL = Size(clusters=4, applications=6, scorers=3)
LARGE = Size(clusters=20, applications=60, scorers=4)
SMALL_GOALS = Goals(quiet=130, still=100, with_faults=150)
LARGE_GOALS = Goals(quiet=650, still=460, with_faults=750)
STILL = 1.5
"""Points by which the capacity of a cluster differs from its mean, at one standard deviation."""


def main() -> int:
    flags = options(__doc__, hours=2.0, seed=7)
    return shown(figures(hours=flags.hours, seed=flags.seed))


def figures(*, hours: float, seed: int) -> Iterator[Figure]:
    # Without `settles` a world ends after its hours, so that CPU and hours fit together.
    quiet = WorldOrder(seed=seed, hours=hours, settles=False, only=())
    for name, size, goals in (("small", SMALL, SMALL_GOALS), ("large", LARGE, LARGE_GOALS)):
        order = replace(quiet, size=size)
        yield from _day(f"{name}, quiet", order, goal=goals.quiet)
        still = replace(order, size=replace(size, swing=STILL))
        yield from _day(f"{name}, still", still, goal=goals.still)
        yield from _day(f"{name}, with faults", replace(order, only=None), goal=goals.with_faults)


def _day(what: str, order: WorldOrder, *, goal: float) -> Iterator[Figure]:
    result = run.run_apart(order)
    # A world that breaks a law ends there, and what it took says nothing.
    if result.law:
        sys.exit(f"{what}: seed {order.seed} broke a law: {result.what}")
    cpu = result.cpu / result.hours
    note = f"{3600 / cpu:.0f} times real time; {_what_happened(result)}"
    yield Figure(f"{what}: a virtual day", cpu * 24, goal, "s", note)


def _what_happened(result: WorldResult) -> str:
    """What a note says of a world: how many writes an hour of it has."""
    counts = result.counts
    decisions = counts.get("write placementdecisions", 0) / result.hours
    scores = counts.get("write addonplacementscores", 0) / result.hours
    return f"an hour has {scores:.0f} writes of scores, {decisions:.0f} of decisions"


if __name__ == "__main__":
    sys.exit(main())
