"""`python -m tests.world`: one seed, or many seeds for some time."""

import argparse
import itertools
import math
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.world import run
from tests.world.run import WorldOrder, WorldResult
from tests.world.world import Size

SEEDS: Final = 10**6
"""New seeds are drawn below this number."""
NEW: Final = """\
Nobody has run {names} before: new seeds are drawn for each commit. So the fault may be older than
this commit, or one of the world itself. docs/contributing/world.md#when-a-new-seed-fails says what
to do."""
REPLAY: Final = "To repeat it: git checkout {commit} && {command}"
SHRINK_SECONDS: Final = 120.0
"""Of CPU, to make the failures of a run smaller."""
FAILED: Final = Path(__file__).parent / "failed-seeds.txt"
"""Orders that ever failed, one in a line: they run first."""


def main() -> int:
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of sets of strings would be another one in each process.
        environment = os.environ | {"PYTHONHASHSEED": "0"}
        os.execve(sys.executable, [sys.executable, "-m", "tests.world", *sys.argv[1:]], environment)  # noqa: S606
    parser = argparse.ArgumentParser(prog="python -m tests.world", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this seed alone")
    parser.add_argument(
        "--hours", type=float, default=3.0, help="virtual hours with faults (default: 3)"
    )
    parser.add_argument("--clusters", type=int, default=Size().clusters)
    parser.add_argument("--applications", type=int, default=Size().applications)
    parser.add_argument(
        "--faults", help="numbers of the faults that happen, or none (default: all)"
    )
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="run new seeds for so long (default: 60)"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--first",
        help="the first new seed, or `commit`: it follows from the commit (default: drawn)",
    )
    parser.add_argument("--count", type=int, help="run so many new seeds, however long that takes")
    parser.add_argument("--cpu", type=float, help="run new seeds for so many seconds of CPU")
    parser.add_argument(
        "--longest",
        type=float,
        default=math.inf,
        help="stop a world after so many seconds of CPU, as a failure (default: never)",
    )
    parser.add_argument("--only-new", action="store_true", help="run no seed that ever failed")
    parser.add_argument("--history", action="store_true", help="print the whole history")
    parser.add_argument("--no-shrink", action="store_true", help="show a failure as it is")
    flags = parser.parse_args()
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    head = commit.stdout.strip()
    print(f"commit {head or 'unknown'}")
    size = Size(clusters=flags.clusters, applications=flags.applications)
    shrink = 0.0 if flags.no_shrink else SHRINK_SECONDS
    if flags.seed is not None:
        only = None
        if flags.faults is not None:
            only = () if flags.faults == "none" else tuple(map(int, flags.faults.split(",")))
        result = run.run_apart(WorldOrder(seed=flags.seed, hours=flags.hours, size=size, only=only))
        if flags.history:
            print("\n".join(result.lines))
        print("\n".join(run.told(result)), flush=True)
        return end([result], commit=head, shrink=0.0 if only is not None else shrink)
    first = first_seed(flags.first, head)
    print(f"new seeds from {first}")
    seeds = (
        itertools.count(first) if flags.count is None else iter(range(first, first + flags.count))
    )
    limit = Limit(
        seconds=flags.seconds if flags.count is None and flags.cpu is None else math.inf,
        cpu=math.inf if flags.cpu is None else flags.cpu,
        longest=flags.longest,
    )
    orders = (WorldOrder(seed=seed, hours=flags.hours, size=size) for seed in seeds)
    failed = [] if flags.only_new else failed_orders()
    results = many(failed, orders, limit=limit, workers=flags.workers)
    was_drawn = flags.first in {None, "commit"}
    drawn = [each.order for each in results if was_drawn and each.order not in failed]
    return end(results, commit=head, shrink=shrink, drawn=drawn)


def first_seed(asked: str | None, commit: str) -> int:
    """The first new seed."""
    if asked is None:
        return random.SystemRandom().randrange(SEEDS)
    # Another commit has other seeds, and the same commit the same ones, so a failure can be
    # repeated.
    return int(commit or "0", 16) % SEEDS if asked == "commit" else int(asked)


@dataclass(frozen=True, kw_only=True)
class Limit:
    """How long new seeds are begun, and how long one may take."""

    seconds: float
    """From the first new seed on: worlds that ever failed run before, however long they take."""
    cpu: float
    """Seconds of CPU of all of them."""
    longest: float
    """Seconds of CPU of one world."""


def failed_orders() -> list[WorldOrder]:
    """All worlds that ever failed."""
    lines = FAILED.read_text().splitlines()
    return [_order(line) for line in lines if line and not line.startswith("#")]


def many(
    failed: Sequence[WorldOrder], new: Iterator[WorldOrder], *, limit: Limit, workers: int
) -> list[WorldResult]:
    """The worlds that ever failed, then new ones until the limit is reached or one breaks a law."""
    orders = list(failed)
    results: list[WorldResult] = []
    end: float | None = None
    with ThreadPoolExecutor(workers) as pool:
        running: set[Future[WorldResult]] = set()
        while True:
            if end is None and not orders:
                end = time.monotonic() + limit.seconds
            is_over = end is not None and time.monotonic() >= end
            is_over = is_over or sum(each.cpu for each in results) >= limit.cpu
            is_broken = any(result.law for result in results)
            while not is_broken and len(running) < workers:
                if orders:
                    order = orders.pop(0)
                elif not is_over and (drawn := next(new, None)) is not None:
                    order = drawn
                else:
                    break
                running.add(pool.submit(run.run_apart, order, limit.longest))
            if not running:
                return results
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                results.append(future.result())
                print("\n".join(run.told(results[-1])), flush=True)


def _order(line: str) -> WorldOrder:
    words = dict(word.split("=") for word in line.split("#", maxsplit=1)[0].split())
    only = words.get("FAULTS")
    return WorldOrder(
        seed=int(words["SEED"]),
        hours=float(words.get("HOURS", "3")),
        size=Size(
            clusters=int(words.get("CLUSTERS", Size().clusters)),
            applications=int(words.get("APPLICATIONS", Size().applications)),
        ),
        only=None if only is None else () if only == "none" else tuple(map(int, only.split(","))),
    )


def end(
    results: list[WorldResult], *, commit: str, shrink: float, drawn: Sequence[WorldOrder] = ()
) -> int:
    """Makes what failed smaller, with `shrink` seconds of CPU in all, and prints what was run.

    `drawn` are the orders that nobody has run before.
    """
    commands = {result.order: result.order.command for result in results if result.law}
    failed = [result for result in results if result.law]
    judged = [result for result in failed if result.law != "crash"]
    for result in judged if shrink else ():
        seconds = shrink / len(judged)
        name = f"Seed {result.order.seed}"
        print(f"{name} is made smaller, with {seconds:.0f} s of CPU at most.", flush=True)
        smallest = run.smaller(result, cpu=seconds)
        if smallest.order == result.order:
            print("It still has all its faults.")
        else:
            print("\n".join(run.told(smallest)))
            commands[result.order] = smallest.order.command
    new = [f"seed {each.order.seed}" for each in failed if each.order in drawn]
    if new:
        print(NEW.format(names=", ".join(new)))
    counts: Counter[str] = Counter()
    checks: Counter[str] = Counter()
    for result in results:
        counts.update(result.counts)
        checks.update(result.checks)
    hours = sum(result.hours for result in results)
    cpu = sum(result.cpu for result in results)
    print(
        f"{len(results)} seeds, {hours:.1f} virtual hours, {cpu:.0f} s of CPU,"
        f" {len(failed)} broke a law"
    )
    for title, part in (("faults", "fault "), ("troubles of requests", "trouble ")):
        listed = [
            f"{key.removeprefix(part)} {counts[key]}"
            for key in sorted(counts)
            if key.startswith(part)
        ]
        print(f"{title}: {', '.join(listed) or 'none'}")
    print(f"laws looked at: {', '.join(f'{key} {checks[key]}' for key in sorted(checks))}")
    # The last lines are what people see first of a long log.
    for command in commands.values():
        print(REPLAY.format(commit=commit or "COMMIT", command=command))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
